"""Stage five: sums become estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from probe.experiment.context import Context
from probe.experiment.model_pass import Passed
from probe.experiment.topics import Topics
from probe.measures.pairs import Labelled
from probe.measures.protocol import HeadSums
from probe.models.families import Weights, family_of
from probe.models.loading import load_config
from probe.models.sources import ModelSource
from probe.results.tables import ModelResult, topics_table
from probe.statistics.estimates import PairStatistics, estimate_all
from probe.text.passages import padding_share
from probe.topics.assignment import Assignment


@dataclass(frozen=True)
class Measured:
    """A model with one kind of weights, measured.

    Attributes:
        result: the estimates.
        facts: what `run.json` says of the model and of what it read.
        topics: what the topics are made of.
        topic_table: `topics.csv` of the model.
        word_vectors: [W, width] rows of the embedding matrix, of the tracked words (means of the rows of their tokens).
        words: [W] their numbers.
    """

    result: ModelResult
    facts: dict[str, Any]
    topics: Topics
    topic_table: pd.DataFrame
    words: np.ndarray
    word_vectors: np.ndarray


def estimate(source: ModelSource, weights: Weights, topics: Topics, passed: Passed, context: Context) -> Measured:
    """Estimate every measure from the sums of one pass.

    Args:
        source: the model.
        weights: "pretrained" or "random".
        topics: of the corpus.
        passed: what the pass has left.
        context: of the run.
    """
    settings, measures, probed, sums = context.settings, context.measures, passed.plan.probed, passed.sums
    with (
        context.progress.stage(f"Intervals and nulls of {source.name} ({weights})"),
        context.timed("statistics"),
    ):
        words = topics.bags.words
        labelled = [Labelled(one, np.searchsorted(probed.pairs.words, words[one.words])) for one in topics.assignments]
        statistics = PairStatistics.of(topics.bags, probed.pairs.words)
        estimates = estimate_all(measures, sums, probed, labelled, statistics, settings.resamples, settings.seed)
        heads = [(one.assignment, measure.heads(sums, probed, one)) for measure in measures for one in labelled]
        sizes = {one.theta: one.words_per_topic for one in topics.assignments}
        top = [measure.top_means(sums, probed, *size) for measure in measures for size in sizes.items()]
    text = topics.text
    return Measured(
        ModelResult(source.name, weights, estimates, topics.assignments, _given(heads), [one for one in top if one]),
        _facts(source, weights, topics, passed, context),
        topics,
        topics_table(source.name, settings.theta, topics.topic_word[0], topics.bags.words, text.words),
        probed.pairs.words,
        sums.of["embeddings"]["word_vectors"],
    )


def _given(heads: list[tuple[Assignment, HeadSums | None]]) -> list[tuple[Assignment, HeadSums]]:
    return [(assignment, found) for assignment, found in heads if found is not None]


def _facts(source: ModelSource, weights: Weights, topics: Topics, passed: Passed, context: Context) -> dict[str, Any]:
    """What `run.json` says of a model and of what it read."""
    plan, sums, text = passed.plan, passed.sums, topics.text
    lengths = plan.batch_maker.lengths
    special: dict[str, Any] = {"object": type(source.given.model).__name__} if source.given else {}
    if source.base:
        special["adapter_of"] = {"name": source.base.name, "revision": source.base.revision}
    if passed.oddities:
        special["suspicious"] = passed.oddities
    return {
        "name": source.name,
        **special,
        "weights": weights,
        "fingerprint": source.fingerprint,
        "revision": source.revision,
        "family": family_of(load_config(source)).name,
        "layers": sums.layers,
        "heads": sums.heads,
        "dtype": context.dtype,
        "tokenizer": text.vocabulary.fingerprint,
        "corpus_documents": text.tokens.documents,
        "corpus_tokens": len(text.tokens.ids),
        "lda_texts": topics.texts,
        "vocabulary": len(topics.bags.words),
        "documents": plan.probed.documents,
        "passages": len(plan.batch_maker.passages),
        "tokens": int(lengths.sum()),
        "padding_share": round(padding_share(lengths, plan.batches), 4),
        "labelled_words": len(plan.probed.pairs),
        "labelled_occurrences": int(sums.occurrences.sum()),
    }
