"""From sums to estimates: every measure at every site, for every assignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from probe.measures.attention import AttentionSums
from probe.measures.embeddings import (
    Similarities,
    occurrence_similarities,
    similarity_sums,
    word_similarities,
)
from probe.measures.pairs import NEITHER, TopicPairs, pair_states, shared_topics
from probe.statistics import (
    Estimate,
    TopicSums,
    pack_triangle,
    permutation_null,
    resample_documents,
    resample_topics,
    triangle_index,
)
from probe.topics import Assignment

Measure = Literal["cosine", "dot", "attention"]
Site = Literal["word", "layer", "attention"]


@dataclass(frozen=True)
class MeasuredEstimate:
    """An estimate and what it is an estimate of."""

    assignment: Assignment
    measure: Measure
    site: Site
    estimate: Estimate


@dataclass(frozen=True)
class _Quantity:
    """One measure before its null is known."""

    measure: Measure
    site: Site
    same: float
    different: float
    same_pairs: int
    different_pairs: int
    draws: tuple[np.ndarray, np.ndarray]
    sums: np.ndarray
    pairs: np.ndarray


def estimate_all(
    word_vectors: np.ndarray, sums: AttentionSums, pairs: TopicPairs, resamples: int, random_state: int
) -> list[MeasuredEstimate]:
    """Estimate every measure for every assignment.

    Attention is resampled over documents, embeddings over topics; labels are permuted alike for all.

    Args:
        word_vectors: [W, width] rows of the input embedding matrix.
        sums: of one pass over the passages.
        pairs: classes of the pairs.
        resamples: bootstrap draws and permutations.
        random_state: seed.
    """
    sites: dict[Site, Similarities] = {
        "word": word_similarities(word_vectors),
        "layer": occurrence_similarities(sums.vectors, sums.directions, sums.occurrences),
    }
    attention_draws = resample_documents(sums.documents, sums.document_pairs, resamples, random_state)
    found = []
    for column, assignment in enumerate(pairs.assignments):
        position = pairs.position[column]
        quantities = [
            quantity
            for site, similarities in sites.items()
            for quantity in _embedding_quantities(
                site, similarities, assignment, position, pairs.surface[position], resamples, random_state
            )
        ]
        quantities.append(_attention_quantity(sums, attention_draws, column, position))
        null = permutation_null(
            [quantity.sums for quantity in quantities],
            [quantity.pairs for quantity in quantities],
            assignment.member,
            resamples,
            random_state,
        )
        for quantity, permuted in zip(quantities, null, strict=True):
            estimate = Estimate(
                same=quantity.same,
                different=quantity.different,
                same_pairs=quantity.same_pairs,
                different_pairs=quantity.different_pairs,
                same_draws=quantity.draws[0],
                different_draws=quantity.draws[1],
                null=permuted,
            )
            found.append(MeasuredEstimate(assignment, quantity.measure, quantity.site, estimate))
    return found


def _embedding_quantities(
    site: Site,
    similarities: Similarities,
    assignment: Assignment,
    position: np.ndarray,
    surface: np.ndarray,
    resamples: int,
    random_state: int,
) -> list[_Quantity]:
    known = similarities.known[position]
    states = pair_states(assignment, surface)
    states[~known] = NEITHER
    states[:, ~known] = NEITHER
    counted = states != NEITHER
    ones = counted.astype(np.float32)
    shared = shared_topics(assignment.member)
    pairs_by_topic = TopicSums.of(ones, assignment.member, shared, counted)
    packed_pairs = pack_triangle(ones)
    square = np.ix_(position, position)
    measures: tuple[tuple[Measure, np.ndarray], ...] = (
        ("cosine", similarities.cosine),
        ("dot", similarities.dot),
    )
    quantities = []
    for measure, similarity in measures:
        values = similarity[square] * ones
        totals, counts = similarity_sums(values, states)
        by_topic = TopicSums.of(values, assignment.member, shared, counted)
        quantities.append(
            _Quantity(
                measure,
                site,
                _mean(totals[0], counts[0]),
                _mean(totals[1], counts[1]),
                int(counts[0]),
                int(counts[1]),
                resample_topics(by_topic, pairs_by_topic, resamples, random_state),
                pack_triangle(values),
                packed_pairs,
            )
        )
    return quantities


def _attention_quantity(sums: AttentionSums, draws: np.ndarray, column: int, position: np.ndarray) -> _Quantity:
    same, different = 2 * column, 2 * column + 1
    totals, counts = sums.documents.sum(axis=0), sums.document_pairs.sum(axis=0)
    high, low = np.tril_indices(len(position), -1)
    place = triangle_index(position[high], position[low])
    return _Quantity(
        "attention",
        "attention",
        _mean(totals[same], counts[same]),
        _mean(totals[different], counts[different]),
        int(counts[same]),
        int(counts[different]),
        (draws[:, same], draws[:, different]),
        sums.table[place],
        sums.table_pairs[place],
    )


def _mean(total: float, count: int) -> float:
    return float(total / count) if count else float("nan")
