"""Every argument of a training, and the names of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe.errors import ProbeError
from probe.pretraining.architectures import check_family, size_of

CHECKPOINTS = "checkpoints"
CHECKPOINT = "checkpoint-{step}"
MAX_LENGTH = 128
LEARNING_RATE = 1.5e-3
MASKED_SHARE = 0.4
_SAVED_DTYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class PretrainSettings:
    """Every argument of a training.

    Attributes:
        family: bert, albert, bart, electra or roberta.
        corpus: name or path of a corpus (see `probe corpora`).
        size: tiny, small or base (see `probe.pretraining.architectures.SIZES`).
        steps: optimizer steps.
        batch_tokens: tokens of a batch at most, padding included.
        masked_share: share of the tokens that a masked language model predicts; BART's text infilling has its own.
        learning_rate: the highest; it rises over the first steps and falls to 0 over the others.
        seed: of the weights, the order of the passages, and what is hidden.
        documents: read at most so many documents of the corpus; None for all.
        checkpoint_every: steps between two checkpoints; None for a tenth of the steps.
        device: a torch device, or "auto": a GPU where there is one.
        language: of the corpus (ISO 639); None for what it declares.
        strip_accents: take accents off, in the families whose tokenizer is uncased; None for yes where the language
            loses nothing by it (English), and no elsewhere.
        dtype: of the saved weights. The training is in float32, on a GPU with matrix products in bfloat16.
    """

    family: str
    corpus: str = "wikipedia-sample"
    size: str = "small"
    steps: int = 500
    batch_tokens: int = 8192
    masked_share: float = MASKED_SHARE
    learning_rate: float = LEARNING_RATE
    seed: int = 0
    documents: int | None = None
    checkpoint_every: int | None = None
    device: str = "auto"
    dtype: str = "float32"
    language: str | None = None
    strip_accents: bool | None = None

    def __post_init__(self) -> None:
        check_family(self.family)
        size_of(self.size)
        for name, least in (("steps", 1), ("batch_tokens", MAX_LENGTH), ("seed", 0), ("checkpoint_every", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ProbeError(f"--{name.replace('_', '-')} {value} is too small: use at least {least}.")
        if not 0 < self.masked_share < 1:
            raise ProbeError(f"--masked-share {self.masked_share:g} cannot be used: give one between 0 and 1.")
        if not 0 < self.learning_rate < 1:
            raise ProbeError(f"--learning-rate {self.learning_rate:g} cannot be used: give one between 0 and 1.")
        if self.dtype not in _SAVED_DTYPES:
            raise ProbeError(f"--dtype {self.dtype} is not known: use one of {', '.join(_SAVED_DTYPES)}.")


def check_same(folder: Path, found: dict[str, Any], key: dict[str, Any]) -> None:
    """Refuse a folder that holds a training of another corpus or other arguments."""
    if found.get("corpus") != key["corpus"]:
        raise ProbeError(f"The folder {folder} holds a training on another corpus: name another with --out DIR.")
    for name, value in key["arguments"].items():
        if found["arguments"].get(name) != value and name != "corpus":
            raise ProbeError(
                f"The folder {folder} holds a training with --{name.replace('_', '-')} "
                f"{found['arguments'].get(name)}, not {value}: name another with --out DIR."
            )
