"""`probe run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from probe.cli.options import Layout, command, options_of, settings_from
from probe.experiment.settings import RunSettings
from probe.topics.settings import LdaSettings

if TYPE_CHECKING:
    from rich.console import Console

    from probe.experiment.progress import Progress
    from probe.experiment.result import RunResult

_OUTPUT = "Uncertainty and output"
_RUN = Layout(
    panels={
        "": ("model", "corpus", "theta"),
        "Corpus and passages": (
            "documents",
            "sample",
            "unit",
            "text_field",
            "title_field",
            "language",
            "encoding",
            "words",
            "passages",
            "max_length",
            "stop_words",
        ),
        "Topic model": ("lda_seeds",),
        "Model pass": ("attention", "device", "dtype", "batch_tokens", "baseline", "measure", "strict"),
        _OUTPUT: ("seed", "resamples", "examples"),
    },
    shown={
        "model": "minilm",
        "theta": "0.0005, 0.001 and 0.002, the paper's",
        "documents": "all",
        "unit": "the corpus's recipe",
        "text_field": "text",
        "title_field": "title",
        "language": "as declared",
        "stop_words": "the language's",
    },
    short={"model": "-m"},
)
_LDA = Layout(
    panels={"Topic model": ("topics", "engine", "passes", "chunksize", "alpha", "eta", "iterations")},
    names={"engine": "lda"} | {name: f"lda_{name}" for name in ("passes", "chunksize", "alpha", "eta", "iterations")},
    shown={"iterations": "the engine's best"},
)


def _run(
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
    report: Annotated[
        bool,
        typer.Option(
            "--report", help="Write report.html beside the files (see probe report).", rich_help_panel=_OUTPUT
        ),
    ] = False,
    figure_words: Annotated[
        list[str] | None,
        typer.Option(
            help="A word of the figure of dot products; repeatable.",
            show_default="chosen from the topics",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Say what the run would do and cost, from a ten-second trial, and do nothing.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but refusals.", rich_help_panel=_OUTPUT)
    ] = False,
    **options: Any,
) -> None:
    """Probe models for the topics of a corpus: the paper's Tables 1, 2 and 5, with intervals and nulls.

    Examples:
      probe run

      probe run --model bert-base-uncased --theta 0.001

      probe run --corpus wikipedia --documents 50000 --plan

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

    lda = LdaSettings(**settings_from(LdaSettings, _LDA, options))
    settings = RunSettings(**settings_from(RunSettings, _RUN, options), lda=lda)
    if plan:
        from probe.experiment.forecast import forecast
        from probe.show.forecast import forecast_view
        from probe.show.terminal import show_view, tables_console

        show_view(tables_console(), forecast_view(forecast(settings, cache, progress)))
        return
    result = run_experiment(
        settings, out=out, figures=figures, figure_words=figure_words or (), cache=cache, progress=progress
    )
    if report and result.folder:
        progress.note(f"Report: {result.report()}")
    if not quiet:
        from probe.show.terminal import tables_console

        _show(result, tables_console(), progress)


run = command(_run, [*options_of(RunSettings, _RUN), *options_of(LdaSettings, _LDA)])


def _show(result: RunResult, console: Console, progress: Progress) -> None:
    from probe.models.sources import group_models
    from probe.show.terminal import show_cooccurrence_table, show_ratio_table

    show_ratio_table(console, 1, result.tables["table1"], result.tables["measures"])
    show_cooccurrence_table(console, result.tables["table2"])
    show_ratio_table(console, 5, result.tables["table5"], result.tables["measures"])
    progress.note(f"Files: {result.folder}")
    if result.info["arguments"]["corpus"] == "wikipedia-sample":
        models = " ".join(f"--model {name}" for name in group_models(result.info["arguments"]["model"]))
        progress.note(f"The same at the paper's size: probe run {models} --corpus wikipedia --documents 50000")
