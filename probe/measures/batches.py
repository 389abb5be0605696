"""Padded batches of passages, with the positions of the words that carry topics."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
import torch

from probe.text.passages import Passages, SpecialTokens
from probe.text.tokens import Tokens


@dataclass(frozen=True)
class Batch:
    """What one forward pass reads.

    Attributes:
        input_ids, attention_mask: [batch, length] int64.
        rows: [batch, labelled] int64, positions of words that carry topics; 0 where there are fewer.
        words: [batch, labelled] int64, where those words stand among the labelled ones; -1 where there are fewer.
        lengths: [batch] int64, tokens of each passage, special tokens included.
        documents: [batch] int64, rank of each passage's document among the probed ones.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    rows: torch.Tensor
    words: torch.Tensor
    lengths: torch.Tensor
    documents: torch.Tensor


class BatchMaker:
    """Turns indices of passages into batches.

    Args:
        tokens: the corpus.
        passages: the probed passages.
        specials: around every passage.
        labelled: token ids that carry topics, ascending.
        vocabulary: number of token ids.
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
        tokens = Tokens(self.tokens.ids[chosen], self.tokens.is_word[chosen], offsets, self.passages.document)
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
            here = slice(self.passages.start[passage], self.passages.stop[passage])
            text = self.tokens.ids[here]
            end = before + len(text)
            ids[row, :before] = self.specials.before
            ids[row, before:end] = text
            ids[row, end : end + len(self.specials.after)] = self.specials.after
            places[row, before:end] = np.where(self.tokens.is_word[here], self._place[text], -1)
        lengths = self.lengths[chosen]
        counts = (places >= 0).sum(axis=1)
        # A stable sort moves the labelled positions to the front and keeps their order.
        rows = np.argsort(places < 0, axis=1, kind="stable")[:, : max(1, counts.max())]
        words = np.take_along_axis(places, rows, axis=1)
        rows[words < 0] = 0
        tensors = (
            ids,
            np.arange(length) < lengths[:, None],
            rows,
            words,
            lengths,
            self.document_rank[chosen],
        )
        return Batch(*(torch.from_numpy(np.asarray(t, dtype=np.int64)).to(self.device) for t in tensors))
