"""What a training reads: a tokenizer trained on the corpus, and passages of token ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from probe.experiment.context import TOKEN_PACKAGES, versions
from probe.experiment.progress import Progress
from probe.pretraining.architectures import size_of
from probe.pretraining.settings import CHECKPOINT, CHECKPOINTS, MAX_LENGTH, PretrainSettings
from probe.storage.cache import Cache
from probe.storage.files import rust_errors

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from corpora import Corpus
    from probe.pretraining.passages import TrainingPassages


def trained_tokenizer(
    settings: PretrainSettings, corpus: Corpus, folder: Path, cache: Cache, progress: Progress
) -> PreTrainedTokenizerFast:
    """The tokenizer that a stopped run has begun with, or one that was trained before, or a new one."""
    from transformers import AutoTokenizer

    from probe.pretraining.tokenizers import KINDS, train_tokenizer
    from probe.pretraining.writing import writing_of

    begun = folder / CHECKPOINTS / CHECKPOINT.format(step=0)
    if (begun / "config.json").is_file():
        return AutoTokenizer.from_pretrained(begun)
    vocabulary = size_of(settings.size).vocabulary
    writing = writing_of(corpus.language, _Texts(corpus), settings.strip_accents)
    key = {
        "corpus": corpus.fingerprint(),
        "writing": asdict(writing),
        "trained": KINDS[settings.family],
        "vocabulary": vocabulary,
        "versions": versions(TOKEN_PACKAGES),
    }

    def write(place: Path) -> None:
        with progress.stage(f"Training a tokenizer for {settings.family} on {corpus.name}"):
            tokenizer = train_tokenizer(settings.family, _Texts(corpus), vocabulary, MAX_LENGTH, writing)
        with rust_errors():
            tokenizer.save_pretrained(place)

    return AutoTokenizer.from_pretrained(cache.make("tokens", key, write)[0])


class _Texts:
    """The texts of a corpus, as often as needed."""

    def __init__(self, corpus: Corpus):
        self._corpus = corpus

    def __iter__(self) -> Iterator[str]:
        return (document.text for document in self._corpus)


def training_passages(
    settings: PretrainSettings, corpus: Corpus, tokenizer: PreTrainedTokenizerFast, cache: Cache, progress: Progress
) -> tuple[TrainingPassages, TrainingPassages]:
    """The passages to train on, and those held out."""
    from probe.pretraining.passages import split_passages
    from probe.text.passages import special_tokens
    from probe.text.tokens import Tokens, tokenize
    from probe.text.vocabulary import build_vocabulary

    vocabulary = build_vocabulary(tokenizer, ())

    def write(place: Path) -> None:
        with progress.stage(f"Tokenizing {corpus.name}", settings.documents) as stage:
            tokenize(corpus, tokenizer, vocabulary, place, stage.at)

    key = {
        "corpus": corpus.fingerprint(),
        "pretraining": vocabulary.fingerprint,
        "versions": versions(TOKEN_PACKAGES),
    }
    entry, _ = cache.make("tokens", key, write)
    return split_passages(Tokens.load(entry), special_tokens(tokenizer), MAX_LENGTH, settings.seed)
