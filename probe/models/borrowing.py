"""A model that belongs to somebody else is measured, and comes back as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from probe.errors import ProbeError
from probe.models.devices import SPREAD
from probe.models.loaded import input_device
from probe.models.sources import ModelSource

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@contextmanager
def borrowed(source: ModelSource) -> Iterator[None]:
    """Keep what a model given as an object is like, and put it back when the block ends.

    Kept are the mode, the hooks, the attributes and the buffers of every module, and the configs with the attention
    implementation. Weights, device and dtype are never changed in place (see `body_for`).

    Args:
        source: of any model; nothing is done for one that was not given as an object.
    """
    if source.given is None:
        yield
        return
    model = source.given.model
    held = [*model.modules(), *_configs(model)]
    kept = [(vars(one), dict(vars(one)), _inside(vars(one))) for one in held]
    try:
        yield
    finally:
        for attributes, before, contents in kept:
            attributes.clear()
            attributes.update(before)
            for name, content in contents.items():
                attributes[name].clear()
                attributes[name].update(content)


def _inside(attributes: dict[str, Any]) -> dict[str, dict[Any, Any]]:
    """The content of the dicts among some attributes: hooks, buffers, parameters, submodules."""
    return {name: dict(value) for name, value in attributes.items() if isinstance(value, dict)}


def _configs(model: PreTrainedModel) -> list[Any]:
    """Every config object of a model and its parts, once."""
    found: dict[int, Any] = {}

    def add(config: Any) -> None:
        if config is None or id(config) in found or not hasattr(config, "sub_configs"):
            return
        found[id(config)] = config
        for name in config.sub_configs:
            add(getattr(config, name, None))

    for module in model.modules():
        add(getattr(module, "config", None))
    return list(found.values())


def body_for(source: ModelSource, implementation: str, device: str, dtype: str) -> nn.Module:
    """The part of a model given as an object that AutoModel would load, ready to be examined.

    It is the object's own part where that lies on the device in the dtype, and a copy where it does not.

    Args:
        source: of a model given as an object, `borrowed`.
        implementation: of attention.
        device: a torch device, or "spread".
        dtype: a torch dtype by name.

    Raises:
        ProbeError: the model cannot be copied.
    """
    assert source.given is not None
    body = source.given.model.base_model
    if not _lies(body, device, getattr(torch, dtype)):
        try:
            body = _converted(copy.deepcopy(body), device, getattr(torch, dtype))
        except Exception as error:  # whatever the object holds that cannot be copied
            raise ProbeError(
                f"{source.name} cannot be copied to {device} in {dtype} ({type(error).__name__}): put it there before "
                "the run, or name its folder."
            ) from error
    for module in body.modules():
        # What was compiled in place would be called in the module's stead, and could not be listened to.
        module.__dict__["_compiled_call_impl"] = None
    for config in _configs(body):
        # As when a folder is loaded: what the model returns is ours to choose.
        config.output_attentions = config.output_hidden_states = False
        config.return_dict = True
    body.eval()
    body.set_attn_implementation(implementation)
    return body


def _lies(body: nn.Module, device: str, dtype: torch.dtype) -> bool:
    here = input_device(body)
    spread = len(set((getattr(body, "hf_device_map", None) or {}).values())) > 1
    asked = here if spread or device == SPREAD else torch.device(device)
    there = here.type == asked.type and asked.index in (None, here.index)
    return there and next(one.dtype for one in body.parameters() if one.is_floating_point()) == dtype


def _converted(body: nn.Module, device: str, dtype: torch.dtype) -> nn.Module:
    """On a device in a dtype; buffers that a checkpoint does not hold keep theirs, as when a folder is loaded."""
    stored = body.state_dict()
    for name, tensor in (*body.named_parameters(), *body.named_buffers()):
        if name in stored and tensor.is_floating_point():
            tensor.data = tensor.data.to(dtype)
    return body.to(device)
