"""A corpus as one model reads it: its tokens, its bags of words, and its topics."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError
from probe.experiment.context import TOKEN_PACKAGES, Context, versions
from probe.models.loading import load_tokenizer
from probe.models.sources import ModelSource
from probe.storage.files import write_array
from probe.text.bags import Bags, bags_of_words
from probe.text.passages import SpecialTokens, cut_passages, special_tokens
from probe.text.tokens import Tokens, send_tokens, tokenize
from probe.text.vocabulary import Vocabulary, build_vocabulary
from probe.topics.lda import fit_lda
from probe.topics.settings import LdaSettings

if TYPE_CHECKING:
    from corpora import Corpus

# What decides the content of a cached entry besides the arguments.
_TOPIC_PACKAGES = ("gensim", "numpy", "scipy")


@dataclass(frozen=True)
class Prepared:
    """A corpus as one model reads it, with its topics.

    Attributes:
        vocabulary: of the model's tokenizer.
        specials: what the tokenizer puts around a passage.
        tokens: of the corpus.
        bags: word counts of its passages.
        topic_word: of each topic model, [topics, n] p(w | t).
        texts: how many texts the topic models read.
        key: decides the topics.
        report: of the reading.
    """

    vocabulary: Vocabulary
    specials: SpecialTokens
    tokens: Tokens
    bags: Bags
    topic_word: list[np.ndarray]
    texts: int
    key: dict[str, Any]
    report: dict[str, Any]


def prepare(source: ModelSource, corpus: Corpus, stop_words: frozenset[str], context: Context) -> Prepared | None:
    """Tokenize the corpus for a model and fit its topics, or find both finished.

    Returns:
        What rank 0 has; None on the other ranks, which tokenize their share.

    Raises:
        ProbeError: the corpus does not serve.
    """
    settings, progress, ranks = context.settings, context.progress, context.ranks
    tokenizer = load_tokenizer(source)
    vocabulary = build_vocabulary(tokenizer, stop_words)
    key: dict[str, Any] = {
        "corpus": corpus.fingerprint(),
        "tokenizer": vocabulary.fingerprint,
        "versions": versions(TOKEN_PACKAGES),
    }

    def write_tokens(folder: Path) -> None:
        with progress.stage(f"Reading and tokenizing {corpus.name}", settings.documents) as stage:
            tokenize(corpus, tokenizer, vocabulary, folder, stage.at, ranks)
        (folder / "report.json").write_text(json.dumps(corpus.report().as_dict()), encoding="utf-8")

    with context.timed("tokens"):
        finished = ranks.share(ranks.leads and context.cache.find("tokens", key) is not None)
        if not ranks.leads:
            if not finished:
                send_tokens(corpus, tokenizer, vocabulary, ranks)
            return None
        folder, found = context.cache.make("tokens", key, write_tokens)
        if found:
            progress.note(f"Tokens of {corpus.name} for {source.name}: found finished.")
        tokens = Tokens.load(folder)
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    if len(np.unique(tokens.whole)) < 2:
        raise ProbeError(
            f"The corpus {corpus.name} holds one document, and intervals are drawn over documents: give at least "
            "two (a folder of .txt files, or a .jsonl with a document a line)."
        )
    specials = special_tokens(tokenizer)
    passages = cut_passages(tokens, settings.max_length, len(specials))
    with context.timed("bags"):
        bags = bags_of_words(tokens, np.append(passages.start, tokens.offsets[-1]))
        lda_bags = bags if corpus.lda_unit == "passage" else bags_of_words(tokens, tokens.offsets)
    key = {
        "tokens": key,
        "unit": corpus.lda_unit if corpus.lda_unit == "document" else f"passage of {settings.max_length}",
        "versions": versions(_TOPIC_PACKAGES),
    }
    topic_word = []
    for seed in range(settings.seed, settings.seed + settings.lda_seeds):
        lda = LdaSettings(**(asdict(settings.lda) | {"random_state": seed}))
        key = key | {"lda": asdict(lda)}

        def write_topics(folder: Path, lda: LdaSettings = lda) -> None:
            description = f"Fitting {lda.topics} topics to {lda_bags.counts.shape[0]:,} {corpus.lda_unit}s"
            with progress.stage(description, 1.0) as stage:
                write_array(folder / "topic_word.npy", fit_lda(lda_bags.counts, lda, stage.at))

        with context.timed("lda"):
            folder, found = context.cache.make("topics", key, write_topics)
        if found:
            progress.note(f"Topics of {corpus.name} for {source.name} (seed {seed}): found finished.")
        topic_word.append(np.load(folder / "topic_word.npy"))
    texts = lda_bags.counts.shape[0]
    return Prepared(vocabulary, specials, tokens, bags, topic_word, texts, key, report)
