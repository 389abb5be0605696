"""The attention implementation through which every model's queries and keys can be listened to.

It is registered with transformers' attention interface and computes the output with the library's own SDPA, so
a model that is listened to returns what it returns otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

IMPLEMENTATION = "probe"


class Listener(Protocol):
    """Receives every call of an attention layer before its output is computed."""

    def hear(
        self,
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        mask: torch.Tensor | None,
        scaling: float | None,
        is_causal: bool | None,
        position_bias: torch.Tensor | None,
    ) -> None:
        """Take note of one call.

        Args:
            module: the attention layer.
            query: [batch, heads, queries, width].
            key: [batch, key heads, keys, width].
            mask: None, bool (True is attended to) or additive float, broadcastable to [batch, heads, queries, keys].
            scaling: factor of the scores; None for width ** -0.5.
            is_causal: the caller's own word on causality; None leaves it to the module.
            position_bias: added to the scores (T5).
        """


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener hear every attention layer that runs in this block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


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
    listener = _listener.get()
    if listener is not None:
        listener.hear(module, query, key, attention_mask, scaling, is_causal, position_bias)
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


AttentionInterface.register(IMPLEMENTATION, _attention_forward)
# Without its mask function, a padded batch would be attended to in full.
AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
