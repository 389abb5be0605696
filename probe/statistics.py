"""Ratios with their uncertainty: bootstrap over documents or topics, and the permutation null.

Everything here is made from sums and counts; no model is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
        null: [resamples] ratios under permuted topic labels.
    """

    same: float
    different: float
    same_pairs: int
    different_pairs: int
    same_draws: np.ndarray
    different_draws: np.ndarray
    null: np.ndarray

    @property
    def withheld(self) -> str:
        """Why the ratio has no meaning; empty where it has one."""
        if not self.same_pairs:
            return "no same-topic pair"
        if not self.different_pairs:
            return "no different-topic pair"
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


def p_value(ratio: float, null: np.ndarray) -> float:
    """One-sided p-value of a ratio: how often permuted labels give as much, the observed one counted in."""
    null = null[np.isfinite(null)]
    if not np.isfinite(ratio) or not len(null):
        return np.nan
    return float((1 + (null >= ratio).sum()) / (1 + len(null)))


def _divide(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full(np.shape(below), np.nan), where=np.asarray(below) != 0)


def resample_documents(sums: np.ndarray, pairs: np.ndarray, resamples: int, random_state: int) -> np.ndarray:
    """Bootstrap over documents.

    Args:
        sums: [documents, columns] sums.
        pairs: [documents, columns] number of pairs.
        resamples: number of draws.
        random_state: seed.

    Returns:
        [resamples, columns] means.
    """
    random = np.random.default_rng(random_state)
    documents = len(sums)
    means = np.empty((resamples, sums.shape[1]))
    step = max(1, _BLOCK // documents)
    for first in range(0, resamples, step):
        size = min(step, resamples - first)
        weights = random.multinomial(documents, np.full(documents, 1 / documents), size=size).astype(float)
        means[first : first + size] = _divide(weights @ sums, weights @ pairs)
    return means


@dataclass(frozen=True)
class TopicSums:
    """A symmetric pair quantity summed by topic, for the bootstrap over topics.

    A pair that shares several topics is split evenly among them, and so is a different-topic pair among the pairs
    of topics of its two words; the sums over all topics are the sums over all pairs.

    Attributes:
        same: [topics] over the same-topic pairs of each topic.
        different: [topics, topics] over the different-topic pairs of each two topics.
    """

    same: np.ndarray
    different: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, member: np.ndarray, shared: np.ndarray, counted: np.ndarray) -> TopicSums:
        """Sum a quantity by topic.

        Args:
            values: [words, words] symmetric.
            member: [topics, words] bool.
            shared: [words, words] number of topics that each pair shares.
            counted: [words, words] bool; False for pairs that are in neither class.
        """
        weights = member.astype(np.float32)
        same = np.where(counted & (shared > 0), values / np.maximum(shared, 1), 0).astype(np.float32)
        different = np.where(counted & (shared == 0), values, 0).astype(np.float32)
        even = weights / weights.sum(axis=0)
        return cls(
            same=((weights @ same) * weights).sum(axis=1, dtype=np.float64) / 2,
            different=((even @ different).astype(np.float64) @ even.T) / 2,
        )


def resample_topics(
    values: TopicSums, pairs: TopicSums, resamples: int, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap over topics.

    Two draws of the same topic make no different-topic pairs.

    Args:
        values: sums of the quantity.
        pairs: sums of ones.
        resamples: number of draws.
        random_state: seed.

    Returns:
        [resamples] same-topic means, [resamples] different-topic means.
    """
    topics = len(values.same)
    random = np.random.default_rng(random_state)
    weights = random.multinomial(topics, np.full(topics, 1 / topics), size=resamples).astype(float)
    same = _divide(weights @ values.same, weights @ pairs.same)
    different = _divide(
        ((weights @ values.different) * weights).sum(axis=1),
        ((weights @ pairs.different) * weights).sum(axis=1),
    )
    return same, different


def pack_triangle(matrix: np.ndarray) -> np.ndarray:
    """The pairs i > j of a symmetric [words, words] matrix, row after row: [words (words - 1) / 2]."""
    return matrix[np.tril_indices(len(matrix), -1)]


def triangle_index(i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Where the pair of two different positions stands in a packed triangle."""
    high, low = np.maximum(i, j), np.minimum(i, j)
    return high * (high - 1) // 2 + low


def permutation_null(
    sums: Sequence[np.ndarray],
    pairs: Sequence[np.ndarray],
    member: np.ndarray,
    resamples: int,
    random_state: int,
) -> np.ndarray:
    """Ratios when topic labels are permuted among the words that carry them (topic sizes are kept).

    Args:
        sums: for each quantity, a packed triangle of sums; 0 for pairs that do not count.
        pairs: for each quantity, a packed triangle of numbers of pairs; 0 for pairs that do not count.
        member: [topics, words] bool.
        resamples: number of permutations.
        random_state: seed.

    Returns:
        [quantities, resamples] ratios.
    """
    random = np.random.default_rng(random_state)
    words = member.shape[1]
    weights = member.astype(np.float32)
    i, j = np.nonzero(np.tril(weights.T @ weights > 0, -1))
    # One row a pair, so that a permuted pair costs one look-up for all quantities.
    stacked = np.stack([*sums, *pairs], axis=1).astype(np.float32)
    total = stacked.sum(axis=0, dtype=np.float64)
    ones = np.ones(len(i), dtype=np.float32)
    same = np.empty((resamples, stacked.shape[1]))
    for draw in range(resamples):
        order = random.permutation(words)
        same[draw] = ones @ stacked.take(triangle_index(order[i], order[j]), axis=0)
    different = total - same
    half = len(sums)
    return _divide(_divide(same[:, :half], same[:, half:]), _divide(different[:, :half], different[:, half:])).T


def permutation_null_literal(
    sums: np.ndarray, pairs: np.ndarray, member: np.ndarray, orders: Sequence[np.ndarray]
) -> np.ndarray:
    """`permutation_null` of one quantity for given permutations, pair by pair.

    Args:
        sums: [words, words] symmetric.
        pairs: [words, words] symmetric.
        member: [topics, words] bool.
        orders: permutations of the words.
    """
    ratios = []
    words = member.shape[1]
    for order in orders:
        value, count = np.zeros(2), np.zeros(2)
        for i in range(words):
            for j in range(i):
                column = 0 if any(topic[i] and topic[j] for topic in member) else 1
                value[column] += sums[order[i], order[j]]
                count[column] += pairs[order[i], order[j]]
        ratios.append((value[0] / count[0]) / (value[1] / count[1]) if count.all() and value[1] else np.nan)
    return np.array(ratios)
