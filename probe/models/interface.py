"""The attention implementation through which every model's queries and keys can be listened to.

It is registered with transformers' attention interface and computes the output with the library's own SDPA, so
a model that is listened to returns what it returns otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

IMPLEMENTATION = "probe"


@dataclass(frozen=True)
class Call:
    """One call of an attention layer, heard before its output is computed.

    Attributes:
        module: the attention layer.
        query: [batch, heads, queries, width].
        key: [batch, key heads, keys, width].
        mask: None, bool (True is attended to) or additive float, broadcastable to [batch, heads, queries, keys].
        scaling: factor of the scores; None for width ** -0.5.
        is_causal: no key after the query is seen.
        position_bias: added to the scores (T5), broadcastable like the mask.
    """

    module: torch.nn.Module
    query: torch.Tensor
    key: torch.Tensor
    mask: torch.Tensor | None
    scaling: float | None
    is_causal: bool
    position_bias: torch.Tensor | None

    @property
    def heads(self) -> int:
        """Number of query heads."""
        return self.query.shape[1]

    def rows(self, rows: torch.Tensor) -> torch.Tensor:
        """Attention of some queries to all keys.

        Args:
            rows: [batch, rows] positions of the queries.

        Returns:
            [batch, heads, rows, keys] float32.
        """
        heads, width = self.query.shape[1], self.query.shape[3]
        asked = self.query.gather(2, rows[:, None, :, None].expand(-1, heads, -1, width))
        key = self.key
        if key.shape[1] != heads:
            key = key.repeat_interleave(heads // key.shape[1], dim=1)
        scores = torch.matmul(asked, key.transpose(2, 3)).float()
        scores *= width**-0.5 if self.scaling is None else self.scaling
        if self.position_bias is not None:
            scores += of_rows(self.position_bias, rows)
        if self.is_causal:
            ahead = torch.arange(key.shape[2], device=rows.device) > rows[:, :, None]
            scores.masked_fill_(ahead[:, None], -torch.inf)
        elif self.mask is not None and self.mask.dtype == torch.bool:
            scores.masked_fill_(~of_rows(self.mask, rows), -torch.inf)
        elif self.mask is not None:
            scores += of_rows(self.mask, rows)
        return torch.softmax(scores, dim=-1)


_hear: ContextVar[Callable[[Call], None] | None] = ContextVar("hear", default=None)


@contextmanager
def hearing_calls(hear: Callable[[Call], None]) -> Iterator[None]:
    """Hear every attention layer that runs in this block."""
    token = _hear.set(hear)
    try:
        yield
    finally:
        _hear.reset(token)


def _attention_forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    position_bias: torch.Tensor | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    hear = _hear.get()
    if hear is not None:
        # As in sdpa_attention_forward: a mask holds all there is to know; without one, the module's word counts.
        is_causal_here = getattr(module, "is_causal", True) if is_causal is None else is_causal
        causal = attention_mask is None and bool(is_causal_here) and query.shape[2] > 1
        hear(Call(module, query, key, attention_mask, scaling, causal, position_bias))
    return sdpa_attention_forward(
        module,
        query,
        key,
        value,
        attention_mask,
        dropout=dropout,
        scaling=scaling,
        is_causal=is_causal,
        position_bias=position_bias,
        **kwargs,
    )


def of_rows(full: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The rows of some queries in what is broadcastable to [batch, heads, queries, keys].

    Args:
        full: a mask, bias or map.
        rows: [batch, rows] positions of the queries.
    """
    if full.shape[2] == 1:
        return full
    if full.shape[0] == 1:
        full = full.expand(len(rows), -1, -1, -1)
    return full.gather(2, rows[:, None, :, None].expand(-1, full.shape[1], -1, full.shape[3]))


AttentionInterface.register(IMPLEMENTATION, _attention_forward)
# Without its mask function, a padded batch would be attended to in full.
AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
