"""The tables of single topics: what each adds to an effect, and where it lies on a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from probe.results.schema import TOPIC_EFFECT_COLUMNS, TOPIC_MAP_COLUMNS
from probe.topics.map import positions, topic_distances, topic_shares

if TYPE_CHECKING:
    from probe.results.tables import ModelResult

# One measure a subject of Table 1; the dot product says what the cosine says.
_MEASURES = (("cosine", "word"), ("attention", "attention"))


def topic_effects_table(results: Sequence[ModelResult]) -> pd.DataFrame:
    """`topic_effects.csv`: cosine and attention by topic, of pretrained weights, single assignment, first topic model.

    `ratio` is the same-topic mean of a topic over the different-topic mean of all topics, which is not as wild as that
    of one topic; it is withheld where the ratio of all topics is.
    """
    frames = [pd.DataFrame(columns=TOPIC_EFFECT_COLUMNS)]
    for result in results:
        for one in result.estimates:
            here = (one.measure, one.site) in _MEASURES and one.assignment.seed == 0
            if result.weights != "pretrained" or one.by_topic is None or not here:
                continue
            found, estimate = one.by_topic, one.estimate
            frames.append(
                pd.DataFrame(
                    {
                        "model": result.model,
                        "theta": one.assignment.theta,
                        "measure": one.measure,
                        "topic": np.arange(len(found.words)),
                        "words": found.words,
                        "same": found.same,
                        "different": found.different,
                        "ratio": found.same / (np.nan if estimate.withheld else estimate.different),
                        "share": found.share,
                        "same_pairs": found.same_pairs,
                        "different_pairs": found.different_pairs,
                    }
                )
            )
    filled = [frame for frame in frames if len(frame)] or frames
    return pd.concat(filled, ignore_index=True)[TOPIC_EFFECT_COLUMNS]


def topic_map_table(model: str, topic_word: np.ndarray, counts: np.ndarray) -> pd.DataFrame:
    """`topic_map.csv` of one model: each topic's share of the text, and its place on a map.

    Args:
        model: the model whose tokenizer made the words.
        topic_word: [topics, n] p(w | t).
        counts: [n] how often each word occurs.
    """
    places = positions(topic_distances(topic_word))
    table = {"topic": np.arange(len(places)), "share": topic_shares(topic_word, counts)}
    return pd.DataFrame({"model": model, **table, "x": places[:, 0], "y": places[:, 1]})[TOPIC_MAP_COLUMNS]
