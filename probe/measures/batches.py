"""Padded batches of passages, with the positions of the words that carry topics."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import torch

from probe.text.passages import Passages, SpecialTokens
from probe.text.tokens import Tokens
from probe.text.vocabulary import CONTINUES


@dataclass(frozen=True)
class Pieces:
    """The tokens of a batch's words.

    Attributes:
        rows: [batch, pieces] int64, their positions; 0 where there are fewer.
        of: [batch, pieces] int64, which of `Batch.rows` each belongs to; -1 where there are fewer.
    """

    rows: torch.Tensor
    of: torch.Tensor


@dataclass(frozen=True)
class Batch:
    """What one forward pass reads.

    Attributes:
        input_ids, attention_mask: [batch, length] int64.
        rows: [batch, labelled] int64, positions of words that carry topics (of their first tokens); 0 where there are
            fewer.
        words: [batch, labelled] int64, where those words stand among the labelled ones; -1 where there are fewer.
        lengths: [batch] int64, tokens of each passage, special tokens included.
        documents: [batch] int64, rank of each passage's document among the probed ones.
        pieces: None where every word is one token.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    rows: torch.Tensor
    words: torch.Tensor
    lengths: torch.Tensor
    documents: torch.Tensor
    pieces: Pieces | None = None


class BatchMaker:
    """Turns indices of passages into batches.

    Args:
        tokens: the corpus.
        passages: the probed passages.
        specials: around every passage.
        labelled: numbers of the words that carry topics, ascending.
        vocabulary: how many words there are (token ids, where every word is one token).
        device: where the batches go.
    """

    def __init__(
        self,
        tokens: Tokens,
        passages: Passages,
        specials: SpecialTokens,
        labelled: np.ndarray,
        vocabulary: int,
        device: str | torch.device = "cpu",
    ):
        self.tokens = tokens
        self.passages = passages
        self.specials = specials
        self.device = device
        self.lengths = passages.stop - passages.start + len(specials)
        self.probed_documents, self.document_rank = np.unique(passages.document, return_inverse=True)
        self._place = np.full(vocabulary, -1, dtype=np.int64)
        self._place[labelled] = np.arange(len(labelled))

    def alone(self) -> BatchMaker:
        """The same, with a copy of the probed tokens in the place of the corpus."""
        lengths = self.passages.stop - self.passages.start
        chosen = np.repeat(self.passages.start - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        numbers = None
        if self.tokens.numbers is not None:
            parts = zip(self.passages.start, self.passages.stop, strict=True)
            numbers = np.concatenate([self.tokens.complete_words(start, stop) for start, stop in parts])
        is_word = self.tokens.is_word[chosen] if numbers is None else numbers >= 0
        tokens = Tokens(self.tokens.ids[chosen], is_word, offsets, self.passages.document, numbers)
        copied = copy(self)
        copied.tokens, copied.passages = tokens, Passages(offsets[:-1], offsets[1:], self.passages.document)
        return copied

    def on(self, device: str | torch.device) -> BatchMaker:
        """The same, with batches on a device."""
        moved = copy(self)
        moved.device = device
        return moved

    def __call__(self, chosen: np.ndarray) -> Batch:
        """Make the batch of some passages."""
        size, length = len(chosen), int(self.lengths[chosen].max())
        before = len(self.specials.before)
        ids = np.full((size, length), self.specials.padding, dtype=np.int64)
        places = np.full((size, length), -1, dtype=np.int64)
        for row, passage in enumerate(chosen):
            start, stop = self.passages.start[passage], self.passages.stop[passage]
            text, words = self.tokens.ids[start:stop], self.tokens.complete_words(start, stop)
            end = before + len(text)
            ids[row, :before] = self.specials.before
            ids[row, before:end] = text
            ids[row, end : end + len(self.specials.after)] = self.specials.after
            places[row, before:end] = np.where(words >= 0, self._place[words], words)
        lengths = self.lengths[chosen]
        rows = _at_the_front(places >= 0)
        words = np.take_along_axis(places, rows, axis=1)
        absent = words < 0
        rows[absent], words[absent] = 0, -1
        tensors = (
            ids,
            np.arange(length) < lengths[:, None],
            rows,
            words,
            lengths,
            self.document_rank[chosen],
        )
        return replace(Batch(*map(self._tensor, tensors)), pieces=self._pieces(places))

    def _pieces(self, places: np.ndarray) -> Pieces | None:
        """The tokens of the words of a batch.

        Args:
            places: [batch, length] what stands at each token: a labelled word, another (-1), or CONTINUES.
        """
        begins = places >= 0
        before = np.maximum.accumulate(np.where(places != CONTINUES, np.arange(places.shape[1]), 0), axis=1)
        labelled = np.take_along_axis(begins, before, axis=1)
        if (labelled == begins).all():
            return None
        rows = _at_the_front(labelled)
        of = np.take_along_axis(np.where(labelled, begins.cumsum(axis=1) - 1, -1), rows, axis=1)
        rows[of < 0] = 0
        return Pieces(self._tensor(rows), self._tensor(of))

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.asarray(array, dtype=np.int64)).to(self.device)


def _at_the_front(chosen: np.ndarray) -> np.ndarray:
    """[batch, most chosen] positions of the chosen of each row, then others; at least one column."""
    # A stable sort keeps the order.
    return np.argsort(~chosen, axis=1, kind="stable")[:, : max(1, chosen.sum(axis=1).max())]
