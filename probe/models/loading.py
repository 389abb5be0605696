"""A model's config, tokenizer and weights, read with transformers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.models.devices import SPREAD
from probe.models.families import ATTENTIONS, Attention, Family, Weights, family_of
from probe.models.sources import ModelSource

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig, PreTrainedTokenizerFast

    from probe.models.loaded import LoadedModel


def _quiet_transformers() -> None:
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def _origin(source: ModelSource) -> dict[str, Any]:
    # Code that comes with a model is never run; without the argument, transformers would ask on the terminal.
    return {"revision": source.revision or "main", "trust_remote_code": False}


def load_config(source: ModelSource) -> PreTrainedConfig:
    """Load a model's configuration.

    Raises:
        ProbeError: it cannot be read, or names an architecture that transformers does not have.
    """
    from transformers import AutoConfig

    _quiet_transformers()
    if source.given:
        return copy.deepcopy(source.given.model.config)
    try:
        return AutoConfig.from_pretrained(source.location, **_origin(source))
    except (OSError, ValueError, KeyError) as error:
        raise ProbeError(
            f"The config of {source.name} cannot be read ({_first_line(error)}): use a model that this version of "
            "transformers knows."
        ) from error


def load_tokenizer(source: ModelSource) -> PreTrainedTokenizerFast:
    """Load a model's fast tokenizer.

    Raises:
        ProbeError: there is none.
    """
    from transformers import AutoTokenizer

    if source.given:
        return source.given.tokenizer
    _quiet_transformers()
    try:
        tokenizer = AutoTokenizer.from_pretrained(source.location, **_origin(source))
    except Exception as error:  # the tokenizers library raises bare exceptions for files it cannot parse
        raise ProbeError(
            f"The tokenizer of {source.name} cannot be loaded ({_first_line(error)}): a tokenizer.json is needed "
            "beside the weights."
        ) from error
    if not getattr(tokenizer, "is_fast", False):
        raise ProbeError(
            f"{source.name} has a slow tokenizer ({type(tokenizer).__name__}), which cannot tell which tokens spell "
            "one word: use a model with a fast tokenizer (a tokenizer.json)."
        )
    return tokenizer


def load_model(
    source: ModelSource,
    weights: Weights = "pretrained",
    *,
    attention: Attention = "encoder",
    device: str = "cpu",
    dtype: str = "float32",
    random_state: int = 0,
) -> LoadedModel:
    """Load a model, or make one of the same architecture with random weights.

    Args:
        source: from `find_model`, or of an object, which is then used as it is and must be `borrowed`.
        weights: "pretrained", or "random" for the baseline made with `from_config`.
        attention: of an encoder-decoder: the encoder's or the decoder's self-attention, or the decoder's attention to
            the encoder. Other models have one kind, which "encoder" means, too.
        device: a torch device, or "spread": all GPUs, and main memory where they do not suffice.
        dtype: a torch dtype by name.
        random_state: seed of the random weights.

    Raises:
        ProbeError: the weights cannot be read or do not fill the architecture, or what is heard of the model's
            attention is not what the model itself reports.
    """
    import torch

    from probe.models.examination import examined
    from probe.models.interface import IMPLEMENTATION

    config = load_config(source)
    family = family_of(config)
    check_attention(source.name, family, attention)
    implementation = IMPLEMENTATION if family.interface else "eager"
    if weights == "random":
        module = _random(source, config, family, implementation, device, dtype, random_state)
    elif source.given:
        from probe.models.borrowing import body_for

        module = body_for(source, implementation, device, dtype)
    else:
        module = _from_files(source, implementation, device, dtype)
    # What is spread to disk holds nothing here.
    if not all(bool(torch.isfinite(one).all()) for one in module.parameters() if one.device.type != "meta"):
        raise ProbeError(f"The weights of {source.name} hold NaN or infinite numbers: use an intact checkpoint.")
    try:
        return examined(source.name, weights, module, family, attention)
    except (ProbeError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if source.given is None:
            raise
        # A class of somebody's own may call itself one of a known family.
        raise ProbeError(
            f"{source.name} is no {family.name} model as transformers has them, and fails on a short passage "
            f"({type(error).__name__}: {_first_line(error)}): give one made with AutoModel."
        ) from error


def _random(
    source: ModelSource,
    config: PreTrainedConfig,
    family: Family,
    implementation: str,
    device: str,
    dtype: str,
    random_state: int,
) -> nn.Module:
    import torch
    from transformers import AutoModel

    # Drawn in float32 on the CPU whatever the device and dtype, so that one seed means one model.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        module = _built(
            lambda: AutoModel.from_config(
                config, dtype=torch.float32, trust_remote_code=False, attn_implementation=implementation
            ),
            f"A {family.name} model cannot be made from the config of {source.name}",
        )
    module = module.to(getattr(torch, dtype))
    return (_spread(module) if device == SPREAD else module.to(device)).eval()


def _from_files(source: ModelSource, implementation: str, device: str, dtype: str) -> nn.Module:
    import torch
    from transformers import AutoModel

    module, info = _built(
        lambda: AutoModel.from_pretrained(
            source.location,
            **_origin(source),
            dtype=getattr(torch, dtype),
            output_loading_info=True,
            device_map="auto" if device == SPREAD else None,
            attn_implementation=implementation,
        ),
        f"The weights of {source.name} cannot be loaded",
    )
    missing = sorted(key for key in info["missing_keys"] if "pooler" not in key)
    if missing:
        raise ProbeError(
            f"The weights of {source.name} do not fill its architecture ({len(missing)} are missing, the first "
            f"is {missing[0]}): use a complete checkpoint."
        )
    return (module if device == SPREAD else module.to(device)).eval()


def _spread(module: Any) -> Any:
    from accelerate import dispatch_model, infer_auto_device_map

    blocks = list(getattr(module, "_no_split_modules", None) or ())
    return dispatch_model(module, infer_auto_device_map(module, no_split_module_classes=blocks), force_hooks=True)


def check_attention(name: str, family: Family, attention: str) -> None:
    """Refuse a kind of attention that a family does not have.

    Raises:
        ProbeError: it does not have it.
    """
    if attention not in ATTENTIONS:
        raise ProbeError(f"--attention {attention} is not known: use one of {', '.join(ATTENTIONS)}.")
    if attention != "encoder" and attention not in family.attentions:
        raise ProbeError(f"--attention {attention} is not available for {name}, a {family.name} model: leave it out.")


def _built(build: Callable[[], Any], failure: str) -> Any:
    try:
        return build()
    except Exception as error:  # safetensors, torch and transformers raise unrelated types for bad files
        raise ProbeError(f"{failure} ({_first_line(error)}): use an intact checkpoint.") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
