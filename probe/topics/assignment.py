"""From a fitted topic model to topics of words: the ambiguity filter (paper, appendix E.3).

For every topic the words are sorted by p(w | t) and the k = floor(theta * n) + 1 likeliest are kept. A word that the
topic model never gave to a topic has the prior's likelihood there, the same as all other such words: the topic does
not keep it, so a topic that was left empty keeps no word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from probe.topics.theta import words_per_topic

Kind = Literal["single", "multiple"]
# Likelihoods up to this many times the smallest of the topic are the prior's.
_GIVEN = 2.0
KINDS: tuple[Kind, Kind] = ("single", "multiple")


def rank_words(topic_word: np.ndarray, size: int) -> np.ndarray:
    """The likeliest words of each topic, ties broken by dictionary position.

    Args:
        topic_word: [topics, n] p(w | t).
        size: words wanted per topic.

    Returns:
        [topics, size] int64 dictionary positions, likeliest first.
    """
    return np.argsort(-topic_word, axis=1, kind="stable")[:, :size]


def given_ranks(topic_word: np.ndarray, size: int) -> np.ndarray:
    """The rank of each word among those that a topic was given, counted from 0.

    Args:
        topic_word: [topics, n] p(w | t).
        size: how many ranks are wanted.

    Returns:
        [topics, n] int64; `size` for words of a higher rank, and for words that the topic was not given.
    """
    ranks = np.full(topic_word.shape, size)
    best = rank_words(topic_word, size)
    np.put_along_axis(ranks, best, np.broadcast_to(np.arange(best.shape[1]), best.shape), axis=1)
    return np.where(topic_word > _GIVEN * topic_word.min(axis=1, keepdims=True), ranks, size)


def kept_words(topic_word: np.ndarray, theta: float) -> np.ndarray:
    """Which words each topic keeps.

    Args:
        topic_word: [topics, n] p(w | t).
        theta: ambiguity threshold.

    Returns:
        [topics, n] bool, at most k in a row.
    """
    k = words_per_topic(theta, topic_word.shape[1])
    return given_ranks(topic_word, k) < k


@dataclass(frozen=True)
class Assignment:
    """Which words belong to which topics at one theta.

    Attributes:
        theta: ambiguity threshold.
        kind: "single" (a word stays only with the topic where p(w | t) is highest; Table 1) or "multiple"
            (it stays with every topic that keeps it; Table 5).
        seed: position of the topic model among those fitted (0 where there is one).
        vocabulary: n, size of the LDA dictionary.
        words_per_topic: k.
        words: [words] int64, dictionary positions that carry a topic, ascending.
        member: [topics, words] bool.
    """

    theta: float
    kind: Kind
    seed: int
    vocabulary: int
    words_per_topic: int
    words: np.ndarray
    member: np.ndarray


def assign_topics(topic_word: np.ndarray, theta: float, kind: Kind, seed: int = 0) -> Assignment:
    """Apply the ambiguity filter.

    Args:
        topic_word: [topics, n] p(w | t).
        theta: ambiguity threshold.
        kind: "single" or "multiple" (see `Assignment`).
        seed: position of the topic model among those fitted.

    Raises:
        ProbeError: theta is out of range.
    """
    topics, n = topic_word.shape
    kept = kept_words(topic_word, theta)
    if kind == "single":
        best = np.where(kept, topic_word, -1.0).argmax(axis=0)
        kept &= np.arange(topics)[:, None] == best
    words = np.flatnonzero(kept.any(axis=0))
    return Assignment(theta, kind, seed, n, words_per_topic(theta, n), words, kept[:, words])
