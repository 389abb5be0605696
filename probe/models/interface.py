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
from torch.nn.attention import SDPBackend
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

IMPLEMENTATION = "probe"


@dataclass(frozen=True)
class Call:
    """One attention layer's call of SDPA.

    Attributes:
        module: the attention layer.
        query: [batch, heads, queries, width].
        key: [batch, key heads, keys, width].
        mask: None, bool (True is attended to) or additive float, broadcastable to [batch, heads, queries, keys].
        scaling: factor of the scores; None for width ** -0.5.
        is_causal: no key after the query is seen.
        log_sums: [batch, heads, queries] logarithm of the sum of the exponentials of a query's scores; None where the
            device's SDPA does not tell.
    """

    module: torch.nn.Module
    query: torch.Tensor
    key: torch.Tensor
    mask: torch.Tensor | None
    scaling: float | None
    is_causal: bool
    log_sums: torch.Tensor | None

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
            [passages, heads, rows, rows] float32, on the layer's device.
        """
        queries, keys = queries.to(self.query.device), keys.to(self.query.device)
        query, key = at_queries(self.query[part], queries).float(), self.key[part]
        # The factor is cheaper on the queries than on the scores.
        query = query * (query.shape[-1] ** -0.5 if self.scaling is None else self.scaling)
        hidden = self._hidden(part, queries, key.shape[2])
        if self.log_sums is None:
            scores = _scores(query, key.float())
            if hidden is not None:
                scores += hidden
            return at_keys(torch.softmax(scores, dim=-1), keys)
        scores = _scores(query, at_queries(key, keys).float())
        scores -= at_queries(self.log_sums[part, :, :, None], queries)
        if hidden is not None:
            scores += at_keys(hidden, keys)
        return scores.exp_()

    def _hidden(self, part: slice, queries: torch.Tensor, keys: int) -> torch.Tensor | None:
        """What is added to the scores of some queries, [passages or 1, heads or 1, rows, all keys]."""
        if self.is_causal:
            return _minus_infinity_where((torch.arange(keys, device=queries.device) > queries[:, :, None])[:, None])
        if self.mask is None:
            return None
        mask = at_queries(self.mask if len(self.mask) == 1 else self.mask[part], queries)
        return _minus_infinity_where(~mask) if mask.dtype == torch.bool else mask.float()


def _scores(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Dot products; heads that share a key are put below one another."""
    passages, heads, rows, width = query.shape
    shared = query.reshape(passages, key.shape[1], -1, width)
    return torch.matmul(shared, key.transpose(2, 3)).view(passages, heads, rows, -1)


_hear: ContextVar[Callable[[Call], None] | None] = ContextVar("hear", default=None)


@contextmanager
def hearing_calls(hear: Callable[[Call], None]) -> Iterator[None]:
    """Hear every attention layer that runs in this block."""
    token = _hear.set(hear)
    try:
        yield
    finally:
        _hear.reset(token)


class _Hearing(TorchFunctionMode):
    """Hears the one call of SDPA that a layer makes, with the mask and bias that the library has made for it."""

    def __init__(self, module: torch.nn.Module, hear: Callable[[Call], None]):
        super().__init__()
        self._module = module
        self._hear = hear

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is not torch.nn.functional.scaled_dot_product_attention:
            return func(*args, **kwargs)
        query, key = args[:2]
        output, log_sums = _sdpa(*args, **kwargs)
        mask, scale, causal = (kwargs.get(name) for name in ("attn_mask", "scale", "is_causal"))
        self._hear(Call(self._module, query, key, mask, scale, bool(causal), log_sums))
        return output


def _sdpa(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **kwargs: Any
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """SDPA, with the log-sums of the scores where its implementation has them anyway."""
    flash = (
        query.device.type == "cpu"
        and not kwargs.get("enable_gqa")
        and torch._fused_sdp_choice(query, key, value, **kwargs) == SDPBackend.FLASH_ATTENTION.value
    )
    if not flash:
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, **kwargs), None
    mask = kwargs.get("attn_mask")
    if mask is not None and mask.dtype == torch.bool:
        mask = _minus_infinity_where(~mask).to(query.dtype)
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        query, key, value, 0.0, kwargs.get("is_causal", False), attn_mask=mask, scale=kwargs.get("scale")
    )


def _attention_forward(module: torch.nn.Module, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, None]:
    hear = _hear.get()
    if hear is None:
        return sdpa_attention_forward(module, *args, **kwargs)
    with _Hearing(module, hear):
        return sdpa_attention_forward(module, *args, **kwargs)


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
