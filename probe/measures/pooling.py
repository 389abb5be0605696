"""Words of several tokens, pooled from what a model gives for tokens.

Attention to a word is the sum over its tokens, attention from a word the mean over them, as Clark et al. (2019, section
4.1) pool BERT's maps: what a token spreads over a passage still adds up to 1 a word. A word's vector is the mean of its
tokens'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from probe.measures.batches import Batch, Pieces


@dataclass(frozen=True)
class Pooling:
    """The tokens of a batch's words, and how they are pooled.

    Attributes:
        queries, keys: [batch, pieces] positions of the tokens' queries and keys.
        mean: [batch, words, pieces] float32; each row's weights add up to 1.
        total: [batch, pieces, words] float32; 1 where a token belongs to a word.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    mean: torch.Tensor
    total: torch.Tensor

    @classmethod
    def of(cls, batch: Batch, pieces: Pieces, query_shift: int, key_shift: int) -> Pooling:
        """The pooling of a batch whose tokens' queries and keys stand so far after their places in the passage."""
        words, length = batch.rows.shape[1], batch.input_ids.shape[1]
        belongs = pieces.of[:, :, None] == torch.arange(words, device=pieces.of.device)
        total = belongs.float()
        mean = (total / total.sum(1, keepdim=True).clamp(min=1)).transpose(1, 2)
        # What a shift moves beyond the passage belongs to words that are not known.
        queries, keys = ((pieces.rows + shift).clamp(max=length - 1) for shift in (query_shift, key_shift))
        return cls(queries, keys, mean, total)

    def weighing(self, weights: torch.Tensor) -> Pooling:
        """The same, with each query multiplied by a weight, [batch, pieces], before the mean."""
        return replace(self, mean=self.mean * weights[:, None])

    def chosen(self, words: torch.Tensor) -> Pooling:
        """The same for some words of each passage, [batch, chosen]."""
        mean = self.mean.gather(1, words[:, :, None].expand(-1, -1, self.mean.shape[2]))
        return replace(self, mean=mean, total=self.total.gather(2, words[:, None].expand(-1, self.total.shape[1], -1)))

    def vectors(self, hidden: torch.Tensor) -> torch.Tensor:
        """Mean vectors of words.

        Args:
            hidden: [batch, pieces, width] vectors of their tokens' queries.

        Returns:
            [batch, words, width].
        """
        return self.mean.to(hidden.dtype) @ hidden

    def attention(self, attention: torch.Tensor, part: slice) -> torch.Tensor:
        """Attention between words.

        Args:
            attention: [passages, heads, pieces, pieces] of their tokens.
            part: the passages of the batch that it is of.

        Returns:
            [passages, heads, words, words].
        """
        return self.mean[part, None] @ (attention @ self.total[part, None])


def pool_attention_literal(
    attention: np.ndarray, queries: Sequence[Sequence[int]], keys: Sequence[Sequence[int]]
) -> np.ndarray:
    """Attention between words, number by number, from the definition.

    Args:
        attention: [heads, L, L] of one passage.
        queries, keys: positions of the tokens of each word.

    Returns:
        [heads, words, words].
    """
    pooled = np.zeros((len(attention), len(queries), len(keys)))
    for head, rows in enumerate(attention):
        for one, its_queries in enumerate(queries):
            for other, its_keys in enumerate(keys):
                to_the_word = [sum(float(rows[i, j]) for j in its_keys) for i in its_queries]
                pooled[head, one, other] = sum(to_the_word) / len(to_the_word)
    return pooled
