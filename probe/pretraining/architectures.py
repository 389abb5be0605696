"""The real architecture class of each family, at a size that can be trained from nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

FAMILIES = ("bert", "albert", "bart", "electra", "roberta")
# Position embeddings that RoBERTa reserves below the first token's.
_ROBERTA_OFFSET = 2


@dataclass(frozen=True)
class Size:
    """The shape of a model.

    Attributes:
        width: of the hidden states.
        embedding: of the token embeddings of ALBERT and ELECTRA, which factorize them; the others use `width`.
        layers: of the encoder; BART's decoder has a third as many.
        heads: of each layer.
        vocabulary: entries of the tokenizer.
    """

    width: int
    embedding: int
    layers: int
    heads: int
    vocabulary: int


SIZES = {
    "tiny": Size(width=64, embedding=32, layers=2, heads=2, vocabulary=2048),
    "small": Size(width=128, embedding=96, layers=3, heads=4, vocabulary=8192),
    "base": Size(width=768, embedding=128, layers=12, heads=12, vocabulary=30000),
}


def size_of(name: str) -> Size:
    """A size by name.

    Raises:
        ProbeError: there is no such size.
    """
    if name not in SIZES:
        raise ProbeError(f"There is no --size {name}: use one of {', '.join(SIZES)}.")
    return SIZES[name]


def check_family(name: str) -> str:
    """The family itself.

    Raises:
        ProbeError: there is no such family.
    """
    if name not in FAMILIES:
        raise ProbeError(f"There is no --family {name}: use one of {', '.join(FAMILIES)}.")
    return name


def encoder_config(family: str, size: Size, tokenizer: PreTrainedTokenizerFast, max_length: int) -> PreTrainedConfig:
    """The configuration of the model that is kept (for ELECTRA, the discriminator).

    There is no dropout: the models see too little text to overfit.

    Args:
        family: bert, albert, bart, electra or roberta.
        size: its shape; the vocabulary is the tokenizer's.
        tokenizer: names the special tokens.
        max_length: tokens of an input at most, special tokens included.
    """
    import transformers

    shape: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": 4 * size.width,
        "max_position_embeddings": max_length,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": tokenizer.pad_token_id,
    }
    ends = {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
    if family == "bert":
        return transformers.BertConfig(**shape)
    if family == "albert":
        return transformers.AlbertConfig(**shape, **ends, embedding_size=size.embedding, classifier_dropout_prob=0.0)
    if family == "electra":
        return transformers.ElectraConfig(**shape, embedding_size=size.embedding)
    if family == "roberta":
        shape["max_position_embeddings"] += _ROBERTA_OFFSET
        return transformers.RobertaConfig(**shape, **ends, type_vocab_size=1)
    return transformers.BartConfig(
        vocab_size=len(tokenizer),
        d_model=size.width,
        encoder_layers=size.layers,
        decoder_layers=size.layers // 3 or 1,
        encoder_attention_heads=size.heads,
        decoder_attention_heads=size.heads,
        encoder_ffn_dim=4 * size.width,
        decoder_ffn_dim=4 * size.width,
        max_position_embeddings=max_length,
        dropout=0.0,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.sep_token_id,
        forced_eos_token_id=tokenizer.sep_token_id,
        **ends,
    )


def generator_config(config: PreTrainedConfig) -> PreTrainedConfig:
    """The configuration of ELECTRA's generator: half as wide as its discriminator, with the same embeddings.

    Clark et al. (2020, section 3.2) find generators of a quarter to half the size best.

    Args:
        config: of the discriminator.
    """
    import transformers

    return transformers.ElectraConfig(
        **config.to_dict()
        | {
            "hidden_size": config.hidden_size // 2,
            "intermediate_size": config.intermediate_size // 2,
            "num_attention_heads": max(1, config.num_attention_heads // 2),
        }
    )


def bare_model(network: PreTrainedModel) -> PreTrainedModel:
    """The model without its pretraining head, as `AutoModel` loads it: its own weights, shared, not copied.

    A pooler, which these objectives do not train, is drawn from a fixed seed, so that the saved model is complete.

    Args:
        network: a model with a head.
    """
    import torch

    body = network.base_model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        whole = type(body)(body.config)
    if {name for name, _ in whole.named_parameters()} == {name for name, _ in body.named_parameters()}:
        return body
    for name, child in body.named_children():
        if child is not None:
            setattr(whole, name, child)
    return whole
