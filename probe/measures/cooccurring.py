"""Which words stand in the same passages, and how often (paper, section 8.2).

Co-occurrence is counted in passages: two words co-occur once in every passage that holds both. Stop words are not
words, so they are out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from probe.text.bags import Bags
from probe.text.vocabulary import Surfaces

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_FIRST_WORDS = 512


@dataclass(frozen=True)
class TopPairs:
    """The pairs of different words that co-occur most, most often first.

    Attributes:
        first, second: [pairs] numbers of words (token ids), first < second.
        passages: [pairs] number of passages that hold both.
    """

    first: np.ndarray
    second: np.ndarray
    passages: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def presence(bags: Bags) -> csr_matrix:
    """[passages, n] float32 CSR, 1 where the passage holds the word."""
    present = bags.counts.astype(np.float32)
    present.data[:] = 1
    return present


def top_cooccurring(bags: Bags, vocabulary: Surfaces, size: int) -> TopPairs:
    """The `size` pairs of different words that co-occur in most passages; ties broken by the words' numbers.

    No pair is in more passages than either word, so the most frequent words are searched first, and more of them
    only while a rarer word could still be in a top pair.

    Args:
        bags: word counts of passages.
        vocabulary: surfaces of the words; two of one surface are the same word.
        size: pairs wanted; fewer come back where fewer co-occur.
    """
    present = presence(bags)
    frequency = present.getnnz(axis=0)
    order = np.lexsort((np.arange(len(frequency)), -frequency))
    taken = min(_FIRST_WORDS, len(order))
    while True:
        chosen = np.sort(order[:taken])
        part = present[:, chosen]
        together = np.triu((part.T @ part).toarray(), 1).astype(np.int64)
        surfaces = np.unique([vocabulary.surfaces[word] for word in bags.words[chosen]], return_inverse=True)[1]
        together[surfaces[:, None] == surfaces] = 0
        first, second = np.nonzero(together)
        counts = together[first, second]
        # `nonzero` goes by first, then second word: a stable sort breaks ties by the words' numbers.
        best = np.argsort(-counts, kind="stable")[:size]
        # No pair with a word that was left out is in more passages than that word.
        outside = frequency[order[taken]] if taken < len(order) else 0
        if taken == len(order) or (len(best) == size and (counts[best] > outside).all()):
            words = bags.words[chosen].astype(np.int64)
            return TopPairs(words[first[best]], words[second[best]], counts[best])
        taken = min(2 * taken, len(order))


def top_cooccurring_literal(bags: Bags, vocabulary: Surfaces, size: int) -> list[tuple[int, int, int]]:
    """`top_cooccurring`, passage by passage and pair by pair: (first, second, passages)."""
    found: dict[tuple[int, int], int] = {}
    for row in bags.counts.toarray():
        words = [int(word) for word, count in zip(bags.words, row, strict=True) if count]
        for i, first in enumerate(words):
            for second in words[i + 1 :]:
                if vocabulary.surfaces[first] != vocabulary.surfaces[second]:
                    found[first, second] = found.get((first, second), 0) + 1
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [(first, second, count) for (first, second), count in ranked[:size]]


def pointwise_mutual_information(bags: Bags, words: np.ndarray) -> np.ndarray:
    """PMI of all pairs of words over passages (Church and Hanks, 1990).

    Args:
        bags: word counts of passages.
        words: [W] token ids in the dictionary.

    Returns:
        [W, W] float32: log(p(i, j) / (p(i) p(j))); -inf for pairs that never co-occur.
    """
    present = presence(bags)[:, np.searchsorted(bags.words, words)]
    together = (present.T @ present).toarray()
    frequency = np.diag(together)
    with np.errstate(divide="ignore"):
        return np.log(together * present.shape[0] / np.outer(frequency, frequency)).astype(np.float32)
