"""Which pairs of words are same-topic and which different-topic, for every number of words per topic at once.

Two words are same-topic when they share a topic, and different-topic when both carry topics and share none. Two
tokens of one surface (`Music`, `music`) are the same word and belong to neither, nor does a word with itself.

A topic's k likeliest words are among its k + 1 likeliest, so whether a pair carries topics, and whether it shares one,
is known for every k from the ranks of its words. What is summed for all k serves every theta up to the widest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from probe.text.vocabulary import Surfaces
from probe.topics.assignment import KINDS, Assignment, given_ranks

NEITHER, SAME, DIFFERENT = 0, 1, 2


@dataclass(frozen=True)
class TopicPairs:
    """The words that carry a topic at the largest k, and the class of every pair of them at every k.

    What is summed over pairs has a column for each of `columns`: for every topic model the pairs that carry topics at
    each k, then those that are same-topic in single and in multiple assignment.

    Attributes:
        words: [W] numbers of the words (token ids, but see `Tokens.numbers`), ascending.
        surface: [W] int, equal for tokens of one surface.
        sizes: [K] the numbers of words per topic, ascending.
        first: [seeds, W] which of `sizes` is the first at which a word carries a topic; K where there is none.
        code: [W (W - 1) / 2] packed triangle: 0 for pairs that are never same-topic, 1 for pairs of one surface, else
            the row of `same`.
        same: [codes, seeds * 2 K] bool; whether pairs of a code are same-topic, in single assignment and in multiple.
    """

    words: np.ndarray
    surface: np.ndarray
    sizes: np.ndarray
    first: np.ndarray
    code: np.ndarray
    same: np.ndarray

    def __len__(self) -> int:
        return len(self.words)

    @property
    def columns(self) -> int:
        """Number of columns of what is summed over pairs."""
        return len(self.first) * 3 * len(self.sizes)

    def classes(self, sums: np.ndarray, assignment: Assignment) -> np.ndarray:
        """Same-topic and different-topic sums of one assignment.

        Args:
            sums: [..., columns].
            assignment: of one of the topic models, with one of `sizes` as its words per topic.

        Returns:
            [..., 2].
        """
        size = len(self.sizes)
        column = 3 * size * assignment.seed + int(np.searchsorted(self.sizes, assignment.words_per_topic))
        labelled, same = sums[..., column], sums[..., column + size * (1 + KINDS.index(assignment.kind))]
        return np.stack([same, labelled - same], axis=-1)


@dataclass(frozen=True)
class Labelled:
    """An assignment, and where its words stand in `TopicPairs.words`: [words]."""

    assignment: Assignment
    position: np.ndarray


def shared_topics(member: np.ndarray) -> np.ndarray:
    """Number of topics that each pair of words shares.

    Args:
        member: [topics, words] bool.

    Returns:
        [words, words] float32.
    """
    weights = member.astype(np.float32)
    return weights.T @ weights


def pair_states(assignment: Assignment, surface: np.ndarray) -> np.ndarray:
    """The class of every pair of an assignment's words.

    Args:
        assignment: a topic assignment.
        surface: [words] int, equal for tokens of one surface.

    Returns:
        [words, words] uint8: SAME, DIFFERENT, or NEITHER for two tokens of one surface.
    """
    states = np.where(shared_topics(assignment.member) > 0, SAME, DIFFERENT).astype(np.uint8)
    states[surface[:, None] == surface] = NEITHER
    return states


def pair_states_literal(member: np.ndarray, surface: np.ndarray) -> np.ndarray:
    """`pair_states`, one pair at a time, from the definition."""
    topics, words = member.shape
    states = np.full((words, words), NEITHER, dtype=np.uint8)
    for i in range(words):
        for j in range(words):
            if surface[i] != surface[j]:
                shares = any(member[t, i] and member[t, j] for t in range(topics))
                states[i, j] = SAME if shares else DIFFERENT
    return states


def topic_pairs(
    topic_words: Sequence[np.ndarray],
    sizes: Sequence[int],
    dictionary: np.ndarray,
    vocabulary: Surfaces,
    more_words: Collection[int] = (),
) -> TopicPairs:
    """Classify all pairs of words for all numbers of words per topic.

    Args:
        topic_words: of each topic model, [topics, n] p(w | t) over one dictionary.
        sizes: numbers of words per topic.
        dictionary: [n] number of each dictionary word.
        vocabulary: surfaces of the words.
        more_words: numbers of words to keep track of besides, without a topic.
    """
    levels = np.unique(sizes)
    ranks = [_levels(topic_word, levels) for topic_word in topic_words]
    carrying = [dictionary[(level < len(levels)).any(axis=0)] for level in ranks]
    words = np.unique(np.concatenate([*carrying, np.array(sorted(more_words), dtype=np.int64)]))
    _, surface = np.unique([vocabulary.surfaces[word] for word in words], return_inverse=True)
    place = np.searchsorted(dictionary, words)
    ranks = [level[:, place] for level in ranks]
    likelihoods = [topic_word[:, place] for topic_word in topic_words]
    high, low = _ever_same(ranks, len(levels))
    apart = surface[high] != surface[low]
    high, low = high[apart], low[apart]
    # Bits, since there are hundreds of thousands of such pairs.
    packed = np.stack(
        [
            np.packbits(_same_topic(rank, likelihood, high, low, len(levels)), axis=1)
            for rank, likelihood in zip(ranks, likelihoods, strict=True)
        ],
        axis=1,
    )
    # A dictionary, since sorting rows of bytes takes ten times as long.
    seen: dict[bytes, int] = {}
    number = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in packed], dtype=np.int64)
    different = np.frombuffer(b"".join(seen), dtype=np.uint8).reshape(len(seen), *packed.shape[1:])
    columns = 2 * len(levels) * len(ranks)
    rows = np.unpackbits(different, axis=2, count=2 * len(levels)).reshape(len(different), columns).astype(bool)
    # Rows 0 and 1 stand for pairs that are never same-topic and pairs of one surface.
    rows = np.concatenate([np.zeros((2, columns), dtype=bool), rows])
    code = np.zeros(len(words) * (len(words) - 1) // 2, dtype=np.int16 if len(rows) <= 2**15 else np.int32)
    code[triangle_index(*_one_surface(surface))] = 1
    code[triangle_index(high, low)] = 2 + number
    first = np.array([rank.min(axis=0) for rank in ranks])
    return TopicPairs(words, surface, levels, first, code, rows)


def triangle_index(i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Where the pair of two different positions stands in a packed triangle."""
    high, low = np.maximum(i, j), np.minimum(i, j)
    return high * (high - 1) // 2 + low


