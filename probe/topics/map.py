"""Topics on a map: how far they are apart, and how much of the text each accounts for."""

from __future__ import annotations

import numpy as np

_ROUNDS = 500
_STILL = 1e-7


def topic_shares(topic_word: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The share of the text's words that each topic accounts for.

    The mixture p(t) whose words, sum over t of p(t) p(w | t), fit the words' counts best (maximum likelihood, by
    expectation and maximization), so that no topics of single documents are needed.

    Args:
        topic_word: [topics, n] p(w | t), up to a factor a topic.
        counts: [n] how often each word occurs.

    Returns:
        [topics], adding up to 1.
    """
    words = _rows(topic_word)
    used = (words.sum(axis=0) > 0) & (counts > 0)
    words, counts = words[:, used], counts[used].astype(float)
    share = np.full(len(words), 1 / len(words))
    if not counts.sum():
        return share
    for _ in range(_ROUNDS):
        expected = share @ words
        changed = share * (words @ (counts / np.where(expected > 0, expected, 1))) / counts.sum()
        changed /= changed.sum()
        if np.abs(changed - share).max() < _STILL:
            return changed
        share = changed
    return share


def topic_distances(topic_word: np.ndarray) -> np.ndarray:
    """Hellinger distance of every two topics, between 0 (alike) and 1 (no word in common).

    Args:
        topic_word: [topics, n] p(w | t), up to a factor a topic.

    Returns:
        [topics, topics].
    """
    roots = np.sqrt(_rows(topic_word))
    distances = np.sqrt(np.clip(1 - roots @ roots.T, 0, 1))
    np.fill_diagonal(distances, 0)
    return distances


def topic_distances_literal(topic_word: np.ndarray) -> np.ndarray:
    """`topic_distances`, two topics at a time, from the definition."""
    rows = [row / row.sum() for row in topic_word]
    return np.array([[np.sqrt(0.5 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) for q in rows] for p in rows])


def positions(distances: np.ndarray) -> np.ndarray:
    """Places on a plane whose distances come near the given ones (principal coordinates; Gower 1966).

    Args:
        distances: [topics, topics], symmetric.

    Returns:
        [topics, 2]. Of each coordinate, the topic farthest out has a positive one.
    """
    size = len(distances)
    centre = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    places = np.zeros((size, 2))
    for axis in range(min(2, size)):
        vector = vectors[:, -1 - axis] * np.sqrt(max(values[-1 - axis], 0.0))
        farthest = vector[np.abs(vector).argmax()]
        places[:, axis] = vector if farthest >= 0 else -vector
    return places


def _rows(topic_word: np.ndarray) -> np.ndarray:
    """Every row adding up to 1; a topic without words has them all alike."""
    rows = np.asarray(topic_word, dtype=float)
    totals = rows.sum(axis=1, keepdims=True)
    return np.divide(rows, totals, out=np.full(rows.shape, 1 / rows.shape[1]), where=totals > 0)
