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

    def between(self, part: slice, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Attention of some queries to some keys.

        Args:
            part: the passages of the batch that are asked for.
            queries, keys: [passages, rows] their positions.

        Returns:
            [passages, heads, rows, rows] float32.
        """
        attention = torch.softmax(self._scores(part, queries), dim=-1)
        return at_keys(attention, keys)

    def _scores(self, part: slice, queries: torch.Tensor) -> torch.Tensor:
        """[passages, heads, rows, all keys] float32."""
        query, key = at_queries(self.query[part], queries).float(), self.key[part].float()
        passages, heads, rows, width = query.shape
        # The factor is cheaper on the queries than on the scores. Heads that share a key are put below one another.
        query = query * (width**-0.5 if self.scaling is None else self.scaling)
        shared = query.reshape(passages, key.shape[1], -1, width)
        scores = torch.matmul(shared, key.transpose(2, 3)).view(passages, heads, rows, -1)
        if self.position_bias is not None:
            scores += at_queries(_part(self.position_bias, part), queries)
        if self.is_causal:
            ahead = torch.arange(key.shape[2], device=key.device) > queries[:, :, None]
            scores += _minus_infinity_where(ahead[:, None])
        elif self.mask is not None:
            mask = at_queries(_part(self.mask, part), queries)
            scores += _minus_infinity_where(~mask) if mask.dtype == torch.bool else mask
        return scores


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


def _part(full: torch.Tensor, part: slice) -> torch.Tensor:
    return full if full.shape[0] == 1 else full[part]


def _minus_infinity_where(hidden: torch.Tensor) -> torch.Tensor:
    # Adding this is several times as fast as filling the scores where a mask says so.
    return torch.where(hidden, -torch.inf, 0.0)


def at_queries(full: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    """The rows of some queries.

    Args:
        full: [passages or 1, heads or 1, all queries or 1, width].
        queries: [passages, rows] positions.

    Returns:
        [passages, heads or 1, rows or 1, width].
    """
    if full.shape[2] == 1:
        return full
    passages = (
        torch.zeros_like(queries) if full.shape[0] == 1 else torch.arange(len(queries), device=full.device)[:, None]
    )
    return full.transpose(1, 2)[passages, queries].transpose(1, 2)


def at_keys(rows: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    """The columns of some keys.

    Args:
        rows: [passages, heads, rows, all keys].
        keys: [passages, columns] positions.

    Returns:
        [passages, heads, rows, columns].
    """
    return rows.gather(3, keys[:, None, None, :].expand(-1, rows.shape[1], rows.shape[2], -1))


AttentionInterface.register(IMPLEMENTATION, _attention_forward)
# Without its mask function, a padded batch would be attended to in full.
AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
