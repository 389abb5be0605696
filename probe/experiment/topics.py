"""Stage two: topics are fitted to the text, and every unambiguous word gets its topic."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError
from probe.experiment.context import Context, versions
from probe.experiment.text import Text
from probe.storage.files import write_array
from probe.text.bags import Bags, bags_of_words
from probe.text.passages import cut_passages
from probe.topics.assignment import KINDS, Assignment, assign_topics
from probe.topics.lda import fit_lda
from probe.topics.settings import LdaSettings

if TYPE_CHECKING:
    from corpora import Corpus

_PACKAGES = ("gensim", "numpy", "scipy")


@dataclass(frozen=True)
class Topics:
    """The topics of a text.

    Attributes:
        text: what they were fitted to.
        bags: word counts of its passages.
        topic_word: of each topic model, [topics, n] p(w | t).
        assignments: of words to topics, for every topic model, theta and kind.
        texts: how many texts the topic models read.
        key: decides the topics.
    """

    text: Text
    bags: Bags
    topic_word: list[np.ndarray]
    assignments: list[Assignment]
    texts: int
    key: dict[str, Any]


def fit_topics(text: Text, corpus: Corpus, context: Context) -> Topics:
    """Fit the topic models to a text, or find them finished, and assign words to topics.

    Args:
        text: the corpus as a model reads it.
        corpus: what it was made of.
        context: of the run.

    Raises:
        ProbeError: the text does not serve, or no two words carry a topic.
    """
    settings = context.settings
    passages = cut_passages(text.tokens, settings.max_length, len(text.specials))
    with context.timed("bags"):
        bags = bags_of_words(text.tokens, np.append(passages.start, text.tokens.offsets[-1]))
        lda_bags = bags if corpus.lda_unit == "passage" else bags_of_words(text.tokens, text.tokens.offsets)
    key: dict[str, Any] = {
        "tokens": text.key,
        "unit": corpus.lda_unit if corpus.lda_unit == "document" else f"passage of {settings.max_length}",
        "versions": versions(_PACKAGES),
    }
    topic_word = []
    for seed in range(settings.seed, settings.seed + settings.lda_seeds):
        lda = LdaSettings(**(asdict(settings.lda) | {"random_state": seed}))
        key = key | {"lda": asdict(lda)}
        topic_word.append(_fitted(lda_bags, lda, key, f"{corpus.lda_unit}s", context))
    return Topics(text, bags, topic_word, _assignments(topic_word, context), lda_bags.counts.shape[0], key)


def reassigned(topics: Topics, context: Context) -> Topics:
    """Topics that were fitted before, with the assignments that this run asks for.

    Raises:
        ProbeError: no two words carry a topic.
    """
    return replace(topics, assignments=_assignments(topics.topic_word, context))


def _fitted(bags: Bags, lda: LdaSettings, key: dict[str, Any], unit: str, context: Context) -> np.ndarray:
    """One topic model."""

    def write(folder: Path) -> None:
        with context.progress.stage(f"Fitting {lda.topics} topics to {bags.counts.shape[0]:,} {unit}", 1.0) as stage:
            write_array(folder / "topic_word.npy", fit_lda(bags.counts, lda, stage.at))

    with context.timed("lda"):
        folder, found = context.cache.make("topics", key, write)
    if found:
        context.progress.note(f"Topics of seed {lda.random_state}: already finished.")
    return np.load(folder / "topic_word.npy")


def _assignments(topic_word: list[np.ndarray], context: Context) -> list[Assignment]:
    assignments = [
        assign_topics(one, theta, kind, seed)
        for seed, one in enumerate(topic_word)
        for theta in context.settings.theta
        for kind in KINDS
    ]
    if all(len(assignment.words) < 2 for assignment in assignments):
        raise ProbeError(
            "No two words carry a topic, so there is no pair to measure: use a larger --theta, more text, or fewer "
            "--topics."
        )
    return assignments
