"""Attention maps of models outside transformers' attention interface, one layer held at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from probe.models.interface import at_keys, at_queries


@dataclass(frozen=True)
class Map:
    """The attention map of one layer.

    Attributes:
        module: the attention layer.
        attention: [batch, heads, queries, keys].
    """

    module: torch.nn.Module
    attention: torch.Tensor

    @property
    def heads(self) -> int:
        """Number of heads."""
        return self.attention.shape[1]

    def between(self, part: slice, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Attention of some queries to some keys (see `probe.models.interface.Call.between`)."""
        queries, keys = queries.to(self.attention.device), keys.to(self.attention.device)
        return at_keys(at_queries(self.attention[part], queries).float(), keys)


@contextmanager
def hearing_maps(stack: torch.nn.Module, hear: Callable[[Map], None]) -> Iterator[None]:
    """Hear the map of every attention layer of a stack that runs in this block.

    A map is what an attention layer returns beside its output: the only tensor there with four axes of which the
    last two are as long as the passage. It is taken out of the layer's outputs, so the model does not collect it.
    """

    def take_map(module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        del args, kwargs
        if isinstance(output, tuple | list):
            for place, part in enumerate(output[1:], start=1):
                if isinstance(part, torch.Tensor) and part.dim() == 4 and part.shape[-1] == part.shape[-2]:
                    hear(Map(module, part))
                    return type(output)([*output[:place], None, *output[place + 1 :]])
        return output

    with ExitStack() as hooks:
        for module in stack.modules():
            hooks.enter_context(_removed(module.register_forward_hook(take_map, with_kwargs=True)))
        yield


@contextmanager
def _removed(handle: Any) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()
