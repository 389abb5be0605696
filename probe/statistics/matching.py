"""Matched controls: same-topic pairs beside different-topic pairs that are alike in something else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe.statistics.estimate import divide


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
        different = (weight * np.where(both, divide(self.different, self.different_pairs), 0)).sum(axis=-1)
        return divide(same, total), divide(different, total)

    @property
    def matched_share(self) -> np.ndarray:
        """Share of the same-topic pairs that have different-topic pairs in their stratum."""
        return divide(np.where(self.different_pairs > 0, self.same_pairs, 0).sum(axis=-1), self.same_pairs.sum(axis=-1))


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
