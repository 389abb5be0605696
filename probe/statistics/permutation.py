"""The null: topic labels permuted among the words that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from probe.measures.pairs import triangle_index
from probe.statistics.estimate import divide


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
        divide(same[:, : len(sums)], same[:, counts]).T,
        divide(different[:, : len(sums)], different[:, counts]).T,
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
