"""`probe dynamics`."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import Annotated

import typer


def dynamics(
    model: Annotated[str, typer.Argument(help="A folder of checkpoints, or a hub id with --revision.")],
    revision: Annotated[
        list[str] | None, typer.Option(help="A revision of the hub id that ends in its step; repeatable.")
    ] = None,
    corpus: Annotated[str, typer.Option(help="A corpus: a name (see probe corpora) or a path.")] = "wikipedia-sample",
    theta: Annotated[
        list[float] | None,
        typer.Option(help="Ambiguity threshold; repeatable.", show_default="0.0005 and 0.001"),
    ] = None,
    documents: Annotated[int | None, typer.Option(help="Read at most so many documents.", show_default="all")] = None,
    passages: Annotated[int, typer.Option(help="Probe so many passages, drawn at random.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    resamples: Annotated[int, typer.Option(help="Bootstrap draws, and permutations of the null.")] = 1000,
    device: Annotated[str, typer.Option(help="A torch device.")] = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files.", show_default="results/dynamics/MODEL")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder of finished work.", show_default="$PROBE_CACHE or ~/.cache/topic-probe"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but refusals.")] = False,
) -> None:
    """Measure topic structure at every checkpoint of a training, and the norms of the paper's Figure 5.

    Examples:
      probe dynamics my-bert

      probe dynamics EleutherAI/pythia-70m --revision step0 --revision step1000 --revision step143000
    """
    from probe.cli.progress import ConsoleProgress
    from probe.progress import Silent

    progress = Silent() if quiet else ConsoleProgress()
    with progress.stage("Starting"):
        from probe.pretraining.dynamics import measure_dynamics
        from probe.settings import RunSettings

    settings = RunSettings(
        corpus=corpus,
        theta=tuple(theta or (0.0005, 0.001)),
        documents=documents,
        passages=passages,
        seed=seed,
        resamples=resamples,
        device=device,
    )
    folder = out or Path("results/dynamics") / Path(model).name
    found = measure_dynamics(model, settings, folder, revisions=revision or (), cache=cache, progress=progress)
    if not quiet:
        for theta_, onsets in found.onsets.groupby("theta"):
            steps = onsets.set_index(["measure", "site"])["onset"]
            progress.note(
                f"theta {theta_:g}: above chance in the word embeddings {_since(steps['cosine', 'word'])}, "
                f"in the attention {_since(steps['attention', 'attention'])}"
            )
        progress.note(f"Files: {folder}")


def _since(step: object) -> str:
    return f"from step {step} on" if isinstance(step, Integral) else "at no step to the end"
