"""One run: which stages there are, and in which order.

    corpus -> text -> topics --+
                |              +-> estimates -> tables
                +-> plan -> pass

Tokens, topics and each measure's sums are cached by what decides them; the sums in the making are kept every few
seconds, so a run that is stopped goes on where it was. Ranks that `torchrun` has started share the tokenizing and the
pass; rank 0 does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.experiment.context import begin
from probe.experiment.given import NOTHING, Given
from probe.experiment.progress import Progress
from probe.experiment.settings import RunSettings
from probe.experiment.text import open_text, tokenize_corpus
from probe.models.families import WEIGHTS
from probe.models.sources import group_models
from probe.results.writing import check_writable
from probe.show.foreign import file_name, shortened

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_OUT = Path("results")


@dataclass(frozen=True)
class RunResult:
    """What a run found.

    Attributes:
        tables: frames by name: table1, table2, table5, measures, layers, topics,
            topic_effects, topic_map.
        info: the content of `run.json`.
        folder: where the files are; None where none were written.
        seconds: what each kind of work has taken.
    """

    tables: dict[str, pd.DataFrame]
    info: dict[str, Any]
    folder: Path | None
    seconds: Mapping[str, float] = field(default_factory=dict)


def run_experiment(
    settings: RunSettings,
    *,
    out: Path | str | None = None,
    write: bool = True,
    figures: bool = True,
    words: Sequence[str] = (),
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
        words: words of the figure of dot products; chosen from the topics where none are named.
        cache: folder of finished work; `probe.storage.cache.default_cache()` by default.
        progress: receives the stages.
        given: objects that some of the settings stand for.

    Raises:
        ProbeError: an argument or an input cannot be used.
        CorpusError: the corpus cannot be read.
    """
    context = begin(settings, cache, progress, given)
    opened = open_text(context)
    with context.progress.stage("Loading libraries"):
        from probe.experiment.estimation import Measured, estimate
        from probe.experiment.examples import keep_examples
        from probe.experiment.model_pass import pass_model
        from probe.experiment.models import find_models
        from probe.experiment.publishing import make_tables, write_run
        from probe.experiment.record import describe
        from probe.experiment.topics import fit_topics
    write = write and context.ranks.leads
    folder = Path(out) if out is not None else default_folder(settings, opened.corpus.name)
    if write:
        check_writable(folder)
    measured: list[Measured] = []
    examples: list[dict[str, Any]] = []
    for source in find_models(context):
        text = tokenize_corpus(source, opened, context)
        topics = fit_topics(text, opened.corpus, context) if text else None
        for weights in WEIGHTS if settings.baseline else WEIGHTS[:1]:
            passed = pass_model(source, weights, topics, context)
            if passed and topics:
                measured.append(estimate(source, weights, topics, passed, context))
                if write and settings.examples and weights == "pretrained":
                    shape = passed.sums.layers, passed.sums.heads
                    examples.append(keep_examples(source, topics, passed.plan, shape, context))
    if not context.ranks.leads:
        return RunResult({}, {}, None)
    tables, info = make_tables(measured, context), describe(measured, opened, context)
    if write:
        write_run(folder, tables, info, measured, examples, words if figures else None, context)
    return RunResult(tables, info, folder if write else None, context.seconds)


def default_folder(settings: RunSettings, corpus_name: str) -> Path:
    """The folder of a run that names none: `results/MODEL-CORPUS`."""
    models = shortened("+".join(map(file_name, group_models(settings.model))))
    return DEFAULT_OUT / f"{models}-{corpus_name}"
