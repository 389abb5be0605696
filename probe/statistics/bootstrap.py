"""Ratios with their uncertainty: bootstrap over documents or topics, and the permutation null.

Everything here is made from sums and counts; no model is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from probe.measures.pairs import triangle_index

LEVEL = 0.95
# A mean is clearly away from zero when it is this many of its bootstrap deviations away: at the 2 that a 95 %
# interval asks for, one in twenty means of pure noise would make a ratio of no meaning.
_CLEAR = 4.0
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Estimate:
    """A same-topic mean over a different-topic mean, with what is known of its uncertainty.

    Attributes:
        same, different: the two means.
        same_pairs, different_pairs: how many pairs they are made of.
        same_draws, different_draws: [resamples] bootstrap draws of the means.
        null: [resamples] same-topic and different-topic means under permuted topic labels; None where there is no
            such null.
        frequency_null: the same with labels permuted among words of like frequency.
        no_ratio: why there is no ratio by construction; empty where there is one.
    """

    same: float
    different: float
    same_pairs: int
    different_pairs: int
    same_draws: np.ndarray
    different_draws: np.ndarray
    null: tuple[np.ndarray, np.ndarray] | None = None
    frequency_null: tuple[np.ndarray, np.ndarray] | None = None
    no_ratio: str = ""

    @property
    def withheld(self) -> str:
        """Why the ratio has no meaning; empty where it has one."""
        if self.no_ratio:
            return self.no_ratio
        if not self.same_pairs:
            return "no same-topic pair"
        if not self.different_pairs:
            return "no different-topic pair"
        if not np.isfinite(ratio_draws(self)).any():
            return "its pairs lie in one document or have no match, so no interval can be drawn"
        finite = self.different_draws[np.isfinite(self.different_draws)]
        low, high = interval(finite)
        deviation = float(finite.std()) if len(finite) else np.inf
        if not (low > 0 or high < 0) or abs(self.different) < _CLEAR * deviation:
            return "the different-topic mean is not clearly away from zero"
        return ""

    @property
    def ratio(self) -> float:
        """Same-topic mean over different-topic mean; NaN where withheld."""
        return self.same / self.different if not self.withheld else np.nan


def interval(draws: np.ndarray) -> tuple[float, float]:
    """The central 95 % of some draws; NaN where there are none."""
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return np.nan, np.nan
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def ratio_draws(estimate: Estimate) -> np.ndarray:
    """[resamples] bootstrap draws of the ratio."""
    return _divide(estimate.same_draws, estimate.different_draws)


def null_ratios(null: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """[resamples] ratios under permuted labels."""
    return _divide(*null)


def p_value(observed: float, null: np.ndarray) -> float:
    """One-sided p-value: how often permuted labels give as much, the observed labels counted in.

    Args:
        observed: the statistic under the real labels.
        null: [resamples] the statistic under permuted labels.
    """
    null = null[np.isfinite(null)]
    if not np.isfinite(observed) or not len(null):
        return np.nan
    return float((1 + (null >= observed).sum()) / (1 + len(null)))


def _divide(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    above, below = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    return np.divide(above, below, out=np.full(below.shape, np.nan), where=below != 0)


def resample_documents(sums: np.ndarray, pairs: np.ndarray, resamples: int, random_state: int) -> np.ndarray:
    """Bootstrap over documents.

    Args:
        sums: [documents, columns] sums.
        pairs: [documents, columns] number of pairs.
        resamples: number of draws.
        random_state: seed.

    Returns:
        [resamples, columns] means; NaN in columns whose pairs all lie in one document.
    """
    random = np.random.default_rng(random_state)
    documents = len(sums)
    means = np.empty((resamples, sums.shape[1]))
    step = max(1, _BLOCK // documents)
    for first in range(0, resamples, step):
        size = min(step, resamples - first)
        weights = random.multinomial(documents, np.full(documents, 1 / documents), size=size).astype(float)
        means[first : first + size] = _divide(weights @ sums, weights @ pairs)
    # Drawing one document again and again is an interval of no width.
    means[:, (pairs > 0).sum(axis=0) < 2] = np.nan
    return means


@dataclass(frozen=True)
class TopicSums:
    """A symmetric pair quantity summed by topic.

    Attributes:
        same: [topics] over the same-topic pairs of each topic.
        different: [topics, topics] over the different-topic pairs of each two topics.
    """

    same: np.ndarray
    different: np.ndarray


class TopicSplit:
    """Splits pairs among topics, for the bootstrap over topics.

    A pair that shares several topics is split evenly among them, and so is a different-topic pair among the pairs of
    topics of its two words; the sums over all topics are the sums over all pairs.

    Args:
        member: [topics, words] bool.
        counted: [words, words] bool; False for pairs that are in neither class.
    """

    def __init__(self, member: np.ndarray, counted: np.ndarray):
        self._member = member.astype(np.float32)
        self._even = self._member / self._member.sum(axis=0)
        shared = self._member.T @ self._member
        self._same = np.where(counted & (shared > 0), 1 / np.maximum(shared, 1), 0).astype(np.float32)
        self._different = (counted & (shared == 0)).astype(np.float32)

    def sums(self, values: np.ndarray) -> TopicSums:
        """Sum a quantity by topic.

        Args:
            values: [words, words] symmetric float32.
        """
        same = (self._member @ (values * self._same)) * self._member
        different = self._even @ (values * self._different)
        return TopicSums(
            same=same.sum(axis=1, dtype=np.float64) / 2,
            different=different.astype(np.float64) @ self._even.T.astype(np.float64) / 2,
        )


def draw_weights(units: int, resamples: int, random_state: int) -> np.ndarray:
    """[resamples, units] how often each unit (a topic, a group of documents) is drawn, with replacement."""
    random = np.random.default_rng(random_state)
    return random.multinomial(units, np.full(units, 1 / units), size=resamples).astype(float)


def resample_topics(values: TopicSums, pairs: TopicSums, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap over topics.

    Two draws of the same topic make no different-topic pairs.

    Args:
        values: sums of the quantity.
        pairs: sums of ones.
        weights: [resamples, topics] from `draw_weights`.

    Returns:
        [resamples] same-topic means, [resamples] different-topic means.
    """
    same = _divide(weights @ values.same, weights @ pairs.same)
    different = _divide(
        ((weights @ values.different) * weights).sum(axis=1),
        ((weights @ pairs.different) * weights).sum(axis=1),
    )
    return same, different


