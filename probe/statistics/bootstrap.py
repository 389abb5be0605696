"""The bootstrap, over documents and over topics; made from sums and counts, without a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe.statistics.estimate import divide


def draw_weights(units: int, resamples: int, random_state: int) -> np.ndarray:
    """[resamples, units] how often each unit (a topic, a group of documents) is drawn, with replacement."""
    random = np.random.default_rng(random_state)
    return random.multinomial(units, np.full(units, 1 / units), size=resamples).astype(float)


def resample_documents(sums: np.ndarray, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Bootstrap over documents.

    Args:
        sums: [documents, columns] sums.
        pairs: [documents, columns] number of pairs.
        weights: [resamples, documents] from `draw_weights`.

    Returns:
        [resamples, columns] means; NaN in columns whose pairs all lie in one document.
    """
    means = divide(weights @ sums, weights @ pairs)
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
    same = divide(weights @ values.same, weights @ pairs.same)
    different = divide(
        ((weights @ values.different) * weights).sum(axis=1),
        ((weights @ pairs.different) * weights).sum(axis=1),
    )
    return same, different


def pack_triangle(matrix: np.ndarray) -> np.ndarray:
    """The pairs i > j of a symmetric [words, words] matrix, row after row: [words (words - 1) / 2]."""
    return matrix[np.tril_indices(len(matrix), -1)]
