"""The families of models: where each keeps its layers and how its attention is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from probe.errors import ProbeError

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig


@dataclass(frozen=True)
class Family:
    """What one family of architectures can and cannot do.

    Attributes:
        name: as the tables and the help show it.
        model_types: the `model_type` of its configs.
        layers: dotted path from the measured stack to the list of its layers.
        interface: its attention goes through transformers' attention interface; otherwise its eager maps are
            read, one layer at a time.
        causal: a query sees only the keys before it and itself.
        encoder_decoder: the measured stack is the encoder.
        position_offset: position embeddings that no token can use.
    """

    name: str
    model_types: tuple[str, ...]
    layers: str
    interface: bool = True
    causal: bool = False
    encoder_decoder: bool = False
    position_offset: int = 0


FAMILIES = (
    Family("BERT", ("bert",), "encoder.layer"),
    Family("ALBERT", ("albert",), "encoder.albert_layer_groups"),
    Family("BART", ("bart", "mbart"), "layers", encoder_decoder=True),
    Family("ELECTRA", ("electra",), "encoder.layer"),
    Family("RoBERTa", ("roberta", "xlm-roberta", "camembert"), "encoder.layer", position_offset=2),
)


def family_of(config: PreTrainedConfig) -> Family:
    """The family of a config; an unknown architecture gets a description guessed from its config.

    Raises:
        ProbeError: the architecture has no attention layers.
    """
    heads = getattr(config, "num_attention_heads", None)
    layers = getattr(config, "num_hidden_layers", None)
    if not isinstance(heads, int) or not isinstance(layers, int) or heads < 1 or layers < 1:
        raise ProbeError(
            f"A {config.model_type} model has no attention layers to read (its config names no "
            "num_attention_heads): use a transformer, such as --model minilm."
        )
    for family in FAMILIES:
        if config.model_type in family.model_types:
            return family
    return Family(
        name=config.model_type,
        model_types=(config.model_type,),
        layers="",
        causal=bool(getattr(config, "is_decoder", False)),
        encoder_decoder=bool(getattr(config, "is_encoder_decoder", False)),
    )


def measured_stack(model: nn.Module, family: Family) -> nn.Module:
    """The part of a model whose attention is measured: the encoder where there are two stacks."""
    return model.get_encoder() if family.encoder_decoder else model


def first_layer(stack: nn.Module, family: Family, layers: int) -> nn.Module:
    """The module whose first input is the output of the embedding layer.

    Raises:
        ProbeError: the layers of an unknown architecture cannot be found.
    """
    from torch import nn

    if family.layers:
        return stack.get_submodule(family.layers)[0]
    for module in stack.modules():
        if isinstance(module, nn.ModuleList) and len(module) == layers:
            return module[0]
    raise ProbeError(f"The layers of a {family.name} model cannot be found: its architecture is not supported.")


def usable_positions(config: PreTrainedConfig, family: Family) -> int | None:
    """The longest passage the model has positions for, special tokens included; None where any length goes."""
    positions = getattr(config, "max_position_embeddings", None)
    return positions - family.position_offset if isinstance(positions, int) and positions > 0 else None