def pack_triangle(matrix: np.ndarray) -> np.ndarray:
    """The pairs i > j of a symmetric [words, words] matrix, row after row: [words (words - 1) / 2]."""
    return matrix[np.tril_indices(len(matrix), -1)]


def permutations(words: int, strata: np.ndarray | None, resamples: int, random_state: int) -> Iterator[np.ndarray]:
    """Random orders of the words; within strata where they are given.

    Args:
        words: how many there are.
        strata: [words] int, or None: words change places only with words of their stratum.
        resamples: number of orders.
        random_state: seed.
    """
    random = np.random.default_rng(random_state)
    if strata is None:
        for _ in range(resamples):
            yield random.permutation(words)
        return
    place = np.argsort(strata, kind="stable")
    for _ in range(resamples):
        order = np.empty(words, dtype=np.int64)
        order[place] = np.lexsort((random.random(words), strata))
        yield order


def quantile_strata(values: np.ndarray, strata: int) -> np.ndarray:
    """Strata of about equal size by rank: [words] int, from 0 (smallest values) on."""
    return np.argsort(np.argsort(values, kind="stable"), kind="stable") * strata // max(1, len(values))


def permutation_null(
    sums: Sequence[np.ndarray],
    pairs: Sequence[np.ndarray],
    member: np.ndarray,
    orders: Iterable[np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Means when topic labels are permuted among the words that carry them (topic sizes are kept).

    Args:
        sums: for each quantity, a packed triangle of sums; 0 for pairs that do not count.
        pairs: for each quantity, a packed triangle of numbers of pairs; 0 for pairs that do not count.
        member: [topics, words] bool.
        orders: from `permutations`.

    Returns:
        [quantities, orders] same-topic means and different-topic means.
    """
    weights = member.astype(np.float32)
    i, j = np.nonzero(np.tril(weights.T @ weights > 0, -1))
    # Quantities that share their pairs share a column; one row a pair makes a permuted pair cost one look-up.
    different_pairs = list({id(triangle): triangle for triangle in pairs}.values())
    column = [next(c for c, one in enumerate(different_pairs) if one is triangle) for triangle in pairs]
    stacked = np.stack([*sums, *different_pairs], axis=1, dtype=np.float32, casting="same_kind")
    total = stacked.sum(axis=0, dtype=np.float64)
    ones = np.ones(len(i), dtype=np.float32)
    same = np.array([ones @ stacked.take(triangle_index(order[i], order[j]), axis=0) for order in orders], dtype=float)
    different = total - same
    counts = [len(sums) + c for c in column]
    return (
        _divide(same[:, : len(sums)], same[:, counts]).T,
        _divide(different[:, : len(sums)], different[:, counts]).T,
    )


def permutation_null_literal(
    sums: np.ndarray, pairs: np.ndarray, member: np.ndarray, orders: Iterable[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """`permutation_null` of one quantity for given permutations, pair by pair.

    Args:
        sums: [words, words] symmetric.
        pairs: [words, words] symmetric.
        member: [topics, words] bool.
        orders: permutations of the words.
    """
    means = []
    words = member.shape[1]
    for order in orders:
        value, count = np.zeros(2), np.zeros(2)
        for i in range(words):
            for j in range(i):
                column = 0 if any(topic[i] and topic[j] for topic in member) else 1
                value[column] += sums[order[i], order[j]]
                count[column] += pairs[order[i], order[j]]
        means.append([value[column] / count[column] if count[column] else np.nan for column in (0, 1)])
    return np.array(means)[:, 0], np.array(means)[:, 1]


@dataclass(frozen=True)
class MatchedSums:
    """Sums and counts of same-topic and different-topic pairs, by stratum (last axis).

    Attributes:
        same, same_pairs, different, different_pairs: [..., strata].
    """

    same: np.ndarray
    same_pairs: np.ndarray
    different: np.ndarray
    different_pairs: np.ndarray

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Same-topic mean, and the different-topic mean of as many pairs of each stratum.

        Coarsened exact matching (Iacus, King and Porro, 2012): every stratum weighs as much as its same-topic pairs;
        strata without pairs of both kinds are left out.
        """
        both = (self.same_pairs > 0) & (self.different_pairs > 0)
        weight = np.where(both, self.same_pairs, 0)
        total = weight.sum(axis=-1)
        same = np.where(both, self.same, 0).sum(axis=-1)
        different = (weight * np.where(both, _divide(self.different, self.different_pairs), 0)).sum(axis=-1)
        return _divide(same, total), _divide(different, total)

    @property
    def matched_share(self) -> np.ndarray:
        """Share of the same-topic pairs that have different-topic pairs in their stratum."""
        return _divide(
            np.where(self.different_pairs > 0, self.same_pairs, 0).sum(axis=-1), self.same_pairs.sum(axis=-1)
        )


def matched_by_topic(
    values: np.ndarray, pairs: np.ndarray, strata: np.ndarray, topic: np.ndarray, topics: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sum a quantity by stratum and pair of topics, each word having one topic.

    Args:
        values: packed triangle of sums.
        pairs: packed triangle of numbers of pairs.
        strata: packed triangle of ints from 0 on.
        topic: [words] topic of each word.
        topics: how many there are.

    Returns:
        [strata, topics, topics] sums and numbers of pairs, symmetric; same-topic pairs on the diagonal.
    """
    i, j = np.tril_indices(len(topic), -1)
    size = int(strata.max(initial=0)) + 1
    place = (strata.astype(np.int64) * topics + topic[i]) * topics + topic[j]
    found = []
    for weights in (values, pairs):
        cube = np.bincount(place, weights=weights, minlength=size * topics * topics).reshape(size, topics, topics)
        diagonal = np.einsum("stt->st", cube)[:, :, None] * np.eye(topics)
        found.append(cube + cube.transpose(0, 2, 1) - diagonal)
    return found[0], found[1]


def resample_matched(sums: np.ndarray, pairs: np.ndarray, weights: np.ndarray) -> MatchedSums:
    """Matched sums under topic weights.

    Args:
        sums, pairs: [strata, topics, topics] from `matched_by_topic`.
        weights: [draws, topics] how often each topic is drawn.
    """

    def same(cube: np.ndarray) -> np.ndarray:
        return weights @ np.einsum("stt->ts", cube)

    def different(cube: np.ndarray) -> np.ndarray:
        off = cube * (1 - np.eye(cube.shape[1]))
        return np.stack([((weights @ part) * weights).sum(axis=1) / 2 for part in off], axis=1)

    return MatchedSums(same(sums), same(pairs), different(sums), different(pairs))
