"""`probe.fit_topics`, `probe.assign_topics`: the topics of a corpus, before any model is measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.api.progress import chosen_progress
from probe.api.refusals import one_refusal
from probe.api.running import take_settings
from probe.errors import ProbeError
from probe.experiment.context import begin
from probe.experiment.given import Given
from probe.experiment.settings import RunSettings
from probe.experiment.text import OpenText, open_text, tokenize_corpus
from probe.models.loading import load_tokenizer
from probe.storage.cache import digest
from probe.topics.theta import check_theta

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from probe.experiment.topics import Topics

_SHOWN = 8


@dataclass(frozen=True, repr=False)
class FittedTopics:
    """The topics of a corpus as one tokenizer reads it.

    Attributes:
        model: whose tokenizer it is.
        settings: every argument.
        given: objects that some of the settings stand for.
        opened: the corpus.
        fitted: the topic models.
        token_rules: what decides the tokens.
        cache: folder of finished work.
    """

    model: str
    settings: RunSettings
    given: Given
    opened: OpenText
    fitted: Topics
    token_rules: str
    cache: Path

    @property
    def topic_word(self) -> np.ndarray:
        """[topics, n] p(w | t) of the first topic model."""
        return self.fitted.topic_word[0]

    @property
    def vocabulary(self) -> list[str]:
        """[n] the words, as the tokenizer writes them in a text."""
        surfaces = self.fitted.text.words.surfaces
        return [surfaces[word] for word in self.fitted.bags.words]

    def words(self, topic: int, count: int = 10) -> list[str]:
        """The likeliest words of a topic.

        Args:
            topic: its number, from 0.
            count: how many words.

        Raises:
            ProbeError: there is no such topic.
        """
        from probe.topics.assignment import rank_words

        topics = len(self.topic_word)
        if not 0 <= topic < topics:
            raise ProbeError(f"There is no topic {topic}: name one from 0 to {topics - 1}.")
        vocabulary = self.vocabulary
        return [vocabulary[word] for word in rank_words(self.topic_word[topic : topic + 1], count)[0]]

    def __repr__(self) -> str:
        topics, n = self.topic_word.shape
        head = f"{topics} topics of {n:,} words: {self.opened.corpus.name}, read by {self.model}\n"
        return head + "\n".join(f"{topic:4}  {' '.join(self.words(topic, _SHOWN))}" for topic in range(topics))


@one_refusal
def fit_topics(
    corpus: Any = "wikipedia-sample",
    model: Any = "minilm",
    *,
    tokenizer: Any = None,
    cache: str | Path | None = None,
    progress: Any = None,
    **settings: Any,
) -> FittedTopics:
    """Fit topics to a corpus, as the tokenizer of a model reads it.

    Args:
        corpus: a name, a path, or texts, as for `probe.run`.
        model: one model, as for `probe.run`; only its tokenizer is used.
        tokenizer: of a model that is given as an object.
        cache: a folder for finished work.
        progress: receives the stages, as for `probe.run`.
        settings: fields of `probe.experiment.settings.RunSettings`: `documents`, `lda`, `seed` and so on.

    Raises:
        ProbeError: an argument or an input cannot be used.
    """
    chosen, given = take_settings(model, corpus, settings.pop("theta", None), tokenizer, settings)
    if len(chosen.model) > 1:
        raise ProbeError("Topics are fitted to the tokens of one model: name one.")
    context = begin(chosen, cache, chosen_progress(progress), given)
    opened = open_text(context)
    from probe.experiment.models import find_models
    from probe.experiment.topics import fit_topics as fit

    (source,) = find_models(context)
    text = tokenize_corpus(source, opened, context)
    if text is None:
        raise ProbeError("Topics are fitted by one process: start it without torchrun, or use probe.run.")
    fitted, rules = fit(text, opened.corpus, context), token_rules(load_tokenizer(source))
    return FittedTopics(source.name, chosen, given, opened, fitted, rules, context.cache.root)


def token_rules(tokenizer: Any) -> str:
    """What decides the tokens of a text: a tokenizer's definition, without how it cuts and pads."""
    definition = json.loads(tokenizer.backend_tokenizer.to_str())
    return digest({key: value for key, value in definition.items() if key not in ("truncation", "padding")})


def assign_topics(topics: FittedTopics, theta: float | Sequence[float] = 0.001, kind: str = "single") -> pd.DataFrame:
    """Give words their topics: of each topic the k = floor(theta n) + 1 likeliest are kept.

    Args:
        topics: from `fit_topics`.
        theta: ambiguity threshold or several.
        kind: "single" (a word stays only with the topic where p(w | t) is highest) or "multiple" (it stays with every
            topic that keeps it).

    Returns:
        The columns theta, topic, rank (from 0), token, surface, likelihood: a row for each word of each topic.

    Raises:
        ProbeError: theta or kind cannot be used.
    """
    from probe.results.tables import topics_table
    from probe.topics.assignment import KINDS

    if kind not in KINDS:
        raise ProbeError(f"There is no assignment {kind}: use {' or '.join(KINDS)}.")
    thetas = (theta,) if isinstance(theta, int | float) else tuple(theta)
    for one in thetas:
        check_theta(one)
    fitted = topics.fitted
    table = topics_table(topics.model, thetas, topics.topic_word, fitted.bags.words, fitted.text.words)
    kept = table[table["kept"] == 1] if kind == "single" else table
    return kept.drop(columns=["model", "kept"]).reset_index(drop=True)
