"""One run: what is computed, in which order, what is kept, and what is found finished.

    corpus -> tokens -> topics ----+
                  |                +-> estimates -> tables
                  +-> passages -> model pass

Tokens, topics and each model's sums are cached by content; the sums in the making are kept every few seconds, so a
run that is stopped goes on where it was. Ranks that `torchrun` has started share the tokenizing and the pass.
"""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError
from probe.experiment.context import Context, versions
from probe.experiment.preparation import Prepared, prepare
from probe.experiment.progress import Progress, Silent
from probe.experiment.ranks import Ranks, join_ranks
from probe.experiment.settings import RunSettings
from probe.models.devices import SPREAD, choose_device, choose_dtype
from probe.models.families import Weights, family_of, usable_positions
from probe.models.loading import check_attention, load_config
from probe.models.sources import ModelSource, find_model, group_models
from probe.storage.cache import Cache
from probe.storage.files import whole_set
from probe.text.passages import padding_share
from probe.topics.assignment import KINDS, Assignment, assign_topics

if TYPE_CHECKING:
    import pandas as pd

    from probe.experiment.model_pass import Plan
    from probe.measures.attention import AttentionSums
    from probe.results.tables import ModelResult
    from probe.show.figures import WordDots

DEFAULT_OUT = Path("results")
_WEIGHTS: tuple[Weights, Weights] = ("pretrained", "random")
_PACKAGES = ("datasets", "gensim", "nltk", "numpy", "pandas", "scipy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class RunResult:
    """What a run found.

    Attributes:
        tables: frames by name: table1, table2, table5, measures, layers, topics.
        info: the content of `run.json`.
        folder: where the files are; None where none were written.
    """

    tables: dict[str, pd.DataFrame]
    info: dict[str, Any]
    folder: Path | None


def default_folder(settings: RunSettings, corpus_name: str) -> Path:
    """The folder of a run that names none: `results/MODEL-CORPUS`."""
    models = "+".join(re.sub(r"[^\w.]+", "-", name).strip("-.") for name in group_models(settings.model))
    return DEFAULT_OUT / f"{models[:80]}-{corpus_name}"


def run_experiment(
    settings: RunSettings,
    *,
    out: Path | str | None = None,
    write: bool = True,
    figures: bool = True,
    words: Sequence[str] = (),
    cache: Path | str | None = None,
    progress: Progress | None = None,
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

    Raises:
        ProbeError: an argument or an input cannot be used.
        CorpusError: the corpus cannot be read.
    """
    from corpora import catalog, open_corpus
    from corpora.stop_words import stop_words

    ranks = join_ranks()
    _check_ranks(settings, ranks)
    listener = progress if progress and ranks.leads else Silent()
    context = Context(settings, Cache(cache), listener, ranks)
    progress, write = context.progress, write and ranks.leads
    started = time.perf_counter()
    with progress.stage(f"Opening corpus {settings.corpus}"):
        corpus = open_corpus(
            settings.corpus,
            text_field=settings.text_field,
            title_field=settings.title_field,
            language=settings.language,
            encoding=settings.encoding,
            documents=settings.documents,
            sample=settings.sample,
            seed=settings.seed,
            unit=settings.unit,
        )
        stops = stop_words(corpus.language, settings.stop_words)
    with progress.stage("Loading libraries"):
        from probe.experiment.model_pass import pass_model
        from probe.results.tables import (
            cooccurrence_table,
            layers_table,
            measures_table,
            ratio_table,
            topics_table,
        )
        from probe.results.writing import RUN_FORMAT, check_writable, write_results
    folder = Path(out) if out is not None else default_folder(settings, corpus.name)
    if write:
        check_writable(folder)
    device = choose_device(settings.device, ranks.local if ranks.size > 1 else None)
    dtype = choose_dtype(settings.dtype, device)
    models: list[dict[str, Any]] = []
    sources = [_checked_source(name, settings, context) for name in settings.model]
    results: list[ModelResult] = []
    topic_frames = []
    word_dots: dict[str, WordDots] = {}
    report: dict[str, Any] = {}
    for source in sources:
        prepared = prepare(source, corpus, stops.words, context)
        topics, assignments = None, []
        if prepared is not None:
            report = prepared.report
            assignments = _assignments(prepared, settings)
            topics = topics_table(
                source.name, settings.theta, prepared.topic_word[0], prepared.bags.words, prepared.vocabulary
            )
            topic_frames.append(topics)
        for weights in _WEIGHTS if settings.baseline else _WEIGHTS[:1]:
            passed = pass_model(source, weights, prepared, device, dtype, context)
            if passed is None or prepared is None or topics is None:
                continue
            plan, sums = passed
            results.append(_estimated(source, weights, prepared, assignments, plan, sums, context))
            models.append(_facts(source, weights, dtype, prepared, plan, sums))
            if write and figures and weights == "pretrained":
                dots = _word_dots(prepared, plan, sums, topics, words)
                word_dots |= {source.name: dots} if dots else {}
    if not ranks.leads:
        return RunResult({}, {}, None)
    with progress.stage("Making tables"):
        import pandas as pd

        measures = measures_table(results)
        tables = {
            "table1": ratio_table(1, measures, results),
            "table2": cooccurrence_table(measures, results),
            "table5": ratio_table(5, measures, results),
            "measures": measures,
            "layers": layers_table(results),
            "topics": pd.concat(topic_frames, ignore_index=True),
        }
        context.seconds["total"] = round(time.perf_counter() - started, 3)
        info = {
            "format": RUN_FORMAT,
            "arguments": asdict(settings),
            "device": device,
            "ranks": ranks.size,
            "corpus": {
                "name": corpus.name,
                # A named corpus is found by its name; where its file lies on this machine says nothing elsewhere.
                "source": next((e.how_read for e in catalog() if e.name == settings.corpus), corpus.source),
                "language": corpus.language,
                "license": corpus.license,
                "lda_unit": corpus.lda_unit,
                "fingerprint": corpus.fingerprint(),
                "report": report,
            },
            "stop_words": {"source": stops.source, "words": len(stops.words)},
            "models": models,
            "versions": {"python": platform.python_version()} | versions(("topic-probe", *_PACKAGES)),
            "seconds": context.seconds,
        }
    if write:
        with whole_set(folder, last="run.json", replaced=["figures/*.png", "figures/*.svg"]) as place:
            write_results(place, tables, info)
            if figures:
                with progress.stage("Drawing figures"):
                    from probe.show.figures import draw_figures

                    draw_figures(place, tables, word_dots)
    return RunResult(tables, info, folder if write else None)


def _check_ranks(settings: RunSettings, ranks: Ranks) -> None:
    if ranks.size == 1:
        return
    if settings.corpus == "-":
        raise ProbeError("Several ranks cannot share standard input: save the corpus to a file and name that.")
    if settings.device == SPREAD:
        raise ProbeError("--device spread is for one process: start probe run without torchrun, or leave it out.")


def _checked_source(name: str, settings: RunSettings, context: Context) -> ModelSource:
    """Find a model and refuse it early where its config already says that it cannot be measured."""
    with context.progress.stage(f"Looking up model {name}"), context.timed("models"):
        source = find_model(name)
        config = load_config(source)
        family = family_of(config)
        check_attention(name, family, settings.attention)
        positions = usable_positions(config, family)
        if positions is not None and settings.max_length > positions:
            raise ProbeError(
                f"--max-length {settings.max_length} is beyond the {positions} positions of {name}: "
                f"use at most {positions}."
            )
    return source


def _estimated(
    source: ModelSource,
    weights: Weights,
    prepared: Prepared,
    assignments: Sequence[Assignment],
    plan: Plan,
    sums: AttentionSums,
    context: Context,
) -> ModelResult:
    """Estimate every measure from the sums of one pass."""
    from probe.measures.pairs import Labelled
    from probe.results.tables import ModelResult
    from probe.statistics.estimates import PairStatistics, cooccurrence_means, estimate_all

    settings = context.settings
    with (
        context.progress.stage(f"Intervals and nulls of {source.name} ({weights})"),
        context.timed("statistics"),
    ):
        words = prepared.bags.words
        labelled = [Labelled(one, np.searchsorted(plan.pairs.words, words[one.words])) for one in assignments]
        statistics = PairStatistics.of(prepared.bags, plan.pairs.words)
        estimates = estimate_all(sums, plan.pairs, labelled, statistics, settings.resamples, settings.seed)
        cooccurrence = cooccurrence_means(sums, plan.pairs, labelled, plan.top)
    return ModelResult(source.name, weights, estimates, sums, plan.pairs, labelled, cooccurrence)


def _assignments(prepared: Prepared, settings: RunSettings) -> list[Assignment]:
    """The assignments that are asked for.

    Raises:
        ProbeError: no two words carry a topic.
    """
    assignments = [
        assign_topics(topic_word, theta, kind, seed)
        for seed, topic_word in enumerate(prepared.topic_word)
        for theta in settings.theta
        for kind in KINDS
    ]
    if all(len(assignment.words) < 2 for assignment in assignments):
        raise ProbeError(
            "No two words carry a topic, so there is no pair to measure: use a larger --theta, more text, or fewer "
            "--topics."
        )
    return assignments


def _facts(
    source: ModelSource, weights: Weights, dtype: str, prepared: Prepared, plan: Plan, sums: AttentionSums
) -> dict[str, Any]:
    """What `run.json` says of a model and of what it read."""
    lengths = plan.batch_maker.lengths
    return {
        "name": source.name,
        "weights": weights,
        "fingerprint": source.fingerprint,
        "revision": source.revision,
        "family": family_of(load_config(source)).name,
        "layers": len(sums.layers),
        "heads": sums.layers.shape[1],
        "dtype": dtype,
        "tokenizer": prepared.vocabulary.fingerprint,
        "corpus_documents": prepared.tokens.documents,
        "corpus_tokens": len(prepared.tokens.ids),
        "lda_texts": prepared.texts,
        "vocabulary": len(prepared.bags.words),
        "documents": len(plan.batch_maker.probed_documents),
        "passages": len(plan.batch_maker.passages),
        "tokens": int(lengths.sum()),
        "padding_share": round(padding_share(lengths, plan.batches), 4),
        "labelled_words": len(plan.pairs),
        "labelled_occurrences": int(sums.occurrences.sum()),
    }


def _word_dots(
    prepared: Prepared, plan: Plan, sums: AttentionSums, topics: pd.DataFrame, words: Sequence[str]
) -> WordDots | None:
    """Dot products of the words of Figure 3, from the embedding matrix; None where no topic has enough."""
    from probe.show.figures import WordDots, choose_words, find_words
    from probe.topics.lda import npmi

    if words:
        rows = find_words(topics, words)
    else:
        coherence = np.array([npmi(topic[None], prepared.bags.counts) for topic in prepared.topic_word[0]])
        rows = choose_words(topics, coherence)
        if rows.empty:
            return None
    token_id = {token: index for index, token in enumerate(prepared.vocabulary.tokens)}
    vectors = sums.word_vectors[np.searchsorted(plan.pairs.words, [token_id[token] for token in rows["token"]])]
    return WordDots(rows["surface"].tolist(), rows["topic"].tolist(), vectors @ vectors.T)
