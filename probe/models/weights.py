"""A model's weights, read from files or drawn at random; what cannot be read is refused in one sentence."""

from __future__ import annotations

import os
import pickle
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError, is_failure, refusing
from probe.models.devices import SPREAD
from probe.models.families import Family
from probe.models.interface import IMPLEMENTATION
from probe.models.sources import ModelSource

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig

_INTACT = "use an intact checkpoint"


def draw_module(
    source: ModelSource, config: PreTrainedConfig, family: Family, *, dtype: str, device: str, random_state: int
) -> nn.Module:
    """Make a model of an architecture with random weights.

    Args:
        source: of the architecture.
        config: of the architecture.
        family: of the architecture.
        dtype: of the weights, by name.
        device: a torch device, or "spread".
        random_state: seed of the weights.

    Raises:
        ProbeError: the config describes no model, or one that does not fit into the memory.
    """
    import torch
    from transformers import AutoModel

    _check_size(source, config)
    # Drawn in float32 on the CPU whatever the device and dtype, so that one seed means one model.
    with (
        torch.random.fork_rng(devices=[]),
        refusing(f"A {family.name} model cannot be made from the config of {source.name}", "use an intact config"),
    ):
        torch.manual_seed(random_state)
        module = AutoModel.from_config(
            config, dtype=torch.float32, trust_remote_code=False, attn_implementation=implementation(family)
        )
        module = module.to(getattr(torch, dtype))
    return _placed(module, source, device)


def read_module(
    source: ModelSource, config: PreTrainedConfig, family: Family, *, dtype: str, device: str
) -> tuple[nn.Module, list[str]]:
    """Read a model's weights; those of an adapter are merged into its base model's.

    Args:
        source: from `find_model`.
        config: of the model.
        family: of its architecture.
        dtype: of the weights, by name.
        device: a torch device, or "spread".

    Returns:
        The model, and the names of weights that its architecture has no place for.

    Raises:
        ProbeError: the weights cannot be read, do not fit the config, or do not fill the architecture.
    """
    import torch
    from transformers import AutoModel

    if device == "cpu":
        _check_size(source, config)
    base = source.base or source
    with _reading(source):
        module, info = AutoModel.from_pretrained(
            base.location,
            config=config,
            **base.pinned,
            dtype=getattr(torch, dtype),
            output_loading_info=True,
            # What does not fit is named below.
            ignore_mismatched_sizes=True,
            device_map="auto" if device == SPREAD and not source.base else None,
            attn_implementation=implementation(family),
        )
    _check_filled(source, config, info)
    if source.base:
        from probe.models.adapters import merge_adapter

        module = merge_adapter(module, source.name, Path(source.location))
    if device != SPREAD or source.base:
        module = _placed(module, source, device)
    return module, sorted(info["unexpected_keys"])


def implementation(family: Family) -> str:
    """What transformers calls the attention that a family is run with."""
    return IMPLEMENTATION if family.interface else "eager"


@contextmanager
def _reading(source: ModelSource) -> Iterator[None]:
    """Turn what safetensors, torch and transformers raise for bad files into a refusal."""
    failure = f"The weights of {source.name}"
    try:
        with warnings.catch_warnings(), refusing(f"{failure} cannot be loaded", _INTACT):
            warnings.simplefilter("ignore")  # what is wrong is said once, in the refusal
            yield
    except ProbeError as error:
        # torch's sentence would advise to run what was refused.
        refused = error.__cause__
        if refused is None or not _is_refused_pickle(refused):
            raise
        if _holds_code(str(refused)):
            raise ProbeError(
                f"{failure} hold code (a pickle of more than tensors), which is never run, so they are not opened: "
                "use safetensors, or a .bin of a plain state dict."
            ) from refused
        raise ProbeError(f"{failure} cannot be loaded (they are no file of tensors): {_INTACT}.") from refused


def _is_refused_pickle(error: BaseException) -> bool:
    return isinstance(error, pickle.UnpicklingError) or "weights_only" in str(error)


def _holds_code(message: str) -> bool:
    """Whether torch has met something to call, or operations of a newer pickle than it writes itself."""
    operand = re.search(r"Unsupported operand (\d+)", message)
    return int(operand[1]) >= 0x80 if operand else "GLOBAL" in message or "allowlisted" in message


def _check_filled(source: ModelSource, config: PreTrainedConfig, info: dict[str, Any]) -> None:
    """Refuse weights that do not fit the config, or leave a part of the architecture without weights."""
    if mismatched := sorted(info["mismatched_keys"]):
        key, found, asked = mismatched[0][:3]
        pruned = getattr(config, "pruned_heads", None)
        why = "heads were pruned from it, which transformers no longer reads" if pruned else "they are of another model"
        raise ProbeError(
            f"The weights of {source.name} do not fit its config ({len(mismatched)} differ in shape, the first is "
            f"{key}, {list(found)} in the file and {list(asked)} by the config): {why}, so use a checkpoint that fits."
        )
    missing = sorted(key for key in info["missing_keys"] if "pooler" not in key)
    if missing:
        raise ProbeError(
            f"The weights of {source.name} do not fill its architecture ({len(missing)} are missing, the first "
            f"is {missing[0]}): use a complete checkpoint."
        )


def check_finite(name: str, module: nn.Module) -> None:
    """Refuse weights that are no numbers.

    Raises:
        ProbeError: they hold some.
    """
    import torch

    # What is spread to disk holds nothing here.
    if not all(bool(torch.isfinite(one).all()) for one in module.parameters() if one.device.type != "meta"):
        raise ProbeError(f"The weights of {name} hold NaN or infinite numbers: {_INTACT}.")


def _check_size(source: ModelSource, config: PreTrainedConfig) -> None:
    """Refuse a model that is larger than the machine's memory, before the system ends the process for it."""
    import torch
    from transformers import AutoModel

    try:
        with torch.device("meta"):
            outline = AutoModel.from_config(config, trust_remote_code=False)
        size = sum(one.numel() * one.element_size() for one in outline.parameters())
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except BaseException as error:
        # A config that describes no model, or no outline of it, is refused where it is made in earnest.
        if not is_failure(error):
            raise
        return
    if size > memory:
        raise ProbeError(
            f"{source.name} needs {size / 1e9:,.0f} GB by its config, and this machine has {memory / 1e9:,.0f} GB: use "
            "a smaller model, or --device spread."
        )


def _placed(module: Any, source: ModelSource, device: str) -> nn.Module:
    with refusing(f"{source.name} cannot be put on {device}", "use --device cpu, --device spread or a smaller model"):
        if device != SPREAD:
            return module.to(device)
        from accelerate import dispatch_model, infer_auto_device_map

        blocks = list(getattr(module, "_no_split_modules", None) or ())
        return dispatch_model(module, infer_auto_device_map(module, no_split_module_classes=blocks), force_hooks=True)
