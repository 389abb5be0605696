"""A model is examined on two short passages before it is measured: what is heard must equal its own eager maps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import nn

from probe.errors import ProbeError
from probe.models.eager import Map
from probe.models.families import Attention, Family, Weights
from probe.models.interface import IMPLEMENTATION, Call
from probe.models.loaded import LoadedModel, Stack, find_stack, forward, input_device

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_LENGTHS = (7, 4)
# Of attention, which lies between 0 and 1; half precision rounds the scores before the softmax.
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
_COARSE = 0.1


@torch.inference_mode()
def examined(name: str, weights: Weights, module: nn.Module, family: Family, attention: Attention) -> LoadedModel:
    """Make a model ready, once what is heard of it equals the maps it gives itself.

    Args:
        name: as the user gave it.
        weights: "pretrained" or "random".
        module: the transformers model, on its device.
        family: of its architecture.
        attention: what is measured.

    Raises:
        ProbeError: the model gives no maps, or what is heard differs from them.
    """
    stack = find_stack(module, family, attention)
    device = input_device(module)
    ids = _token_ids(module.config, max(_LENGTHS)).to(device).expand(len(_LENGTHS), -1)
    mask = (torch.arange(max(_LENGTHS), device=device) < torch.tensor(_LENGTHS, device=device)[:, None]).long()
    maps = _own_maps(module, family, stack, attention, ids, mask)
    shapes = {tuple(one.shape) for one in maps}
    if len(shapes) != 1 or {shape[2:] for shape in shapes} != {(max(_LENGTHS), max(_LENGTHS))}:
        raise ProbeError(
            f"{name} gives no attention maps of one shape a layer: a {family.name} model cannot be measured."
        )
    if not all(bool(one[0].isfinite().all()) for one in maps):
        raise ProbeError(f"The attention of {name} on a short passage is no number: use an intact model.")
    layers, heads = len(maps), maps[0].shape[1]
    model = LoadedModel(name, weights, module, family, stack, layers, heads, 0, _is_causal(name, maps))
    places = torch.arange(max(_LENGTHS), device=device).expand(len(_LENGTHS), -1)
    heard: list[torch.Tensor] = []
    embedded: list[tuple[int, ...]] = []

    def on_attention(layer: int, call: Call | Map) -> None:
        del layer
        heard.append(call.between(slice(None), places, places))

    model.listen(ids, mask, on_attention, lambda hidden: embedded.append(tuple(hidden.shape)))
    tolerance = _TOLERANCE.get(next(module.parameters()).dtype, _COARSE)
    for number, (own, here) in enumerate(zip(maps, heard, strict=True)):
        if own.shape != here.shape or not _alike(own.float(), here.to(own.device), tolerance):
            raise ProbeError(
                f"What is heard of layer {number} of {name} differs from the attention that the model reports: a "
                f"{family.name} model cannot be measured with this version of transformers."
            )
    if [shape[:-1] for shape in embedded] != [tuple(ids.shape)]:
        raise ProbeError(f"The embedding layer of {name} cannot be found: a {family.name} model cannot be measured.")
    return replace(model, width=embedded[0][-1])


def _token_ids(config: PreTrainedConfig, size: int) -> torch.Tensor:
    """[1, size] ids that stand for nothing but text, where the vocabulary is large enough."""
    given = [getattr(config, f"{kind}_token_id", None) for kind in ("pad", "bos", "eos", "decoder_start")]
    # There may be several of a kind (Llama 3 ends a text in three ways).
    special = {token for one in given for token in (one if isinstance(one, list) else [one])}
    ids = [index for index in range(size + len(special)) if index not in special]
    return torch.tensor(ids[:size])[None]


def _own_maps(
    module: nn.Module, family: Family, stack: Stack, attention: Attention, ids: torch.Tensor, mask: torch.Tensor
) -> list[torch.Tensor]:
    if family.interface:
        module.set_attn_implementation("eager")
    try:
        output = forward(stack, ids, mask, output_attentions=True)
    finally:
        if family.interface:
            module.set_attn_implementation(IMPLEMENTATION)
    if stack.decoder_input is None:
        found = output.get("attentions")
    else:
        found = output.get("cross_attentions" if attention == "cross" else "decoder_attentions")
    return [one for one in found or () if isinstance(one, torch.Tensor) and one.dim() == 4]


def _is_causal(name: str, maps: list[torch.Tensor]) -> bool:
    """Whether no query of the first passage, which is not padded, sees a key after it.

    Raises:
        ProbeError: some layers are causal and some are not.
    """
    causal = {not bool(torch.triu(one[0], diagonal=1).any()) for one in maps}
    if len(causal) == 2:
        raise ProbeError(f"Some layers of {name} are causal and some are not: its attention cannot be averaged.")
    return causal.pop()


def _alike(own: torch.Tensor, heard: torch.Tensor, tolerance: float) -> bool:
    return all(
        torch.allclose(own[passage, :, :length], heard[passage, :, :length], rtol=0, atol=tolerance)
        for passage, length in enumerate(_LENGTHS)
    )
