"""Models given as objects: recognized, unwrapped, named, and known by their weights."""

from __future__ import annotations

import copy
import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.models.sources import GROUPS, OBJECT, GivenModel, ModelSource

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_TOKENIZER = "probe.run(model=model, tokenizer=tokenizer)"
# What decides the output of a peft layer besides its weights.
_ADAPTER_STATE = ("active_adapters", "disable_adapters", "merged_adapters", "scaling")
# Hooks and forwards that these put on a model do not change what it computes.
_KNOWN_CHANGES = ("accelerate", "peft", "torch", "transformers")


def take_models(model: Any, tokenizer: Any = None) -> tuple[tuple[str, ...], dict[str, ModelSource]]:
    """The models of a run, by name.

    Args:
        model: a name, a `Path`, a transformers model, a pair (model, tokenizer), a dict {name: (model, tokenizer)}, or
            a list of any of them.
        tokenizer: of the models that are given without one.

    Returns:
        All names in order, and where the models come from that were given as objects. An object without a name is
        called by its class and the start of its fingerprint.

    Raises:
        ProbeError: an object is no model or tokenizer that can be measured.
    """
    names: list[str] = []
    sources: dict[str, ModelSource] = {}
    used = False
    for name, one, own in _each(model, tokenizer):
        if isinstance(one, str):
            names.append(one)
            continue
        used = used or own is tokenizer
        source = _source(name, one, own)
        names.append(source.name)
        sources.setdefault(source.name, source)
    if tokenizer is not None and not used:
        raise ProbeError(
            "tokenizer= goes with a model that is given as an object: a model that is named brings its own, so leave "
            "it out."
        )
    return tuple(names), sources


def _each(model: Any, tokenizer: Any) -> Iterator[tuple[str | None, Any, Any]]:
    """Name (None where there is none), model (text for a name or folder), tokenizer."""
    if isinstance(model, str):
        yield None, model, None
    elif isinstance(model, Path):
        # "minilm" is a name, and ./minilm a folder.
        text = str(model)
        yield None, text if model.is_absolute() or text.startswith((".", "~")) else f"./{text}", None
    elif isinstance(model, Mapping):
        for name, value in model.items():
            yield _checked_name(name), *(value if _is_pair(value) else (value, tokenizer))
    elif _is_pair(model):
        yield None, *model
    elif isinstance(model, list | tuple):
        for one in model:
            yield from _each(one, tokenizer)
    else:
        yield None, model, tokenizer


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and hasattr(value[1], "convert_ids_to_tokens")


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ProbeError(f"A model cannot be called {name!r}: give its name as text.")
    if name in GROUPS or name.startswith(OBJECT):
        raise ProbeError(f"A model cannot be called {name}, which means something else: give it another name.")
    return name


def _source(name: str | None, model: Any, tokenizer: Any) -> ModelSource:
    what = name or type(model).__name__
    whole = _unwrapped(model, what)
    fast = _checked_tokenizer(tokenizer, what)
    given = GivenModel(whole, fast, secrets.token_hex(8) if _has_own_hooks(whole) else "")
    fingerprint = model_fingerprint(whole, what)
    return ModelSource(name or f"{type(whole).__name__}-{fingerprint[:8]}", "", None, fingerprint, given)


def _unwrapped(model: Any, what: str) -> PreTrainedModel:
    """The transformers model inside what torch.compile, DataParallel or peft made of it."""
    import torch
    from transformers import PreTrainedModel

    while not isinstance(model, PreTrainedModel):
        if isinstance(model, torch.nn.DataParallel | torch.nn.parallel.DistributedDataParallel):
            model = model.module
        elif isinstance(model, torch.nn.Module) and "_orig_mod" in model._modules:
            model = model._orig_mod
        elif any(kind.__module__.partition(".")[0] == "peft" for kind in type(model).__mro__):
            if getattr(model.active_peft_config, "is_prompt_learning", False):
                raise ProbeError(
                    f"{what} is a peft model that puts learned prompts before the text, which a model of its weights "
                    "alone has not: give its base model (model.get_base_model())."
                )
            model = model.get_base_model()
        else:
            kind = type(model)
            raise ProbeError(
                f"{what} is of the class {kind.__module__.partition('.')[0]}.{kind.__name__}, no PyTorch model of "
                "transformers: give one made with AutoModel.from_pretrained, or name its folder."
            )
    embeddings = model.get_input_embeddings()
    if any(kind.__module__.partition(".")[0] == "peft" for kind in type(embeddings).__mro__):
        raise ProbeError(
            f"The embedding matrix of {what} is adapted by peft, so its rows are not what the model reads: give "
            "model.merge_and_unload()."
        )
    return model


def _checked_tokenizer(tokenizer: Any, what: str) -> PreTrainedTokenizerFast:
    """A copy of a fast tokenizer, so that the user's own stays as it was."""
    if tokenizer is None:
        raise ProbeError(f"{what} is given without its tokenizer: give both, {_TOKENIZER}.")
    kind = type(tokenizer)
    if kind.__module__.partition(".")[0] == "tokenizers":
        raise ProbeError(
            f"The tokenizer of {what} is of the library tokenizers: wrap it, "
            "transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)."
        )
    if not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise ProbeError(f"The tokenizer of {what} is of the class {kind.__name__}, no tokenizer: {_TOKENIZER}.")
    if not getattr(tokenizer, "is_fast", False):
        raise ProbeError(
            f"{what} has a slow tokenizer ({kind.__name__}), which cannot tell which tokens spell one word: give a "
            "fast one, made with AutoTokenizer.from_pretrained."
        )
    own = copy.deepcopy(tokenizer)
    # Left from earlier calls; texts are cut and padded here.
    own.backend_tokenizer.no_truncation()
    own.backend_tokenizer.no_padding()
    return own


def _has_own_hooks(model: PreTrainedModel) -> bool:
    """Whether somebody's hooks or functions take part in what the model computes, which its weights do not tell."""
    for module in model.modules():
        changes = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
        changes += [module.__dict__["forward"]] if "forward" in module.__dict__ else []
        for change in changes:
            function = getattr(change, "func", change)
            if (getattr(function, "__module__", None) or "").partition(".")[0] not in _KNOWN_CHANGES:
                return True
    return False


def model_fingerprint(model: PreTrainedModel, what: str) -> str:
    """Hash of a model's class, config, weights and buffers.

    Args:
        model: a transformers model.
        what: how it is called in messages.

    Raises:
        ProbeError: some of its weights are not in memory.
    """
    config = {
        key: value
        for key, value in model.config.to_dict().items()
        if key not in ("_name_or_path", "dtype", "torch_dtype")
    }
    content = hashlib.sha256(f"{type(model).__module__}.{type(model).__qualname__}\n".encode())
    content.update(json.dumps(config, sort_keys=True, default=str).encode())
    for name, module in model.named_modules():
        state = {one: getattr(module, one) for one in _ADAPTER_STATE if hasattr(module, one)}
        if state:
            content.update(f"\n{name} {sorted(state.items())}".encode())
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.device.type == "meta":
            raise ProbeError(
                f"Some weights of {what} are not in memory (the first is {name}): load it without offloading, or name "
                "its folder and use --device spread."
            )
        content.update(f"\n{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        content.update(_bytes(tensor))
    return content.hexdigest()[:32]


def _bytes(tensor: torch.Tensor) -> memoryview:
    import torch

    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return memoryview(flat.view(torch.uint8).numpy())
