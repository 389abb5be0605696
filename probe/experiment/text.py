"""Stage one: the corpus is opened, and tokenized for a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError, refusing
from probe.experiment.context import TOKEN_PACKAGES, Context, versions
from probe.models.loading import load_tokenizer
from probe.models.sources import ModelSource
from probe.text.passages import SpecialTokens, special_tokens
from probe.text.tokens import Tokens, send_tokens, tokenize
from probe.text.vocabulary import Vocabulary, build_vocabulary
from probe.text.words import Words

if TYPE_CHECKING:
    from corpora import Corpus
    from corpora.stop_words import StopWords


# Of what is kept; raised when other occurrences come to count as words.
_FORMAT = 2


@dataclass(frozen=True)
class OpenText:
    """A corpus, and the stop words of its language."""

    corpus: Corpus
    stop_words: StopWords


@dataclass(frozen=True)
class Text:
    """A corpus as one model reads it.

    Attributes:
        vocabulary: of the model's tokenizer.
        words: that may carry topics, by number.
        specials: what the tokenizer puts around a passage.
        tokens: of the corpus.
        key: decides the tokens.
        report: of the reading.
    """

    vocabulary: Vocabulary
    words: Words
    specials: SpecialTokens
    tokens: Tokens
    key: dict[str, Any]
    report: dict[str, Any]


def open_text(context: Context) -> OpenText:
    """Open the corpus of a run.

    Raises:
        CorpusError: it cannot be read.
    """
    from corpora import open_corpus
    from corpora.stop_words import stop_words

    settings = context.settings
    with context.progress.stage(f"Opening corpus {settings.corpus}"):
        corpus = open_corpus(
            settings.corpus if context.given.corpus is None else context.given.corpus,
            text_field=settings.text_field,
            title_field=settings.title_field,
            language=settings.language,
            encoding=settings.encoding,
            documents=settings.documents,
            sample=settings.sample,
            seed=settings.seed,
            unit=settings.unit,
        )
        return OpenText(corpus, stop_words(corpus.language, settings.stop_words))


def tokens_key(corpus: Corpus, vocabulary: Vocabulary, context: Context) -> dict[str, Any]:
    """What decides the tokens of a corpus, and which of them are words."""
    words = context.settings.words
    return {
        "format": _FORMAT,
        "corpus": corpus.fingerprint(),
        "tokenizer": vocabulary.fingerprint,
        "versions": versions(TOKEN_PACKAGES),
    } | ({"words": words} if words == "whole" else {})


def tokenize_corpus(source: ModelSource, opened: OpenText, context: Context) -> Text | None:
    """Tokenize the corpus for a model, or find its tokens finished.

    Returns:
        The text on rank 0; None on the other ranks, which tokenize their share.

    Raises:
        ProbeError: the tokenizer cannot be loaded, or the corpus holds fewer than two documents.
    """
    progress, ranks, corpus = context.progress, context.ranks, opened.corpus
    several = context.settings.words == "whole"
    tokenizer = load_tokenizer(source)
    with refusing(f"The tokenizer of {source.name} cannot be read", "use an intact tokenizer.json"):
        vocabulary, specials = build_vocabulary(tokenizer, opened.stop_words.words), special_tokens(tokenizer)
    key = tokens_key(corpus, vocabulary, context)

    def write_tokens(folder: Path) -> None:
        with progress.stage(f"Reading and tokenizing {corpus.name}", context.settings.documents) as stage:
            tokenize(corpus, tokenizer, vocabulary, folder, stage.at, ranks, several=several)
        (folder / "report.json").write_text(json.dumps(corpus.report().as_dict()), encoding="utf-8")

    with context.timed("tokens"):
        finished = ranks.share(ranks.leads and context.cache.find("tokens", key) is not None)
        if not ranks.leads:
            if not finished:
                send_tokens(corpus, tokenizer, vocabulary, ranks, several=several)
            return None
        folder, found = context.cache.make("tokens", key, write_tokens)
        if found:
            progress.note(f"Tokens of {corpus.name} for {source.name}: already finished.")
        tokens, words = Tokens.load(folder), Words.load(folder, vocabulary)
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    for note in report["notes"]:
        progress.note(f"{corpus.name}: {note}")
    if len(np.unique(tokens.whole)) < 2:
        raise ProbeError(
            f"The corpus {corpus.name} holds one document, and intervals are drawn over documents: give at least "
            "two (a folder of .txt files, or a .jsonl with a document a line)."
        )
    return Text(vocabulary, words, specials, tokens, key, report)
