"""From sums to estimates: every measure at every site, for every assignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from probe.measures.attention import AttentionSums
from probe.measures.embeddings import layer_vectors, similarities, similarity_sums
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
MEASURES: tuple[tuple[Measure, Site], ...] = (
    ("cosine", "word"),
    ("dot", "word"),
    ("cosine", "layer"),
    ("dot", "layer"),
    ("attention", "attention"),
)


@dataclass(frozen=True)
class MeasuredEstimate:
    """An estimate and what it is an estimate of."""

    assignment: Assignment
    measure: Measure
    site: Site
    estimate: Estimate


def attention_estimates(
    sums: AttentionSums, pairs: TopicPairs, resamples: int, random_state: int
) -> list[MeasuredEstimate]:
    """Attention of same-topic over different-topic pairs; intervals by bootstrap over documents.

    Args:
        sums: of one pass over the passages.
        pairs: classes of the pairs.
        resamples: bootstrap draws and permutations.
        random_state: seed.
    """
    draws = resample_documents(sums.documents, sums.document_pairs, resamples, random_state)
    totals, counts = sums.documents.sum(axis=0), sums.document_pairs.sum(axis=0)
    found = []
    for column, (assignment, position) in enumerate(zip(pairs.assignments, pairs.position, strict=True)):
        same, different = 2 * column, 2 * column + 1
        high, low = np.tril_indices(len(position), -1)
        place = triangle_index(position[high], position[low])
        null = permutation_null(
            [sums.table[place]], sums.table_pairs[place], assignment.member, resamples, random_state
        )
        estimate = Estimate(
            same=_mean(totals[same], counts[same]),
            different=_mean(totals[different], counts[different]),
            same_pairs=int(counts[same]),
            different_pairs=int(counts[different]),
            same_draws=draws[:, same],
            different_draws=draws[:, different],
            null=null[0],
        )
        found.append(MeasuredEstimate(assignment, "attention", "attention", estimate))
    return found


def embedding_estimates(
    word_vectors: np.ndarray, sums: AttentionSums, pairs: TopicPairs, resamples: int, random_state: int
) -> list[MeasuredEstimate]:
    """Similarity of same-topic over different-topic words at both sites; intervals by bootstrap over topics.

    Args:
        word_vectors: [W, width] rows of the input embedding matrix.
        sums: of one pass over the passages, which holds the layer site's vectors.
        pairs: classes of the pairs.
        resamples: bootstrap draws and permutations.
        random_state: seed.
    """
    layer = layer_vectors(sums.vectors, sums.occurrences)
    sites: tuple[tuple[Site, np.ndarray], ...] = (("word", word_vectors), ("layer", layer))
    found = []
    for site, vectors in sites:
        all_pairs = similarities(vectors)
        for assignment, position in zip(pairs.assignments, pairs.position, strict=True):
            member = assignment.member
            known = all_pairs.known[position]
            states = pair_states(assignment, pairs.surface[position])
            states[~known] = NEITHER
            states[:, ~known] = NEITHER
            counted = states != NEITHER
            shared = shared_topics(member)
            ones = counted.astype(np.float32)
            square = np.ix_(position, position)
            values: dict[Measure, np.ndarray] = {
                "cosine": all_pairs.cosine[square] * ones,
                "dot": all_pairs.dot[square] * ones,
            }
            pairs_by_topic = TopicSums.of(ones, member, shared, counted)
            null = permutation_null(
                [pack_triangle(value) for value in values.values()],
                pack_triangle(ones),
                member,
                resamples,
                random_state,
            )
            for (measure, value), permuted in zip(values.items(), null, strict=True):
                by_topic = TopicSums.of(value, member, shared, counted)
                totals, counts = similarity_sums(value, states)
                draws = resample_topics(by_topic, pairs_by_topic, resamples, random_state)
                estimate = Estimate(
                    same=_mean(totals[0], counts[0]),
                    different=_mean(totals[1], counts[1]),
                    same_pairs=int(counts[0]),
                    different_pairs=int(counts[1]),
                    same_draws=draws[0],
                    different_draws=draws[1],
                    null=permuted,
                )
                found.append(MeasuredEstimate(assignment, measure, site, estimate))
    return found


def _mean(total: float, count: int) -> float:
    return float(total / count) if count else float("nan")
