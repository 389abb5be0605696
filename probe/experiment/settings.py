"""Every argument of a run, with its default, checked; light enough for the command line's help."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from numbers import Integral

from probe.errors import ProbeError
from probe.models.families import Attention
from probe.models.sources import expand_models
from probe.topics.settings import LdaSettings
from probe.topics.theta import THETAS, check_theta

DEFAULT_MODEL = "minilm"
DEFAULT_CORPUS = "wikipedia-sample"
_DTYPES = ("float32", "bfloat16", "float16", "auto")
_WORDS = ("token", "whole")


def check_names(names: Iterable[str]) -> None:
    """Refuse arguments that `probe.run` does not have.

    Raises:
        ProbeError: there is no field of `RunSettings` with such a name.
    """
    known = [one.name for one in fields(RunSettings)]
    of_lda = [one.name for one in fields(LdaSettings)]
    for name in names:
        if name in known:
            continue
        if (bare := name.removeprefix("lda_")) in of_lda:
            hint = f"did you mean lda=probe.topics.settings.LdaSettings({bare}=...)?"
        else:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "help(probe.run) names those it has."
        raise ProbeError(f"probe.run has no argument {name}; {hint}")


@dataclass(frozen=True)
class RunSettings:
    """Every argument of a run.

    Attributes:
        model: A model (see `probe models`).
        corpus: A corpus: a name (see `probe corpora`) or a path.
        theta: Ambiguity threshold.
        documents: Read at most so many documents.
        sample: With `documents`: the first, or random ones.
        unit: What is a text to the topic model: document, passage or sentence.
        text_field: Field of the text.
        title_field: Field of the title.
        language: Language of the corpus (ISO 639).
        encoding: Encoding of text files.
        words: What is a word: token (one token that is a whole word, the paper's), or whole (of however many tokens).
        passages: Probe so many passages, drawn at random.
        held_out: Probe only passages of documents that `probe pretrain` keeps out of a training on the corpus.
        max_length: Tokens of a passage at most, special tokens included.
        attention: Of an encoder-decoder: encoder, decoder or cross.
        lda: How the topic model is fitted; its `random_state` is `seed`.
        lda_seeds: Fit so many topic models, with the seeds `seed`, `seed` + 1, and so on.
        seed: Of everything random: topics, passages, random weights, bootstrap, null.
        device: A torch device, auto (a GPU where there is one), or spread (over all GPUs: a model too large for one).
        dtype: float32, bfloat16, float16, or auto: bfloat16 where that is faster.
        batch_tokens: Tokens of a padded batch at most.
        resamples: Bootstrap draws, and permutations of the null.
        baseline: Measure the same architecture with random weights.
        stop_words: A file of stop words, one a line.
        measure: A measure of your own, FILE.py:CLASS (see docs/extending.md).
        examples: Keep so many passages with their attention, to be looked at (`probe report`).
        strict: Refuse weights that look damaged (matrices of zeros, equal layers), which a warning names otherwise.
    """

    model: tuple[str, ...] = (DEFAULT_MODEL,)
    corpus: str = DEFAULT_CORPUS
    theta: tuple[float, ...] = THETAS
    documents: int | None = None
    sample: str = "first"
    unit: str | None = None
    text_field: str | None = None
    title_field: str | None = None
    language: str | None = None
    encoding: str = "utf-8"
    words: str = "token"
    passages: int = 600
    held_out: bool = False
    max_length: int = 128
    attention: Attention = "encoder"
    lda: LdaSettings = field(default_factory=LdaSettings)
    lda_seeds: int = 1
    seed: int = 0
    device: str = "auto"
    dtype: str = "float32"
    batch_tokens: int = 4096
    resamples: int = 1000
    baseline: bool = True
    stop_words: str | None = None
    measure: tuple[str, ...] = ()
    examples: int = 8
    strict: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", tuple(expand_models(self.model)))
        for theta in self.theta:
            check_theta(theta)
        for name in self.model:
            if any("\ud800" <= letter <= "\udfff" for letter in name):
                raise ProbeError(f"The model's name {name!a} holds bytes that are no UTF-8: rename its folder.")
        if not self.model or not self.theta:
            raise ProbeError("A run needs at least one --model and one --theta.")
        for name, values in (("model", self.model), ("theta", self.theta)):
            if len(set(values)) < len(values):
                raise ProbeError(f"One --{name} is given twice: name each once.")
        for name, least in (
            ("passages", 2),
            ("max_length", 4),
            ("lda_seeds", 1),
            ("batch_tokens", 1),
            ("resamples", 20),
            ("seed", 0),
            ("examples", 0),
        ):
            value, option = getattr(self, name), name.replace("_", "-")
            if not isinstance(value, Integral):
                raise ProbeError(f"--{option} {value!r} is no whole number: use one, at least {least}.")
            if value < least:
                raise ProbeError(f"--{option} {value} is too small: use at least {least}.")
            object.__setattr__(self, name, int(value))
        if self.seed + self.lda_seeds > 2**32:
            raise ProbeError(f"--seed {self.seed} is too large: use a number below 2**32.")
        if self.words not in _WORDS:
            raise ProbeError(
                f"--words {self.words} is not known: use token or whole (words of the figure are named by "
                "--figure-words)."
            )
        if self.dtype not in _DTYPES:
            raise ProbeError(f"--dtype {self.dtype} is not known: use one of {', '.join(_DTYPES)}.")
