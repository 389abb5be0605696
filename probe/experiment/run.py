"""One run: which stages there are, and in which order.

    corpus -> text -> topics --+
                |              +-> estimates -> tables
                +-> plan -> pass

Tokens, topics and each measure's sums are cached by what decides them; the sums in the making are kept every few
seconds, so a run that is stopped goes on where it was. Ranks that `torchrun` has started share the tokenizing and the
pass; rank 0 does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.experiment.context import Context, begin
from probe.experiment.given import NOTHING, Given
from probe.experiment.progress import Progress
from probe.experiment.result import RunResult
from probe.experiment.settings import RunSettings
from probe.experiment.text import OpenText, open_text, tokenize_corpus
from probe.models.families import WEIGHTS, Weights
from probe.models.sources import group_models
from probe.results.writing import check_writable
from probe.show.foreign import file_name, shortened

if TYPE_CHECKING:
    from probe.experiment.topics import Topics

DEFAULT_OUT = Path("results")


def run_experiment(
    settings: RunSettings,
    *,
    out: Path | str | None = None,
    write: bool = True,
    figures: bool = True,
    figure_words: Sequence[str] = (),
    cache: Path | str | None = None,
    progress: Progress | None = None,
    given: Given = NOTHING,
) -> RunResult:
    """Probe models for the topics of a corpus.

    Args:
        settings: every argument.
        out: folder for the files; `results/MODEL-CORPUS` by default.
        write: write the files.
        figures: draw the figures, too, where files are written.
        figure_words: words of the figure of dot products; chosen from the topics where none are named.
        cache: folder of finished work; `probe.storage.cache.default_cache()` by default.
        progress: receives the stages.
        given: objects that some of the settings stand for.

    Raises:
        ProbeError: an argument or an input cannot be used.
        CorpusError: the corpus cannot be read.
    """
    context = begin(settings, cache, progress, given)
    return run_stages(
        context,
        open_text(context),
        WEIGHTS if settings.baseline else WEIGHTS[:1],
        out=out,
        write=write,
        figures=figures,
        figure_words=figure_words,
    )


def run_stages(
    context: Context,
    opened: OpenText,
    weights: Sequence[Weights],
    *,
    out: Path | str | None = None,
    write: bool = False,
    figures: bool = True,
    figure_words: Sequence[str] = (),
    topics: Topics | None = None,
) -> RunResult:
    """Probe models for the topics of a corpus that is open.

    Args:
        context: of the run.
        opened: the corpus.
        weights: which kinds of weights are measured of each model.
        out, write, figures, figure_words: as for `run_experiment`.
        topics: that were fitted before, to the tokens of the only model; fitted here by default.

    Raises:
        ProbeError: an argument or an input cannot be used.
        CorpusError: the corpus cannot be read.
    """
    settings = context.settings
    with context.progress.stage("Loading libraries"):
        from probe.experiment.estimation import Measured, estimate
        from probe.experiment.examples import keep_examples
        from probe.experiment.model_pass import pass_model
        from probe.experiment.models import find_models
        from probe.experiment.publishing import make_tables, write_run
        from probe.experiment.record import describe
        from probe.experiment.topics import fit_topics, reassigned
    write = write and context.ranks.leads
    folder = Path(out) if out is not None else default_folder(settings, opened.corpus.name)
    if write:
        check_writable(folder)
    measured: list[Measured] = []
    examples: list[dict[str, Any]] = []
    for source in find_models(context):
        found = reassigned(topics, context) if topics else None
        if not found and (text := tokenize_corpus(source, opened, context)):
            found = fit_topics(text, opened.corpus, context)
        for kind in weights:
            passed = pass_model(source, kind, found, context)
            if passed and found:
                measured.append(estimate(source, kind, found, passed, context))
                if write and settings.examples and kind == "pretrained":
                    shape = passed.sums.layers, passed.sums.heads
                    examples.append(keep_examples(source, found, passed.plan, shape, context))
    if not context.ranks.leads:
        return RunResult({}, {}, None)
    tables, info = make_tables(measured, context), describe(measured, opened, context)
    if write:
        write_run(folder, tables, info, measured, examples, figure_words if figures else None, context)
    return RunResult(tables, info, folder if write else None, context.seconds)


def default_folder(settings: RunSettings, corpus_name: str) -> Path:
    """The folder of a run that names none: `results/MODEL-CORPUS`."""
    models = shortened("+".join(map(file_name, group_models(settings.model))))
    return DEFAULT_OUT / f"{models}-{corpus_name}"
