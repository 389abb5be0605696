"""`probe dynamics`."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from probe.experiment.progress import Progress
    from probe.pretraining.dynamics import Dynamics


def dynamics(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR", help="Folders of checkpoints, hub ids with --revision, or folders this command wrote."
        ),
    ],
    revision: Annotated[
        list[str] | None, typer.Option(help="A revision of the hub id that ends in its step; repeatable.")
    ] = None,
    corpus: Annotated[str, typer.Option(help="A corpus: a name (see probe corpora) or a path.")] = "wikipedia-sample",
    language: Annotated[
        str | None, typer.Option(help="Language of the corpus (ISO 639).", show_default="as declared, or en")
    ] = None,
    held_out: Annotated[
        bool,
        typer.Option("--held-out", help="The corpus is that of the training: probe the documents it kept out."),
    ] = False,
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
        Path | None,
        typer.Option(help="Folder for the files.", show_default="results/dynamics, and in it DIR where it is one"),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder of finished work.", show_default="$PROBE_CACHE or ~/.cache/topic-probe"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but refusals.")] = False,
) -> None:
    """Measure topic structure at every checkpoint of a training, and the norms of the paper's Figure 5.

    Several trainings get a folder each, and one figure side by side.

    Examples:
      probe dynamics my-bert

      probe dynamics my-bert my-albert --corpus articles.jsonl.xz --held-out

      probe dynamics EleutherAI/pythia-70m --revision step0 --revision step1000 --revision step143000
    """
    from probe.experiment.progress import Silent
    from probe.show.progress import ConsoleProgress

    progress = Silent() if quiet else ConsoleProgress()
    with progress.stage("Starting"):
        from probe.experiment.settings import RunSettings
        from probe.pretraining.dynamics import measure_dynamics, measure_trainings, name_of

    settings = RunSettings(
        corpus=corpus,
        theta=tuple(theta or (0.0005, 0.001)),
        documents=documents,
        passages=passages,
        language=language,
        held_out=held_out,
        seed=seed,
        resamples=resamples,
        device=device,
    )
    folder = Path("results/dynamics")
    options: dict[str, Any] = {"revisions": revision or (), "cache": cache, "progress": progress}
    if len(models) == 1:
        folder = out or folder / name_of(models[0])
        found = {name_of(models[0]): measure_dynamics(models[0], settings, folder, **options)}
    else:
        folder = out or folder
        found = measure_trainings(models, settings, folder, **options)
    for name, one in found.items():
        _note(name, one, progress)
    progress.note(f"Files: {folder}")


def _note(name: str, found: Dynamics, progress: Progress) -> None:
    onsets = found.first[found.first["by"] == "onset"]
    for theta, embeddings, attention in onsets[["theta", "embeddings", "attention"]].itertuples(index=False):
        progress.note(
            f"{name}, theta {theta:g}: above chance in the word embeddings {_since(embeddings)}, in the attention "
            f"{_since(attention)}"
        )
    for layer, stages in found.stages.groupby("layer"):
        half = stages.set_index("matrix")["half"]
        progress.note(
            f"{name}, layer {layer}, step at which half of the growth is made: "
            f"W^V {half['value']}, W^K {half['key']}, W^Q {half['query']}"
        )


def _since(step: object) -> str:
    return f"from step {step} on" if isinstance(step, Integral) else "at no step to the end"
