"""Adapters of peft: the base model's weights with the adapter's merged into them."""

from __future__ import annotations

import json
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from probe.errors import ProbeError, refusing

if TYPE_CHECKING:
    from peft import PeftModel
    from torch import nn

ADAPTER_CONFIG = "adapter_config.json"
_INSIDE = "base_model.model."


def base_of(name: str, folder: Path) -> str:
    """The name of an adapter's base model.

    Args:
        name: of the adapter, as the user gave it.
        folder: holds its `adapter_config.json`.

    Raises:
        ProbeError: it names none, or peft is not installed.
    """
    with refusing(f"The {ADAPTER_CONFIG} of {name} cannot be read", "save the adapter again with save_pretrained"):
        base = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"]
    if not isinstance(base, str) or not base:
        raise ProbeError(f"The adapter {name} does not say which base model it is for: merge it, and name the result.")
    if find_spec("peft") is None:
        raise ProbeError(
            f"{name} is an adapter of the base model {base}, and adapters need peft: run "
            "pip install 'topic-probe[peft]', or name a merged model."
        )
    return base


def merge_adapter(module: nn.Module, name: str, folder: Path) -> nn.Module:
    """Merge an adapter into its base model.

    An adapter may have been trained on a model with a head, whose parts have one more name in front. What it says of
    heads is left out, since nothing here reads them.

    Args:
        module: the base model, without a head.
        name: of the adapter, as the user gave it.
        folder: of the adapter.

    Raises:
        ProbeError: the adapter cannot be read, is of a kind that has no place in weights, or is of another model.
    """
    from peft import PeftConfig, PeftModel
    from peft.utils import load_peft_weights, set_peft_model_state_dict
    from torch import nn

    failure = f"The adapter {name} cannot be merged into its base model"
    with warnings.catch_warnings(), refusing(failure, "use an intact adapter of that model"):
        warnings.simplefilter("ignore")
        config = PeftConfig.from_pretrained(str(folder))
        if config.is_prompt_learning:
            raise ProbeError(
                f"{name} is an adapter of the kind {config.peft_type.value}, which changes no weights: use a LoRA-like "
                "one, or name its base model."
            )
        weights = load_peft_weights(str(folder), device="cpu")
        outer = module
        prefix = module.base_model_prefix
        if any(key.startswith(f"{_INSIDE}{prefix}.") for key in weights) and not hasattr(module, prefix):
            outer = nn.Module()
            outer.config = module.config
            outer.add_module(prefix, module)
        names = {part for path, _ in outer.named_modules() for part in (path, path.rpartition(".")[2])}
        config.modules_to_save = [one for one in config.modules_to_save or () if one in names] or None
        weights = {key: one for key, one in weights.items() if _part(key) in names}
        adapted = PeftModel(outer, config)
        _check_complete(adapted, name, set(weights))
        set_peft_model_state_dict(adapted, weights)
        merged = adapted.merge_and_unload()
    return merged if outer is module else getattr(merged, prefix)


def _part(key: str) -> str:
    """The first part of the base model that a weight of an adapter belongs to."""
    return key.removeprefix(_INSIDE).partition(".")[0]


def _check_complete(adapted: PeftModel, name: str, given: set[str]) -> None:
    from peft.utils import get_peft_model_state_dict

    asked = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    # Matrices of the base model may be saved with an adapter, and then take their place.
    strange = given - asked - set(adapted.state_dict())
    if wrong := sorted(key for key in strange | (asked - given) if "pooler" not in key):
        raise ProbeError(
            f"The adapter {name} does not fit its base model ({len(wrong)} of its weights differ, the first is "
            f"{wrong[0]}): use the base model that it was trained on."
        )
