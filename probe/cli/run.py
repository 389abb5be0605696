"""`probe run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from probe.experiment.settings import RunSettings
from probe.topics.settings import LdaSettings

if TYPE_CHECKING:
    from rich.console import Console

    from probe.experiment.run import RunResult

_DATA, _LDA, _MODEL, _OUTPUT = "Corpus and passages", "Topic model", "Model pass", "Uncertainty and output"


def run(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="A model (see probe models); repeatable.", show_default="minilm"),
    ] = None,
    corpus: Annotated[str, typer.Option(help="A corpus: a name (see probe corpora) or a path.")] = RunSettings.corpus,
    theta: Annotated[
        list[float] | None,
        typer.Option(help="Ambiguity threshold; repeatable.", show_default="0.0005, 0.001 and 0.002, the paper's"),
    ] = None,
    documents: Annotated[
        int | None,
        typer.Option(help="Read at most so many documents.", show_default="all", rich_help_panel=_DATA),
    ] = None,
    sample: Annotated[
        str, typer.Option(help="With --documents: first or random.", rich_help_panel=_DATA)
    ] = RunSettings.sample,
    unit: Annotated[
        str | None,
        typer.Option(
            help="What is a text to the topic model: document, passage or sentence.",
            show_default="the corpus's recipe",
            rich_help_panel=_DATA,
        ),
    ] = None,
    text_field: Annotated[
        str | None, typer.Option(help="Field of the text.", show_default="text", rich_help_panel=_DATA)
    ] = None,
    title_field: Annotated[
        str | None, typer.Option(help="Field of the title.", show_default="title", rich_help_panel=_DATA)
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="Language of the corpus (ISO 639).", show_default="as declared", rich_help_panel=_DATA),
    ] = None,
    encoding: Annotated[
        str, typer.Option(help="Encoding of text files.", rich_help_panel=_DATA)
    ] = RunSettings.encoding,
    passages: Annotated[
        int, typer.Option(help="Probe so many passages, drawn at random.", rich_help_panel=_DATA)
    ] = RunSettings.passages,
    max_length: Annotated[
        int, typer.Option(help="Tokens of a passage at most, special tokens included.", rich_help_panel=_DATA)
    ] = RunSettings.max_length,
    stop_words: Annotated[
        Path | None,
        typer.Option(help="A file of stop words, one a line.", show_default="the language's", rich_help_panel=_DATA),
    ] = None,
    topics: Annotated[int, typer.Option(help="Number of topics.", rich_help_panel=_LDA)] = LdaSettings.topics,
    lda: Annotated[str, typer.Option(help="gensim or tomotopy.", rich_help_panel=_LDA)] = LdaSettings.engine,
    lda_passes: Annotated[int, typer.Option(help="Passes over the corpus.", rich_help_panel=_LDA)] = LdaSettings.passes,
    lda_chunksize: Annotated[
        int, typer.Option(help="Documents between two updates.", rich_help_panel=_LDA)
    ] = LdaSettings.chunksize,
    lda_alpha: Annotated[str, typer.Option(help="Prior of a document's topics.", rich_help_panel=_LDA)] = str(
        LdaSettings.alpha
    ),
    lda_eta: Annotated[str, typer.Option(help="Prior of a topic's words.", rich_help_panel=_LDA)] = str(
        LdaSettings.eta
    ),
    lda_iterations: Annotated[
        int | None,
        typer.Option(help="Rounds of inference a document.", show_default="the engine's best", rich_help_panel=_LDA),
    ] = None,
    lda_seeds: Annotated[
        int, typer.Option(help="Fit so many topic models, with different seeds.", rich_help_panel=_LDA)
    ] = RunSettings.lda_seeds,
    attention: Annotated[
        Literal["encoder", "decoder", "cross"],
        typer.Option(help="Of an encoder-decoder: encoder, decoder or cross.", rich_help_panel=_MODEL),
    ] = RunSettings.attention,
    device: Annotated[
        str,
        typer.Option(
            help="A torch device, auto, or spread: over all GPUs, for a model too large for one.",
            rich_help_panel=_MODEL,
        ),
    ] = RunSettings.device,
    dtype: Annotated[
        str,
        typer.Option(
            help="float32, bfloat16, float16, or auto: bfloat16 where that is faster.", rich_help_panel=_MODEL
        ),
    ] = RunSettings.dtype,
    batch_tokens: Annotated[
        int, typer.Option(help="Tokens of a padded batch at most.", rich_help_panel=_MODEL)
    ] = RunSettings.batch_tokens,
    baseline: Annotated[
        bool, typer.Option(help="Measure the same architecture with random weights.", rich_help_panel=_MODEL)
    ] = RunSettings.baseline,
    seed: Annotated[int, typer.Option(help="Of everything random.", rich_help_panel=_OUTPUT)] = RunSettings.seed,
    resamples: Annotated[
        int, typer.Option(help="Bootstrap draws, and permutations of the null.", rich_help_panel=_OUTPUT)
    ] = RunSettings.resamples,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="A measure of your own, FILE.py:CLASS; repeatable (see docs/extending.md).", rich_help_panel=_MODEL
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the files.", show_default="results/MODEL-CORPUS", rich_help_panel=_OUTPUT),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder of finished work.",
            show_default="$PROBE_CACHE or ~/.cache/topic-probe",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    figures: Annotated[bool, typer.Option(help="Draw figures.", rich_help_panel=_OUTPUT)] = True,
    words: Annotated[
        list[str] | None,
        typer.Option(
            help="A word of the figure of dot products; repeatable.",
            show_default="chosen from the topics",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but refusals.", rich_help_panel=_OUTPUT)
    ] = False,
) -> None:
    """Probe models for the topics of a corpus: the paper's Tables 1, 2 and 5, with intervals and nulls.

    Examples:
      probe run

      probe run --model bert-base-uncased --theta 0.001

      probe run --model ./my-model --corpus articles.jsonl.xz --passages 2000 --out results/mine
    """
    from probe.experiment.progress import Silent
    from probe.experiment.ranks import is_leader
    from probe.show.progress import ConsoleProgress

    # Of several ranks, one speaks.
    quiet = quiet or not is_leader()
    progress = Silent() if quiet else ConsoleProgress()
    with progress.stage("Starting"):
        from probe.experiment.run import run_experiment

    settings = RunSettings(
        model=tuple(model or RunSettings.model),
        corpus=corpus,
        theta=tuple(theta or RunSettings.theta),
        documents=documents,
        sample=sample,
        unit=unit,
        text_field=text_field,
        title_field=title_field,
        language=language,
        encoding=encoding,
        passages=passages,
        max_length=max_length,
        lda=LdaSettings(
            engine=lda,
            topics=topics,
            passes=lda_passes,
            chunksize=lda_chunksize,
            alpha=_prior(lda_alpha),
            eta=_prior(lda_eta),
            iterations=lda_iterations,
        ),
        lda_seeds=lda_seeds,
        seed=seed,
        attention=attention,
        device=device,
        dtype=dtype,
        batch_tokens=batch_tokens,
        resamples=resamples,
        baseline=baseline,
        stop_words=str(stop_words) if stop_words else None,
        measure=tuple(measure or ()),
    )
    result = run_experiment(settings, out=out, figures=figures, words=words or (), cache=cache, progress=progress)
    if not quiet:
        from rich.console import Console

        from probe.show.terminal import tables_console

        _show(result, tables_console(), Console(stderr=True, highlight=False, soft_wrap=True))


def _prior(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _show(result: RunResult, console: Console, log: Console) -> None:
    from probe.show.terminal import show_cooccurrence_table, show_ratio_table

    show_ratio_table(console, 1, result.tables["table1"], result.tables["measures"])
    show_cooccurrence_table(console, result.tables["table2"])
    show_ratio_table(console, 5, result.tables["table5"], result.tables["measures"])
    log.print(f"Files: {result.folder}")
    if result.info["arguments"]["corpus"] == "wikipedia-sample":
        from probe.models.sources import group_models

        models = " ".join(f"--model {name}" for name in group_models(result.info["arguments"]["model"]))
        log.print(f"The same at the paper's size: probe run {models} --corpus wikipedia --documents 50000")