def pack_triangle(matrix: np.ndarray) -> np.ndarray:
    """The pairs i > j of a symmetric [words, words] matrix, row after row: [words (words - 1) / 2]."""
    return matrix[np.tril_indices(len(matrix), -1)]


def _levels(topic_word: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """[topics, n] the first of the levels at which a topic keeps a word; their number where there is none."""
    return np.searchsorted(levels, given_ranks(topic_word, int(levels[-1])), side="right")


def _ever_same(ranks: Sequence[np.ndarray], levels: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of words that share a topic at the last level, each once: the higher and the lower position."""
    size = ranks[0].shape[1]
    found = [np.zeros(0, dtype=np.int64)]
    for rank in np.concatenate(ranks):
        here = np.flatnonzero(rank < levels)
        high, low = np.tril_indices(len(here), -1)
        found.append(here[high] * size + here[low])
    high, low = np.divmod(np.unique(np.concatenate(found)), size)
    return high, low


def _same_topic(rank: np.ndarray, likelihood: np.ndarray, high: np.ndarray, low: np.ndarray, levels: int) -> np.ndarray:
    """[pairs, 2 levels] whether pairs of words share a topic, in single and in multiple assignment."""
    single = np.zeros((len(high), levels), dtype=bool)
    multiple = np.full(len(high), levels)
    for level in range(levels):
        best = np.where(rank <= level, likelihood, -1.0).argmax(axis=0)
        labelled = rank.min(axis=0) <= level
        single[:, level] = (best[high] == best[low]) & labelled[high] & labelled[low]
    for topic in rank:
        multiple = np.minimum(multiple, np.maximum(topic[high], topic[low]))
    return np.concatenate([single, multiple[:, None] <= np.arange(levels)], axis=1)


def _one_surface(surface: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of different positions with one surface."""
    order = np.argsort(surface, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(surface[order])) + 1)
    pairs = [pair for group in groups for pair in combinations(group.tolist(), 2)]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
