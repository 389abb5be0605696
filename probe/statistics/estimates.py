"""From quantities to estimates: intervals, nulls and matched controls, for every measure and assignment.

Sums of documents are resampled over documents, values of words over topics; topic labels are permuted alike for all
measures, freely and among words of like frequency. The controls ask whether the topic effect survives when something
else is held fixed; they are made for the single assignment, where every word has one topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from probe.measures.cooccurring import pointwise_mutual_information
from probe.measures.pairs import Labelled, pack_triangle
from probe.measures.protocol import ByDocument, ByTopic, Measure, PassSums, Probed, Quantity
from probe.statistics.bootstrap import TopicSplit, TopicSums, draw_weights, resample_documents, resample_topics
from probe.statistics.by_topic import TopicEffects, topic_effects
from probe.statistics.estimate import Estimate
from probe.statistics.matching import MatchedSums, matched_by_topic, resample_matched
from probe.statistics.permutation import permutation_null, permutations, quantile_strata
from probe.text.bags import Bags
from probe.topics.assignment import Assignment

FREQUENCY_STRATA = 10
PMI_STRATA = 10


@dataclass(frozen=True)
class MeasuredEstimate:
    """An estimate, what it is an estimate of, what to know about it, and its topics where every word has one."""

    assignment: Assignment
    measure: str
    site: str
    estimate: Estimate
    remark: str = ""
    by_topic: TopicEffects | None = None


@dataclass(frozen=True)
class PairStatistics:
    """What is known of the tracked words and their pairs, besides topics.

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


def estimate_all(
    measures: Sequence[Measure],
    sums: PassSums,
    probed: Probed,
    labelled: Sequence[Labelled],
    statistics: PairStatistics,
    resamples: int,
    random_state: int,
) -> list[MeasuredEstimate]:
    """Estimate every quantity of every measure, for every assignment.

    Args:
        measures: whose sums there are.
        sums: of one pass over the passages.
        probed: the words and pairs that the sums are of.
        labelled: the assignments.
        statistics: of the same words.
        resamples: bootstrap draws and permutations.
        random_state: seed.
    """
    by_measure = [measure.quantities(sums, probed, labelled) for measure in measures]
    found: list[MeasuredEstimate] = []
    for one in labelled:
        quantities = list(chain.from_iterable(next(made) for made in by_measure))
        found += _estimates(quantities, one, statistics, resamples, random_state)
    return found


def _estimates(
    quantities: Sequence[Quantity], labelled: Labelled, statistics: PairStatistics, resamples: int, random_state: int
) -> Iterator[MeasuredEstimate]:
    """The estimates of one assignment."""
    assignment, position = labelled.assignment, labelled.position
    frequency = quantile_strata(statistics.frequency[position], FREQUENCY_STRATA)
    orders = (permutations(len(position), s, resamples, random_state) for s in (None, frequency))
    same, different = permutation_null(
        [quantity.sums for quantity in quantities],
        [quantity.pairs for quantity in quantities],
        assignment.member,
        chain(*orders),
    )
    resampled = _Resampled(assignment, resamples, random_state)
    for index, quantity in enumerate(quantities):
        estimate = replace(
            _estimate(quantity, resampled.draws(quantity)),
            null=(same[index, :resamples], different[index, :resamples]),
            frequency_null=(same[index, resamples:], different[index, resamples:]),
            no_ratio=quantity.no_ratio,
        )
        split = topic_effects(quantity.sums, quantity.pairs, assignment.member) if assignment.kind == "single" else None
        yield MeasuredEstimate(assignment, quantity.measure, quantity.site, estimate, by_topic=split)
    if assignment.kind == "single":
        strata = _pmi_strata(statistics.pmi[np.ix_(position, position)])
        for quantity in quantities:
            if quantity.pmi_matched:
                yield _matched_on_pmi(quantity, assignment, strata, resampled)
        for quantity in quantities:
            if isinstance(quantity.units, ByDocument) and quantity.units.distances is not None:
                yield _matched_on_distance(quantity, quantity.units, assignment, resampled)


