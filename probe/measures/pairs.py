"""Which pairs of words are same-topic and which different-topic, for every assignment at once.

Two words are same-topic when they share a topic, and different-topic when both carry topics and share none. Two
tokens of one surface (`Music`, `music`) are the same word and belong to neither, nor does a word with itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from probe.errors import ProbeError
from probe.topics import Assignment
from probe.vocabulary import Vocabulary

NEITHER, SAME, DIFFERENT = 0, 1, 2


@dataclass(frozen=True)
class TopicPairs:
    """The words that carry a topic in any assignment, and the class of every pair of them.

    Attributes:
        words: [W] token ids, ascending.
        surface: [W] int, equal for tokens of one surface.
        assignments: [C] the topic assignments.
        position: [C] arrays: where the words of each assignment stand in `words`.
        code: [W, W] small integers, symmetric; pairs of one code are in the same class in every assignment.
        classes: [codes, 2 C] bool; column 2c says same-topic in assignment c, column 2c + 1 different-topic.
    """

    words: np.ndarray
    surface: np.ndarray
    assignments: tuple[Assignment, ...]
    position: tuple[np.ndarray, ...]
    code: np.ndarray
    classes: np.ndarray

    def __len__(self) -> int:
        return len(self.words)


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
    assignments: Sequence[Assignment],
    dictionary: np.ndarray,
    vocabulary: Vocabulary,
    more_words: Collection[int] = (),
) -> TopicPairs:
    """Classify all pairs of words under all assignments.

    Args:
        assignments: over one LDA dictionary.
        dictionary: [n] token id of each dictionary word.
        vocabulary: of the tokenizer.
        more_words: token ids to keep track of besides, without a topic.

    Raises:
        ProbeError: no two words carry topics.
    """
    if all(len(assignment.words) < 2 for assignment in assignments):
        raise ProbeError(
            "No two words carry a topic, so there is no pair to measure: use a larger --theta, more text, or fewer "
            "--topics."
        )
    labelled = [dictionary[assignment.words] for assignment in assignments]
    words = np.unique(np.concatenate([*labelled, np.array(sorted(more_words), dtype=np.int64)]))
    _, surface = np.unique([vocabulary.surfaces[word] for word in words], return_inverse=True)
    code = np.zeros((len(words), len(words)), dtype=np.uint8)
    history = np.zeros((1, 0), dtype=np.uint8)
    positions = []
    for assignment, tokens in zip(assignments, labelled, strict=True):
        position = np.searchsorted(words, tokens)
        positions.append(position)
        code = code.astype(_code_type(3 * len(history)), copy=False)
        code *= 3
        code[np.ix_(position, position)] += pair_states(assignment, surface[position])
        # Codes are renumbered after every assignment, so that they stay few; by rows, since bincount copies.
        seen = sum(np.bincount(row, minlength=3 * len(history)) for row in code) > 0
        number = (np.cumsum(seen) - 1).astype(code.dtype)
        for row in code:
            row[:] = number[row]
        before, state = np.divmod(np.flatnonzero(seen), 3)
        history = np.column_stack([history[before], state.astype(np.uint8)])
    classes = np.stack([history == SAME, history == DIFFERENT], axis=2).reshape(len(history), 2 * len(positions))
    return TopicPairs(words, surface, tuple(assignments), tuple(positions), code, classes)


def _code_type(codes: int) -> type[np.integer]:
    """The smallest type that holds so many codes and that torch has, too."""
    return np.uint8 if codes <= 2**8 else np.int16 if codes <= 2**15 else np.int32
