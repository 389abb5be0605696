"""`probe pretrain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def pretrain(
    family: Annotated[str, typer.Option("--family", "-f", help="bert, albert, bart, electra or roberta.")],
    out: Annotated[Path, typer.Option(help="Folder for the model and its checkpoints.")],
    corpus: Annotated[str, typer.Option(help="A corpus: a name (see probe corpora) or a path.")] = "wikipedia-sample",
    size: Annotated[str, typer.Option(help="tiny, small (about 1.5 M parameters) or base.")] = "small",
    steps: Annotated[int, typer.Option(help="Optimizer steps.")] = 500,
    batch_tokens: Annotated[int, typer.Option(help="Tokens of a batch at most, padding included.")] = 8192,
    masked_share: Annotated[
        float, typer.Option(help="Share of the tokens that a masked language model predicts.")
    ] = 0.4,
    learning_rate: Annotated[float, typer.Option(help="The highest learning rate.")] = 1.5e-3,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    documents: Annotated[int | None, typer.Option(help="Read at most so many documents.", show_default="all")] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Steps between two checkpoints.", show_default="a tenth of the steps")
    ] = None,
    device: Annotated[str, typer.Option(help="A torch device.")] = "auto",
    language: Annotated[
        str | None, typer.Option(help="Language of the corpus (ISO 639).", show_default="as declared, or en")
    ] = None,
    strip_accents: Annotated[
        bool | None,
        typer.Option(
            "--strip-accents/--keep-accents",
            help="Whether an uncased tokenizer takes accents off.",
            show_default="strip where the language loses nothing by it",
        ),
    ] = None,
    dtype: Annotated[str, typer.Option(help="Of the saved weights: float32, float16 or bfloat16.")] = "float32",
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder of finished work.", show_default="$PROBE_CACHE or ~/.cache/topic-probe"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but refusals.")] = False,
) -> None:
    """Train a tokenizer and a small model of one family from nothing; a stopped training goes on where it was.

    Examples:
      probe pretrain --family albert --steps 200 --out my-albert

      probe pretrain --family bert --corpus articles.jsonl.xz --steps 600 --out my-bert

      probe run --model my-bert
    """
    from probe.experiment.progress import Silent
    from probe.show.progress import ConsoleProgress

    progress = Silent() if quiet else ConsoleProgress()
    with progress.stage("Starting"):
        from probe.pretraining.settings import PretrainSettings
        from probe.pretraining.training import pretrain as train

    settings = PretrainSettings(
        family=family,
        corpus=corpus,
        size=size,
        steps=steps,
        batch_tokens=batch_tokens,
        masked_share=masked_share,
        learning_rate=learning_rate,
        seed=seed,
        documents=documents,
        checkpoint_every=checkpoint_every,
        device=device,
        dtype=dtype,
        language=language,
        strip_accents=strip_accents,
    )
    info = train(settings, out, cache=cache, progress=progress)
    if not quiet:
        minutes, millions = info["seconds"] / 60, info["parameters"] / 1e6
        progress.note(f"{millions:.1f} M parameters, {info['tokens']:,} tokens, {minutes:.1f} minutes")
        progress.note(f"Probe it: probe run --model {out}")
