"""The families of models: where each keeps its layers, how its attention is read, what can be asked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from probe.errors import ProbeError

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig, PreTrainedModel

Weights = Literal["pretrained", "random"]
Attention = Literal["encoder", "decoder", "cross"]
ATTENTIONS: tuple[str, ...] = get_args(Attention)
WEIGHTS: tuple[Weights, ...] = get_args(Weights)


@dataclass(frozen=True)
class Decoder:
    """The decoder of an encoder-decoder family.

    Attributes:
        layers: dotted path from the decoder to the list of its layers.
        self_attention, cross_attention: dotted paths from a layer to its attention modules.
        shifts_input: the model makes the decoder's input from the encoder's; otherwise it is the start token and the
            passage without its last token.
    """

    layers: str
    self_attention: str
    cross_attention: str
    shifts_input: bool


@dataclass(frozen=True)
class Family:
    """What one family of architectures can and cannot do.

    Attributes:
        name: as the tables and the help show it.
        model_types: the `model_type` of its configs.
        layers: dotted path from the encoder (the only stack of most families) to the list of its layers; empty for
            an unknown architecture, whose layers are looked for.
        interface: its attention goes through transformers' attention interface; otherwise its eager maps are
            read, one layer at a time.
        causal: a query of its only stack sees no key after it.
        decoder: of an encoder-decoder family.
        encoder_decoder: it has two stacks; an unknown architecture may have them without a known `decoder`.
        position_offset: position embeddings that no token can use.
        note: what else there is to know.
    """

    name: str
    model_types: tuple[str, ...]
    layers: str
    interface: bool = True
    causal: bool = False
    decoder: Decoder | None = None
    encoder_decoder: bool = False
    position_offset: int = 0
    note: str = ""

    @property
    def attentions(self) -> tuple[str, ...]:
        """What `--attention` can ask for."""
        if self.decoder:
            return ATTENTIONS
        return ("decoder",) if self.causal else ("encoder",)


_BART_DECODER = Decoder("layers", "self_attn", "encoder_attn", shifts_input=True)
_T5_DECODER = Decoder("block", "layer.0.SelfAttention", "layer.1.EncDecAttention", shifts_input=False)
_LLAMA_LIKE = ("llama", "mistral", "qwen2", "qwen3", "gemma", "olmo", "olmo2", "phi3", "granite", "smollm3")

FAMILIES = (
    Family("BERT", ("bert",), "encoder.layer"),
    Family("ALBERT", ("albert",), "encoder.albert_layer_groups", note="its layers share their weights"),
    Family("BART", ("bart", "mbart"), "layers", decoder=_BART_DECODER, encoder_decoder=True),
    Family("ELECTRA", ("electra",), "encoder.layer", note="the discriminator"),
    Family("RoBERTa", ("roberta", "xlm-roberta", "camembert"), "encoder.layer", position_offset=2),
    Family("DistilBERT", ("distilbert",), "transformer.layer"),
    Family("MPNet", ("mpnet",), "encoder.layer", interface=False, position_offset=2),
    Family("DeBERTa", ("deberta", "deberta-v2"), "encoder.layer", interface=False, note="v1, v2 and v3"),
    Family("ModernBERT", ("modernbert",), "layers", note="most layers see a window"),
    Family(
        "T5", ("t5", "mt5", "umt5"), "block", decoder=_T5_DECODER, encoder_decoder=True, note="passages of any length"
    ),
    Family("GPT-2", ("gpt2",), "h", causal=True),
    Family("Llama-like", _LLAMA_LIKE, "layers", causal=True),
)


def family_of(config: PreTrainedConfig) -> Family:
    """The family of a config; an unknown architecture gets a description made from its config and class.

    Raises:
        ProbeError: the architecture has no attention layers or reads no text.
    """
    heads = getattr(config, "num_attention_heads", None)
    layers = getattr(config, "num_hidden_layers", None)
    if not isinstance(heads, int) or not isinstance(layers, int) or heads < 1 or layers < 1:
        raise ProbeError(
            f"A {config.model_type} model has no attention layers to read (its config names no "
            "num_attention_heads): use a transformer, such as --model minilm."
        )
    is_decoder = bool(getattr(config, "is_decoder", False))
    for family in FAMILIES:
        if config.model_type in family.model_types:
            return replace(family, causal=True) if is_decoder and not family.decoder else family
    architecture = _architecture(config)
    encoder_decoder = bool(getattr(config, "is_encoder_decoder", False))
    if architecture.main_input_name != "input_ids":
        raise ProbeError(
            f"A {config.model_type} model reads {architecture.main_input_name}, no text: use a language model, such "
            "as --model minilm."
        )
    return Family(
        name=config.model_type,
        model_types=(config.model_type,),
        layers="",
        interface=architecture._supports_sdpa and architecture._supports_attention_backend,
        causal=is_decoder and not encoder_decoder,
        encoder_decoder=encoder_decoder,
    )


def _architecture(config: PreTrainedConfig) -> type[PreTrainedModel]:
    from transformers import MODEL_MAPPING

    try:
        found = MODEL_MAPPING[type(config)]
    except Exception:  # there is none, or it needs a package that is not installed
        raise ProbeError(
            f"transformers has no model for the config of a {config.model_type}: use a language model, such as "
            "--model minilm."
        ) from None
    return found[0] if isinstance(found, tuple) else found


def usable_positions(config: PreTrainedConfig, family: Family) -> int | None:
    """The longest passage the model has positions for, special tokens included; None where any length goes."""
    positions = getattr(config, "max_position_embeddings", None)
    return positions - family.position_offset if isinstance(positions, int) and positions > 0 else None


def measured_stack(module: nn.Module, family: Family) -> nn.Module:
    """The part of a model that is measured unless something else is asked for: the encoder where there are two."""
    return module.get_encoder() if family.encoder_decoder else module
