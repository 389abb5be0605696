"""A model's config, tokenizer and weights, read with transformers."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from probe.errors import ProbeError, refusing
from probe.models.families import ATTENTIONS, Attention, Family, Weights, family_of
from probe.models.sources import TOKENIZER_FILES, ModelSource, has_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerFast

    from probe.models.loaded import LoadedModel


# A config that asks for more parts than this is a slip of the pen, and would be built for hours.
_MOST_PARTS = 10_000
_PARTS = re.compile(r"layer|block|group|expert")


def _quiet_transformers() -> None:
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def load_config(source: ModelSource) -> PreTrainedConfig:
    """Load a model's configuration.

    What it says of the implementation of attention, and of what a model returns, is left out: both are ours to choose.

    Raises:
        ProbeError: it cannot be read, or names an architecture that transformers does not have.
    """
    from transformers import AutoConfig

    _quiet_transformers()
    if source.given:
        return _ours(copy.deepcopy(source.given.model.config))
    way_out = "correct its config.json, or use a model that this version of transformers knows"
    with refusing(f"The config of {source.name} cannot be read", way_out):
        config = _ours(
            AutoConfig.from_pretrained(
                (source.base or source).location,
                **(source.base or source).pinned,
                # Two of a config's own words that may exclude each other are set before they are compared.
                output_attentions=False,
                attn_implementation=None,
            )
        )
    _check_depth(source.name, config)
    return config


def _ours(config: PreTrainedConfig) -> PreTrainedConfig:
    """A config with our own choice of how a model computes and what it returns."""
    for part in (config, *(getattr(config, name, None) for name in config.sub_configs)):
        if part is not None:
            part._attn_implementation = part._experts_implementation = None
            part.output_hidden_states, part.return_dict, part.chunk_size_feed_forward = False, True, 0
    return config


def _check_depth(name: str, config: PreTrainedConfig) -> None:
    for field, value in vars(config).items():
        if _PARTS.search(field) and isinstance(value, int) and value > _MOST_PARTS:
            raise ProbeError(
                f"The config of {name} asks for more than any model has ({field} is {value}, and {_MOST_PARTS:,} is "
                "the most): use an intact config."
            )


def load_tokenizer(source: ModelSource) -> PreTrainedTokenizerFast:
    """Load a model's fast tokenizer.

    Raises:
        ProbeError: there is none.
    """
    from transformers import AutoTokenizer

    if source.given:
        return source.given.tokenizer
    _quiet_transformers()
    # An adapter is saved with a tokenizer of its own, or without one.
    own = source.base is None or has_tokenizer(Path(source.location))
    holder = source if own else source.base
    assert holder is not None
    given = {"config": load_config(source)} if source.base else {}
    failure = f"The tokenizer of {source.name} cannot be loaded"
    try:
        with _panics_unheard(), refusing(failure, "an intact tokenizer.json is needed beside the weights"):
            tokenizer = AutoTokenizer.from_pretrained(holder.location, **holder.pinned, **given)
            written = {token.content for token in tokenizer.added_tokens_decoder.values()}
            # A few classes begin with a mark of white space even where there is no file.
            empty = not any(any(map(str.isalnum, token)) for token in tokenizer.get_vocab().keys() - written)
            # What fails on any text fails here.
            tokenizer.decode(tokenizer("a b")["input_ids"])
    except ProbeError:
        # Without any file of it, some classes fail and some make a tokenizer of special tokens alone.
        empty = True
        if has_tokenizer(Path(holder.location)) or not Path(holder.location).is_dir():
            raise
    if empty:
        raise ProbeError(
            f"{source.name} has no tokenizer (looked for {', '.join(TOKENIZER_FILES)}, and found no vocabulary): put "
            "the model's own beside its weights, with save_pretrained."
        )
    if not getattr(tokenizer, "is_fast", False):
        raise ProbeError(
            f"{source.name} has a slow tokenizer ({type(tokenizer).__name__}), which cannot tell which tokens spell "
            "one word: use a model with a fast tokenizer (a tokenizer.json)."
        )
    return tokenizer


@contextmanager
def _panics_unheard() -> Iterator[None]:
    """Keep a Rust library that gives up from writing a report of its own beside the refusal."""
    heard = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(heard, 2)
        os.close(heard)


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
    from probe.models.examination import examined
    from probe.models.oddities import find_oddities
    from probe.models.weights import check_finite, draw_module, implementation, read_module

    config = load_config(source)
    family = family_of(config)
    check_attention(source.name, family, attention)
    unexpected: list[str] = []
    if weights == "random":
        module = draw_module(source, config, family, dtype=dtype, device=device, random_state=random_state)
    elif source.given:
        from probe.models.borrowing import body_for

        module = body_for(source, implementation(family), device, dtype)
    else:
        module, unexpected = read_module(source, config, family, dtype=dtype, device=device)
    check_finite(source.name, module)
    with _examining(source, family):
        model = examined(source.name, weights, module.eval(), family, attention)
    return replace(model, oddities=find_oddities(module, unexpected)) if weights == "pretrained" else model


def _examining(source: ModelSource, family: Family) -> AbstractContextManager[None]:
    """Turn whatever a model raises on a short passage into a refusal."""
    failure = f"{source.name} fails on a short passage"
    if not family.layers:
        failure = f"The architecture of {source.name}, {family.name}, is not supported: it fails on a short passage"
        return refusing(failure, "use a model of a family that probe models lists")
    if source.given:
        # A class of somebody's own may call itself one of a known family.
        failure = f"{source.name} is no {family.name} model as transformers has them, and fails on a short passage"
        return refusing(failure, "give one made with AutoModel")
    return refusing(failure, "use an intact model")


def check_attention(name: str, family: Family, attention: str) -> None:
    """Refuse a kind of attention that a family does not have.

    Raises:
        ProbeError: it does not have it.
    """
    if attention not in ATTENTIONS:
        raise ProbeError(f"--attention {attention} is not known: use one of {', '.join(ATTENTIONS)}.")
    if attention != "encoder" and attention not in family.attentions:
        raise ProbeError(f"--attention {attention} is not available for {name}, a {family.name} model: leave it out.")
