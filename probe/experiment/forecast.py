"""What a run would do and cost, from a trial of a few seconds on a little of the corpus; nothing is kept of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.experiment.context import Context, begin
from probe.experiment.progress import Progress
from probe.experiment.settings import RunSettings
from probe.experiment.text import OpenText, open_text, tokenize_corpus, tokens_key
from probe.models.families import WEIGHTS, Weights

if TYPE_CHECKING:
    from corpora import Document
    from probe.experiment.topics import Topics
    from probe.models.sources import ModelSource

# Seconds of the trial: reading what is tried, reading on to count, and passing the model over passages. Tokens and
# topics of so little text take the rest of ten.
_READING, _COUNTING, _PASSING = 1.0, 4.0, 3.0
_TRIAL_PASSAGES = 256
_LEAST_TEXTS = 2


@dataclass(frozen=True)
class Step:
    """A stage of a run.

    Attributes:
        name: what is done.
        size: how much of it there is, in words.
        seconds: how long it would take; None where that cannot be told.
        kept: it is already finished.
    """

    name: str
    size: str
    seconds: float | None
    kept: bool = False


@dataclass(frozen=True)
class Forecast:
    """What a run would do with one model.

    Attributes:
        model: its name.
        corpus: name of the corpus.
        steps: in order.
        gigabytes: the most memory that the trial held.
        whole: the trial read the corpus to its end, so that its sizes are exact.
    """

    model: str
    corpus: str
    steps: list[Step]
    gigabytes: float
    whole: bool


def forecast(
    settings: RunSettings, cache: Path | str | None = None, progress: Progress | None = None
) -> list[Forecast]:
    """Say what a run would do and cost.

    A little of the corpus goes through the same stages in a folder that is then removed, and their seconds are scaled:
    those of reading, tokenizing and fitting with the number of texts, those of a pass with the number of passages.
    Intervals, nulls and tables are not tried.

    Args:
        settings: of the run.
        cache: folder of finished work; it is looked into.
        progress: receives the stages of the trial.

    Raises:
        ProbeError: the run would be refused, or several processes share it.
    """
    context = begin(settings, cache, progress)
    if context.ranks.size > 1:
        raise ProbeError("A run is planned by one process: leave torchrun out, and divide the seconds of the passes.")
    opened = open_text(replace(context, settings=replace(settings, sample="first")))
    from probe.experiment.models import find_models

    sources = find_models(context)
    with context.progress.stage(f"Trying a little of {opened.corpus.name}"):
        start = _read(opened)
    return [_of_model(source, opened, start, context) for source in sources]


@dataclass(frozen=True)
class _Start:
    """The start of a corpus.

    Attributes:
        documents: that are tried.
        seconds: how long it took to read them.
        tried, characters: how many whole documents and characters they are.
        counted, counted_characters: the same of all that was read.
        whole: that is the whole corpus.
    """

    documents: list[Document]
    seconds: float
    tried: int
    characters: int
    counted: int
    counted_characters: int
    whole: bool

    def share(self, settings: RunSettings) -> float | None:
        """The share of the corpus that is tried; None where it cannot be told."""
        if self.whole:
            return self.characters / self.counted_characters
        return self.tried / max(settings.documents, self.counted) if settings.documents else None


def _read(opened: OpenText) -> _Start:
    started, seconds, sizes = time.perf_counter(), 0.0, [0, 0]
    kept: list[Document] = []
    counted: set[str] = set()
    tried, whole = 0, True
    for document in opened.corpus:
        taken = time.perf_counter() - started
        if taken > _COUNTING and len(kept) >= _LEAST_TEXTS:
            whole = False
            break
        counted.add(document.whole)
        sizes[1] += len(document.text)
        if taken <= _READING or len(kept) < _LEAST_TEXTS:
            kept.append(document)
            seconds, tried, sizes[0] = taken, len(counted), sizes[1]
    return _Start(kept, seconds, tried, sizes[0], len(counted), sizes[1], whole)


def _of_model(source: ModelSource, opened: OpenText, start: _Start, context: Context) -> Forecast:
    from corpora import open_corpus
    from probe.experiment.topics import fit_topics
    from probe.text.passages import cut_passages

    settings, corpus = context.settings, opened.corpus
    with TemporaryDirectory(prefix="probe-plan-") as place:
        small = replace(settings, passages=min(settings.passages, _TRIAL_PASSAGES), lda_seeds=1)
        trial = begin(small, place)
        part = open_corpus(start.documents, language=corpus.language, unit=corpus.lda_unit)
        text = tokenize_corpus(source, OpenText(part, opened.stop_words), trial)
        assert text is not None
        passages = len(cut_passages(text.tokens, settings.max_length, len(text.specials)))
        texts = passages if corpus.lda_unit == "passage" else text.tokens.documents
        fitted = min(settings.lda.topics, max(_LEAST_TEXTS, texts))
        trial = replace(trial, settings=replace(small, lda=replace(settings.lda, topics=fitted)))
        with context.progress.stage(f"Trying topics of {source.name}"):
            topics = fit_topics(text, part, trial)
        with context.progress.stage(f"Trying passes of {source.name}"):
            a_passage = _pass_seconds(source, topics, trial)
        counts = {"tokens": len(text.tokens.ids), "passages": passages, "texts": texts}
        seconds = {
            "tokens": start.seconds + trial.seconds["tokens"],
            "topics": trial.seconds["lda"] * settings.lda.topics / fitted,
            "passage": a_passage,
        }
        steps = _steps(
            source, corpus.lda_unit, tokens_key(corpus, text.vocabulary, context), start, counts, seconds, context
        )
    return Forecast(source.name, corpus.name, steps, _most_memory(), start.whole)


def _pass_seconds(source: ModelSource, topics: Topics, trial: Context) -> float:
    """Seconds that a pass of the model takes for a passage."""
    from probe.experiment.plan import asked_sizes, plan_pass
    from probe.measures.reading import PassReader
    from probe.models.borrowing import borrowed
    from probe.models.loading import load_model

    settings = trial.settings
    plan = plan_pass(topics, asked_sizes(settings.theta, len(topics.bags.words)), trial)
    with borrowed(source):
        model = load_model(source, attention=settings.attention, device=trial.device, dtype=trial.dtype)
        reader = PassReader(model, trial.measures, plan.probed)
        maker = plan.batch_maker.on(model.device)
        reader.read(maker(plan.batches[0]))  # the first call is slower
        started, passages = time.perf_counter(), 0
        for batch in plan.batches[1:] or plan.batches:
            reader.read(maker(batch))
            reader.sums()  # waits for a GPU
            passages += len(batch)
            if time.perf_counter() - started > _PASSING:
                break
    return (time.perf_counter() - started) / passages


def _steps(
    source: ModelSource,
    unit: str,
    tokens: dict[str, Any],
    start: _Start,
    counts: Mapping[str, int],
    seconds: Mapping[str, float],
    context: Context,
) -> list[Step]:
    """The stages of a run, from the counts and seconds of its trial."""
    settings, share = context.settings, start.share(context.settings)
    scale = 1 / share if share else None

    def size(name: str, what: str) -> str:
        about = "more than " if scale is None else "about " if scale > 1 else ""
        return f"{about}{round(counts[name] * (scale or 1)):,} {what}"

    read = f"{max(start.counted, settings.documents or 0) if not start.whole else start.counted:,} documents"
    if scale is None:
        read = f"more than {read}"

    probed = min(settings.passages, round(counts["passages"] * scale)) if scale else settings.passages
    steps = [
        Step(
            "read and tokenize",
            f"{read}, {size('tokens', 'tokens')}",
            seconds["tokens"] * scale if scale else None,
            context.cache.find("tokens", tokens) is not None,
        ),
        Step(
            f"fit {settings.lda.topics} topics" + (f", {settings.lda_seeds} times" if settings.lda_seeds > 1 else ""),
            size("texts", f"{unit}s"),
            seconds["topics"] * settings.lda_seeds * scale if scale else None,
            _topics_kept(tokens, context),
        ),
    ]
    for weights in WEIGHTS if settings.baseline else WEIGHTS[:1]:
        kept = _sums_kept(source, weights, tokens, context)
        steps.append(Step(f"pass, {weights} weights", f"{probed:,} passages", seconds["passage"] * probed, kept))
    return steps


def _topics_kept(tokens: dict[str, Any], context: Context) -> bool:
    settings, kept = context.settings, context.cache.keys("topics")
    wanted = [
        {"tokens": tokens, "lda": asdict(replace(settings.lda, random_state=seed))}
        for seed in range(settings.seed, settings.seed + settings.lda_seeds)
    ]
    return all(any(one.items() >= want.items() for one in kept) for want in wanted)


def _sums_kept(source: ModelSource, weights: Weights, tokens: dict[str, Any], context: Context) -> bool:
    settings = context.settings
    named = ("seed", "passages", "held_out", "max_length", "batch_tokens", "attention", "lda_seeds")
    want = {name: getattr(settings, name) for name in named} | {"model": source.fingerprint, "weights": weights}
    return _topics_kept(tokens, context) and any(
        one.items() >= want.items() and one.get("topics", {}).get("tokens") == tokens
        for one in context.cache.keys("sums")
    )


def _most_memory() -> float:
    """The most gigabytes that this process has held; on Windows, where the system does not tell, NaN."""
    try:
        import resource
    except ImportError:
        return float("nan")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e9 if sys.platform == "darwin" else 1e6)
