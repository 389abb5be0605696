"""What is suspicious of trained weights: what a copy that broke off, or a slip in a conversion, leaves behind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import torch
from torch import nn

# Rows of zeros at the end of a matrix count from this share on; vocabularies are padded by less.
_ZERO_ROWS = 0.1
# Conversions fill these with zeros where a model was trained without them (RoBERTa's token types).
_MAY_BE_ZERO = re.compile(r"token_type")
_COMPARED = 16


def find_oddities(module: nn.Module, unexpected: Sequence[str] = ()) -> tuple[str, ...]:
    """Look for matrices of zeros, dead norms, layers that are equal, and layers that the config leaves out.

    Args:
        module: a transformers model.
        unexpected: names of weights in its files that its architecture has no place for.

    Returns:
        What was found, each as the end of a sentence that begins with the weights.
    """
    zero = [name for name, one in _stored(module) if _zero_rows(one) >= _ZERO_ROWS and not _MAY_BE_ZERO.search(name)]
    dead = [name for name, one in module.named_modules() if _is_dead_norm(one)]
    equal = [f"{one} and {other}" for one, other in _equal_layers(module)]
    beyond = sorted({layer for key in unexpected if (layer := _layer_beyond(key, module))})
    found = (
        ("rows of zeros at the end of", zero),
        ("zeros in the norm", dead),
        ("the same weights in layers", equal),
        ("layers beyond the config's:", beyond),
    )
    return tuple(f"{what} {_first(names)}" for what, names in found if names)


def _first(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _stored(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The matrices of a model; what is spread to disk holds nothing here."""
    for name, one in module.named_parameters():
        if one.dim() >= 2 and one.numel() and one.device.type != "meta":
            yield name, one.detach()


def _zero_rows(matrix: torch.Tensor) -> float:
    """The share of rows at the end of a matrix that hold nothing but zeros."""
    if matrix[-1].any():
        return 0.0
    filled = matrix.flatten(1).any(dim=1).nonzero()
    return 1 - (int(filled[-1]) + 1 if len(filled) else 0) / len(matrix)


def _is_dead_norm(module: nn.Module) -> bool:
    """Whether a norm gives the same whatever it is given (Gemma's weights of zero are none: it adds 1 to them)."""
    weight = getattr(module, "weight", None)
    if "Norm" not in type(module).__name__ or not isinstance(weight, torch.Tensor) or weight.dim() != 1:
        return False
    if weight.device.type == "meta" or weight.any():
        return False
    probes = torch.eye(2, len(weight), dtype=weight.dtype, device=weight.device)
    with torch.inference_mode():
        return bool(torch.equal(*module(probes)))


def _equal_layers(module: nn.Module) -> Iterator[tuple[str, str]]:
    """Layers of one stack with equal weights that are not the same object, by name."""
    stacks = {name: one for name, one in module.named_modules() if isinstance(one, nn.ModuleList)}
    for name, stack in stacks.items():
        # Experts and the parts of a layer lie within one layer.
        if any(name.startswith(f"{other}.") for other in stacks):
            continue
        layers = [(f"{name}.{number}", layer) for number, layer in enumerate(stack)]
        for (one, first), (other, second) in combinations(layers, 2):
            if first is not second and _equal(first, second):
                yield one, other


def _equal(first: nn.Module, second: nn.Module) -> bool:
    pairs = list(zip(first.named_parameters(), second.named_parameters(), strict=False))
    matrices = [(one, other) for (_, one), (_, other) in pairs if one.dim() >= 2 and one.numel()]
    if not matrices or any(one.device.type == "meta" or other.device.type == "meta" for one, other in matrices):
        return False
    if not any(one.any() for one, _ in matrices) or all(one is other for one, other in matrices):
        return False
    # The first numbers of each matrix tell nearly all pairs apart.
    starts = all(torch.equal(_start(one), _start(other)) for one, other in matrices)
    return starts and all(
        name == its and one.shape == other.shape and torch.equal(one.to(other.device), other)
        for (name, one), (its, other) in pairs
    )


def _start(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.detach().flatten()[:_COMPARED].cpu()


def _layer_beyond(key: str, module: nn.Module) -> str | None:
    """The name of a layer that a weight belongs to and the model does not have, though it has layers before it."""
    for match in re.finditer(r"\.(\d+)\.", key):
        stack = key[: match.start()]
        # A model that was saved with a head has the head's name before its own parts.
        for place in (stack, stack.partition(".")[2]):
            try:
                layers = module.get_submodule(place)
            except AttributeError:
                continue
            if isinstance(layers, nn.ModuleList) and 0 < len(layers) <= int(match[1]):
                return f"{place}.{match[1]}"
    return None
