"""From sums to estimates: every measure at every site, for every assignment, and the controls.

Attention is resampled over documents, embeddings over topics; topic labels are permuted alike for all measures, freely
and among words of like frequency. The controls ask whether the topic effect survives when something else is held
fixed; they are made for the single assignment, where every word has one topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from probe.measures.attention import AttentionSums
from probe.measures.cooccurrence import TopPairs, pointwise_mutual_information
from probe.measures.embeddings import (
    occurrence_similarities,
    similarity_sums,
    word_similarities,
)
from probe.measures.pairs import NEITHER, Labelled, TopicPairs, pair_states, triangle_index
from probe.statistics.bootstrap import (
    Estimate,
    MatchedSums,
    TopicSplit,
    draw_weights,
    matched_by_topic,
    pack_triangle,
    permutation_null,
    permutations,
    quantile_strata,
    resample_documents,
    resample_matched,
    resample_topics,
)
from probe.text.bags import Bags
from probe.topics.assignment import Assignment

Measure = Literal[
    "cosine",
    "dot",
    "attention",
    "cosine_centered",
    "cosine_pmi_matched",
    "attention_pmi_matched",
    "attention_distance_matched",
]
Site = Literal["word", "layer", "attention"]
FREQUENCY_STRATA = 10
PMI_STRATA = 10
_CENTERED = "centering on the mean of the labelled words makes the different-topic mean about zero"


@dataclass(frozen=True)
class MeasuredEstimate:
    """An estimate, what it is an estimate of, and what to know about it."""

    assignment: Assignment
    measure: Measure
    site: Site
    estimate: Estimate
    remark: str = ""


@dataclass(frozen=True)
class CooccurrenceMeans:
    """What the pairs that co-occur most give (Table 2).

    Attributes:
        theta: ambiguity threshold, which decides how many pairs there are.
        word_pairs: N = k (k - 1) / 2, fewer where fewer pairs co-occur.
        attention: their mean debiased attention.
        cosine: their mean cosine similarity at the word site.
    """

    theta: float
    word_pairs: int
    attention: float
    cosine: float


@dataclass(frozen=True)
class PairStatistics:
    """What is known of the labelled words and their pairs, besides topics.

    Attributes:
        frequency: [W] number of occurrences of each word in the corpus.
        pmi: [W, W] pointwise mutual information over passages; -inf for pairs that never co-occur.
    """

    frequency: np.ndarray
    pmi: np.ndarray

    @classmethod
    def of(cls, bags: Bags, words: np.ndarray) -> PairStatistics:
        """Count words and pairs in passages.

        Args:
            bags: word counts of passages.
            words: [W] token ids in their dictionary.
        """
        counts = np.asarray(bags.counts.sum(axis=0)).ravel()
        return cls(counts[np.searchsorted(bags.words, words)], pointwise_mutual_information(bags, words))


@dataclass(frozen=True)
class _Quantity:
    """One measure before its null is known; `sums` and `pairs` are packed triangles."""

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
    sums: AttentionSums,
    pairs: TopicPairs,
    labelled: Sequence[Labelled],
    statistics: PairStatistics,
    resamples: int,
    random_state: int,
) -> list[MeasuredEstimate]:
    """Estimate every measure for every assignment.

    Args:
        sums: of one pass over the passages.
        pairs: classes of the pairs.
        labelled: the assignments.
        statistics: of the same words.
        resamples: bootstrap draws and permutations.
        random_state: seed.
    """
    word = word_similarities(sums.word_vectors)
    layer = occurrence_similarities(sums.vectors, sums.directions, sums.occurrences)
    documents, document_pairs = (
        np.concatenate([pairs.classes(part, one.assignment) for one in labelled], axis=1)
        for part in (sums.documents, sums.document_pairs)
    )
    attention_draws = resample_documents(documents, document_pairs, resamples, random_state)
    found = []
    for column, one in enumerate(labelled):
        assignment, position = one.assignment, one.position
        single = assignment.kind == "single"
        weights = draw_weights(len(assignment.member), resamples, random_state)
        block = np.ix_(position, position)
        at_word: dict[Measure, np.ndarray] = {"cosine": word.cosine[block], "dot": word.dot[block]}
        if single:
            vectors = sums.word_vectors[position]
            at_word["cosine_centered"] = word_similarities(vectors - vectors.mean(axis=0)).cosine
        at_layer: dict[Measure, np.ndarray] = {"cosine": layer.cosine[block], "dot": layer.dot[block]}
        quantities = [
            *_embedding_quantities("word", at_word, word.known, pairs, one, weights),
            *_embedding_quantities("layer", at_layer, layer.known, pairs, one, weights),
            _attention_quantity(sums, pairs, one, attention_draws[:, 2 * column : 2 * column + 2]),
        ]
        frequency = quantile_strata(statistics.frequency[position], FREQUENCY_STRATA)
        orders = (permutations(len(position), s, resamples, random_state) for s in (None, frequency))
        same, different = permutation_null(
            [quantity.sums for quantity in quantities],
            [quantity.pairs for quantity in quantities],
            assignment.member,
            chain(*orders),
        )
        for index, quantity in enumerate(quantities):
            estimate = Estimate(
                same=quantity.same,
                different=quantity.different,
                same_pairs=quantity.same_pairs,
                different_pairs=quantity.different_pairs,
                same_draws=quantity.draws[0],
                different_draws=quantity.draws[1],
                null=(same[index, :resamples], different[index, :resamples]),
                frequency_null=(same[index, resamples:], different[index, resamples:]),
                no_ratio=_CENTERED if quantity.measure == "cosine_centered" else "",
            )
            found.append(MeasuredEstimate(assignment, quantity.measure, quantity.site, estimate))
        if single:
            strata = _pmi_strata(statistics.pmi[block])
            found += [
                _matched_on_pmi(quantity, assignment, strata, weights)
                for quantity in quantities
                if (quantity.measure, quantity.site) in (("cosine", "word"), ("attention", "attention"))
            ]
            found.append(_matched_on_distance(sums, pairs, assignment, resamples, random_state))
    return found


def cooccurrence_means(
    sums: AttentionSums, pairs: TopicPairs, labelled: Sequence[Labelled], top: TopPairs
) -> list[CooccurrenceMeans]:
    """Mean attention and cosine similarity of the pairs that co-occur most, for every theta.

    Args:
        sums: of one pass over the passages.
        pairs: classes of the pairs; its words hold those of `top`.
        labelled: the assignments.
        top: at least as many pairs as the widest theta asks for.
    """
    first, second = np.searchsorted(pairs.words, top.first), np.searchsorted(pairs.words, top.second)
    place = triangle_index(first, second)
    cosine = word_similarities(sums.word_vectors).cosine[first, second]
    means = []
    for theta, k in {one.assignment.theta: one.assignment.words_per_topic for one in labelled}.items():
        size = min(k * (k - 1) // 2, len(top))
        here = place[:size]
        attention = _mean(float(sums.table[here].sum(dtype=np.float64)), int(sums.table_pairs[here].sum()))
        means.append(CooccurrenceMeans(theta, size, attention, _mean(float(cosine[:size].sum()), size)))
    return means


def _embedding_quantities(
    site: Site,
    similarities: Mapping[Measure, np.ndarray],
    known: np.ndarray,
    pairs: TopicPairs,
    labelled: Labelled,
    weights: np.ndarray,
) -> list[_Quantity]:
    """Measures of one site that share their pairs, from similarities of the labelled words alone."""
    assignment, position = labelled.assignment, labelled.position
    states = pair_states(assignment, pairs.surface[position])
    states[~known[position]] = NEITHER
    states[:, ~known[position]] = NEITHER
    counted = states != NEITHER
    ones = counted.astype(np.float32)
    split = TopicSplit(assignment.member, counted)
    pairs_by_topic, packed_pairs = split.sums(ones), pack_triangle(ones)
    quantities = []
    for measure, similarity in similarities.items():
        values = similarity * ones
        totals, counts = similarity_sums(values, states)
        quantities.append(
            _Quantity(
                measure,
                site,
                _mean(totals[0], counts[0]),
                _mean(totals[1], counts[1]),
                int(counts[0]),
                int(counts[1]),
                resample_topics(split.sums(values), pairs_by_topic, weights),
                pack_triangle(values),
                packed_pairs,
            )
        )
    return quantities


def _attention_quantity(sums: AttentionSums, pairs: TopicPairs, labelled: Labelled, draws: np.ndarray) -> _Quantity:
    position = labelled.position
    totals, counts = (
        pairs.classes(part, labelled.assignment).sum(axis=0) for part in (sums.documents, sums.document_pairs)
    )
    high, low = np.tril_indices(len(position), -1)
    place = triangle_index(position[high], position[low])
    return _Quantity(
        "attention",
        "attention",
        _mean(totals[0], counts[0]),
        _mean(totals[1], counts[1]),
        int(counts[0]),
        int(counts[1]),
        (draws[:, 0], draws[:, 1]),
        sums.table[place],
        sums.table_pairs[place],
    )


def _pmi_strata(pmi: np.ndarray) -> np.ndarray:
    """Packed triangle of strata: 0 for pairs that never co-occur, else tenths of the pairs that do, by PMI."""
    packed = pack_triangle(pmi)
    together = np.isfinite(packed)
    strata = np.zeros(len(packed), dtype=np.int64)
    strata[together] = 1 + quantile_strata(packed[together], PMI_STRATA)
    return strata


def _matched_on_pmi(
    quantity: _Quantity, assignment: Assignment, strata: np.ndarray, weights: np.ndarray
) -> MeasuredEstimate:
    topics = len(assignment.member)
    cubes = matched_by_topic(quantity.sums, quantity.pairs, strata, assignment.member.argmax(axis=0), topics)
    observed = resample_matched(*cubes, np.ones((1, topics)))
    same, different = observed.means()
    draws = resample_matched(*cubes, weights).means()
    measure: Measure = "cosine_pmi_matched" if quantity.measure == "cosine" else "attention_pmi_matched"
    estimate = Estimate(
        same=float(same[0]),
        different=float(different[0]),
        same_pairs=quantity.same_pairs,
        different_pairs=quantity.different_pairs,
        same_draws=draws[0],
        different_draws=draws[1],
    )
    remark = _matched("PMI", observed)
    return MeasuredEstimate(assignment, measure, quantity.site, estimate, remark)


def _matched(on: str, sums: MatchedSums) -> str:
    """What there is to know of a matched measure."""
    share = sums.matched_share[0]
    return f"pairs matched on {on}" + (f"; {share:.0%} of same-topic pairs have a match" if np.isfinite(share) else "")


def _matched_on_distance(
    sums: AttentionSums, topic_pairs: TopicPairs, assignment: Assignment, resamples: int, random_state: int
) -> MeasuredEstimate:
    attention, pairs = (topic_pairs.classes(part, assignment) for part in (sums.distances, sums.distance_pairs))

    def matched(weights: np.ndarray) -> MatchedSums:
        totals, counts = (np.tensordot(weights, part, 1) for part in (attention, pairs))
        return MatchedSums(totals[..., 0], counts[..., 0], totals[..., 1], counts[..., 1])

    observed = matched(np.ones((1, len(attention))))
    draws = matched(draw_weights(len(attention), resamples, random_state)).means()
    if ((pairs.sum(axis=1) > 0).sum(axis=0) < 2).any():
        draws = (np.full(resamples, np.nan),) * 2
    same, different = observed.means()
    estimate = Estimate(
        same=float(same[0]),
        different=float(different[0]),
        same_pairs=int(pairs[..., 0].sum()),
        different_pairs=int(pairs[..., 1].sum()),
        same_draws=draws[0],
        different_draws=draws[1],
    )
    remark = _matched("distance", observed)
    return MeasuredEstimate(assignment, "attention_distance_matched", "attention", estimate, remark)


def _mean(total: float, count: int) -> float:
    return float(total / count) if count else float("nan")