class _Resampled:
    """Bootstrap draws of one assignment's quantities; those of like units are drawn alike.

    Args:
        assignment: of the words to topics.
        resamples: number of draws.
        random_state: seed.
    """

    def __init__(self, assignment: Assignment, resamples: int, random_state: int):
        self.resamples = resamples
        self._member = assignment.member
        self._seed = random_state
        self._weights: dict[int, np.ndarray] = {}
        self._splits: dict[int, tuple[TopicSplit, TopicSums]] = {}

    def weights(self, units: int) -> np.ndarray:
        """[resamples, units] how often each unit is drawn."""
        if units not in self._weights:
            self._weights[units] = draw_weights(units, self.resamples, self._seed)
        return self._weights[units]

    def draws(self, quantity: Quantity) -> tuple[np.ndarray, np.ndarray]:
        """[resamples] same-topic means, [resamples] different-topic means."""
        units = quantity.units
        if isinstance(units, ByDocument):
            means = resample_documents(units.sums, units.pairs, self.weights(len(units.sums)))
            return means[:, 0], means[:, 1]
        split, pairs = self._split(units)
        return resample_topics(split.sums(units.values), pairs, self.weights(len(self._member)))

    def _split(self, units: ByTopic) -> tuple[TopicSplit, TopicSums]:
        # Quantities of one site share what is counted.
        if id(units.counted) not in self._splits:
            split = TopicSplit(self._member, units.counted)
            self._splits[id(units.counted)] = split, split.sums(units.counted.astype(np.float32))
        return self._splits[id(units.counted)]


def _estimate(quantity: Quantity, draws: tuple[np.ndarray, np.ndarray]) -> Estimate:
    return Estimate(
        same=quantity.same,
        different=quantity.different,
        same_pairs=quantity.same_pairs,
        different_pairs=quantity.different_pairs,
        same_draws=draws[0],
        different_draws=draws[1],
    )


def _pmi_strata(pmi: np.ndarray) -> np.ndarray:
    """Packed triangle of strata: 0 for pairs that never co-occur, else tenths of the pairs that do, by PMI."""
    packed = pack_triangle(pmi)
    together = np.isfinite(packed)
    strata = np.zeros(len(packed), dtype=np.int64)
    strata[together] = 1 + quantile_strata(packed[together], PMI_STRATA)
    return strata


def _matched_on_pmi(
    quantity: Quantity, assignment: Assignment, strata: np.ndarray, resampled: _Resampled
) -> MeasuredEstimate:
    topics = len(assignment.member)
    cubes = matched_by_topic(quantity.sums, quantity.pairs, strata, assignment.member.argmax(axis=0), topics)
    observed = resample_matched(*cubes, np.ones((1, topics)))
    draws = resample_matched(*cubes, resampled.weights(topics)).means()
    same, different = (float(one[0]) for one in observed.means())
    estimate = _estimate(replace(quantity, same=same, different=different), draws)
    return MeasuredEstimate(
        assignment, f"{quantity.measure}_pmi_matched", quantity.site, estimate, _matched("PMI", observed)
    )


def _matched_on_distance(
    quantity: Quantity, units: ByDocument, assignment: Assignment, resampled: _Resampled
) -> MeasuredEstimate:
    attention, pairs = units.distances, units.distance_pairs
    assert attention is not None and pairs is not None

    def matched(weights: np.ndarray) -> MatchedSums:
        totals, counts = (np.tensordot(weights, part, 1) for part in (attention, pairs))
        return MatchedSums(totals[..., 0], counts[..., 0], totals[..., 1], counts[..., 1])

    observed = matched(np.ones((1, len(attention))))
    draws = matched(resampled.weights(len(attention))).means()
    if ((pairs.sum(axis=1) > 0).sum(axis=0) < 2).any():
        draws = (np.full(resampled.resamples, np.nan),) * 2
    same, different = (float(one[0]) for one in observed.means())
    changed = replace(
        quantity,
        same=same,
        different=different,
        same_pairs=int(pairs[..., 0].sum()),
        different_pairs=int(pairs[..., 1].sum()),
    )
    estimate = _estimate(changed, draws)
    return MeasuredEstimate(
        assignment, f"{quantity.measure}_distance_matched", quantity.site, estimate, _matched("distance", observed)
    )


def _matched(on: str, sums: MatchedSums) -> str:
    """What there is to know of a matched measure."""
    share = sums.matched_share[0]
    return f"pairs matched on {on}" + (f"; {share:.0%} of same-topic pairs have a match" if np.isfinite(share) else "")
