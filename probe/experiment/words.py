"""The words of the paper's Figure 3, and the dot products of their embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from probe.experiment.estimation import Measured
from probe.show.words import WordDots, choose_words, find_words
from probe.topics.lda import npmi


def word_dots(measured: Measured, words: Sequence[str]) -> WordDots | None:
    """Dot products of rows of the embedding matrix.

    Args:
        measured: a pretrained model.
        words: of the figure; chosen from the topics where none are named.

    Returns:
        None where no topic has enough words.

    Raises:
        ProbeError: a word carries no topic.
    """
    topics = measured.topics
    if words:
        rows = find_words(measured.topic_table, words)
    else:
        coherence = np.array([npmi(topic[None], topics.bags.counts) for topic in topics.topic_word[0]])
        rows = choose_words(measured.topic_table, coherence)
        if rows.empty:
            return None
    number = {token: index for index, token in enumerate(topics.text.words.tokens)}
    place = np.searchsorted(measured.words, [number[token] for token in rows["token"]])
    vectors = measured.word_vectors[place]
    return WordDots(rows["surface"].tolist(), rows["topic"].tolist(), vectors @ vectors.T)
