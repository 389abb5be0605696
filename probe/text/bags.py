"""Bags of words: what the topic model reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from probe.errors import ProbeError
from probe.text.tokens import Tokens
from probe.text.words import MIN_COUNT

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_BLOCK_TOKENS = 1 << 22


@dataclass(frozen=True)
class Bags:
    """Word counts of each text that the topic model reads.

    Attributes:
        counts: [texts, n] int32 CSR matrix; texts without a word are left out.
        words: [n] int32, the number of each dictionary word (its token id, but see `Tokens.numbers`), ascending. n is
            the `vocabulary` of the tables.
    """

    counts: csr_matrix
    words: np.ndarray


def bags_of_words(tokens: Tokens, boundaries: np.ndarray) -> Bags:
    """Count the words of consecutive texts.

    Args:
        tokens: the corpus.
        boundaries: [texts + 1] int64, ascending; text i holds tokens boundaries[i] to boundaries[i + 1]
            (`tokens.offsets` for documents).

    Raises:
        ProbeError: the corpus holds no word at all.
    """
    from scipy.sparse import csr_matrix, vstack

    starts = range(0, len(tokens.ids), _BLOCK_TOKENS)
    size = max(1, 1 + int(max(tokens.words(at, at + _BLOCK_TOKENS).max() for at in starts)))
    blocks = []
    first = 0
    while first < len(boundaries) - 1:
        limit = boundaries[first] + _BLOCK_TOKENS
        last = max(first + 1, int(np.searchsorted(boundaries, limit, side="right")) - 1)
        begin, end = boundaries[first], boundaries[last]
        here = np.flatnonzero(tokens.is_word[begin:end])
        row = np.searchsorted(boundaries[first : last + 1], here + begin, side="right") - 1
        ones = np.ones(len(here), dtype=np.int32)
        shape = (last - first, size)
        blocks.append(csr_matrix((ones, (row, tokens.words(begin, end)[here])), shape=shape))
        first = last
    counts = vstack(blocks, format="csr")
    words = np.flatnonzero(counts.getnnz(axis=0))
    if not len(words):
        every = "tokens are stop words, numbers or parts of words"
        if tokens.numbers is not None:
            every = f"words are stop words, numbers, or occur fewer than {MIN_COUNT} times"
        raise ProbeError(
            f"The corpus holds no word that could carry a topic (all {every}): use more text, or a tokenizer of its "
            "language."
        )
    counts = counts[:, words]
    counts = counts[np.flatnonzero(counts.getnnz(axis=1))]
    counts.sort_indices()
    return Bags(counts, words.astype(np.int32))
