"""Norms of the key, query and value matrices of every layer (paper, Figure 5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from probe.errors import ProbeError

if TYPE_CHECKING:
    import torch
    from torch import nn
    from transformers import PreTrainedModel

MATRICES = ("key", "query", "value")
# What the libraries' self-attention modules call the three, by the name of the query.
_SEPARATE = {
    "query": ("key", "query", "value"),
    "q_proj": ("k_proj", "q_proj", "v_proj"),
    "q_lin": ("k_lin", "q_lin", "v_lin"),
    "q": ("k", "q", "v"),
}


class MatrixNorm(NamedTuple):
    """The Frobenius norm of one matrix of one layer, counted from 0."""

    layer: int
    matrix: str
    norm: float


def attention_norms(model: PreTrainedModel) -> list[MatrixNorm]:
    """The Frobenius norms of W^K, W^Q and W^V, layer by layer.

    The layers are those whose attention is measured: the encoder's where there are two stacks. A layer that is run
    several times (ALBERT's) is one layer.

    Args:
        model: as `AutoModel` loads it.

    Raises:
        ProbeError: the matrices of an unknown architecture cannot be found.
    """
    stack = model.get_encoder() if model.config.is_encoder_decoder else model
    norms = [
        MatrixNorm(layer, matrix, float(weight.detach().float().norm()))
        for layer, weights in enumerate(_layers(stack, model.config.num_attention_heads))
        for matrix, weight in zip(MATRICES, weights, strict=True)
    ]
    if not norms:
        raise ProbeError(f"The key, query and value matrices of a {model.config.model_type} model cannot be found.")
    return norms


def _layers(stack: nn.Module, heads: int) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    for module in stack.modules():
        children = dict(module.named_children())
        for query, (key, _, value) in _SEPARATE.items():
            if {key, query, value} <= children.keys():
                yield children[key].weight, children[query].weight, children[value].weight
        if "c_attn" in children:  # GPT-2: [in, query | key | value]
            query_weight, key_weight, value_weight = children["c_attn"].weight.chunk(3, dim=1)
            yield key_weight, query_weight, value_weight
        if "query_key_value" in children:  # GPT-NeoX: [heads, query | key | value, width of a head, in]
            fused = children["query_key_value"].weight
            if fused.shape[0] == 3 * fused.shape[1]:
                parts = fused.reshape(heads, 3, -1, fused.shape[1])
                yield parts[:, 1], parts[:, 0], parts[:, 2]
