"""The figure of words: dot products of chosen words, blocks by topic (paper, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError
from probe.show.canvas import DIVERGING, NO_VALUE
from probe.show.foreign import one_line

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class WordDots:
    """Dot products of chosen words, for the paper's Figure 3.

    Attributes:
        surfaces: [words] how the words are written.
        topics: [words] the topic of each; words of one topic stand together.
        dots: [words, words] dot products of rows of W^E.
    """

    surfaces: Sequence[str]
    topics: Sequence[int]
    dots: np.ndarray


def choose_words(topics: pd.DataFrame, coherence: np.ndarray, *, shown: int = 10, each: int = 5) -> pd.DataFrame:
    """Choose unambiguous words of the most coherent topics (paper, Figure 3).

    A word is unambiguous when one topic alone keeps it at every theta. Topics with fewer than `each` are passed over.

    Args:
        topics: `topics.csv`, the rows of one model.
        coherence: [topics] how coherent each topic is; `probe.topics.lda.npmi` of one topic, say.
        shown: topics wanted.
        each: words wanted of each, the likeliest.

    Returns:
        The chosen rows, topic after topic, likeliest word first; none where no topic has so many.
    """
    widest = topics[topics["theta"] == topics["theta"].max()]
    alone = widest[~widest.duplicated("token", keep=False)]
    # Two tokens of one surface are the same word.
    alone = alone[~alone.duplicated("surface")]
    sizes = alone.groupby("topic")["token"].size()
    best = [topic for topic in np.argsort(-np.asarray(coherence), kind="stable") if sizes.get(topic, 0) >= each]
    chosen = alone[(alone["topic"].isin(best[:shown])) & (alone.groupby("topic").cumcount() < each)]
    return _by_topic(chosen, best)


def find_words(topics: pd.DataFrame, words: Sequence[str]) -> pd.DataFrame:
    """The rows of words that a user names.

    Args:
        topics: `topics.csv`, the rows of one model.
        words: surfaces; case does not matter.

    Returns:
        A row a word, that of the topic which keeps it in single assignment; topics in the order in which they are
        first named.

    Raises:
        ProbeError: a word carries no topic, or fewer than two are named.
    """
    widest = topics[(topics["theta"] == topics["theta"].max()) & (topics["kept"] == 1)]
    known = widest.drop_duplicates("surface").set_index("surface", drop=False)
    wanted = list(dict.fromkeys(word.casefold() for word in words))
    missing = [word for word in wanted if word not in known.index]
    if missing:
        raise ProbeError(
            f"No topic keeps {', '.join(missing)}: name words with kept = 1 in topics.csv, or raise --theta."
        )
    if len(wanted) < 2:
        raise ProbeError("The figure of words needs at least two: repeat --figure-words.")
    chosen = known.loc[wanted]
    return _by_topic(chosen, list(dict.fromkeys(chosen["topic"])))


def _by_topic(rows: pd.DataFrame, order: Sequence[int]) -> pd.DataFrame:
    place = {topic: position for position, topic in enumerate(order)}
    return rows.sort_values("topic", key=lambda topic: topic.map(place), kind="stable").reset_index(drop=True)


def draw_words(model: str, words: WordDots) -> Any:
    """Dot products of words, blocks by topic; a word with itself is left out."""
    from matplotlib.figure import Figure

    size = len(words.surfaces)
    surfaces = list(map(one_line, words.surfaces))
    topics = np.asarray(words.topics)
    others = np.where(np.eye(size, dtype=bool), np.nan, words.dots)
    same = topics[:, None] == topics
    here, elsewhere = _mean(others[same]), _mean(others[~same])
    # White is what words of different topics have, so that a topic shows as a red block.
    centre = elsewhere if np.isfinite(elsewhere) else _mean(others)
    reach = float(np.nanquantile(np.abs(others - centre), 0.99)) or 1.0
    inches = max(3.5, 0.15 * size)
    figure = Figure(figsize=(inches + 3.2, inches + 1.2))
    axis = figure.subplots()
    axis.set_facecolor(NO_VALUE)
    image = axis.imshow(others, cmap=DIVERGING, vmin=centre - reach, vmax=centre + reach, interpolation="nearest")
    starts = [0, *(np.flatnonzero(np.diff(topics)) + 1).tolist(), size]
    for start in starts[1:-1]:
        axis.axhline(start - 0.5, color="black", linewidth=0.5)
        axis.axvline(start - 0.5, color="black", linewidth=0.5)
    axis.set_yticks(range(size), surfaces, fontsize=7)
    axis.set_xticks(range(size), surfaces, fontsize=7, rotation=90)
    axis.tick_params(length=0)
    right = axis.secondary_yaxis("right")
    middles = [(start + end - 1) / 2 for start, end in pairwise(starts)]
    right.set_yticks(middles, [f"topic {topics[start]}" for start in starts[:-1]], fontsize=7)
    right.tick_params(length=0)
    for spines in (axis.spines, right.spines):
        spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axis, extend="both", shrink=min(1.0, 3.5 / inches), pad=0.02)
    bar.set_label("dot product of embeddings (white: mean of different topics)")
    axis.set_title(f"{model}: mean of one topic {here:.3g}, of different topics {elsewhere:.3g}", loc="left")
    return figure


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
