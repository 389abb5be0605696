"""The figures of a run: where the topics are in the model, how they depend on theta, and the paper's Figure 3.

Every figure is written as PNG and SVG, and a run repeated gives the same bytes.
"""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError
from probe.show.canvas import BLUE, DIVERGING, GREY, VERMILION, images, style

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

FOLDER = "figures"
_MEASURES = ("cosine", "dot", "attention")
_KINDS = {1: "single", 5: "multiple"}
_NO_VALUE = "#D9D9D9"
# Marks of one theta stand beside each other, so many times to the left or right on the logarithmic axis.
_BESIDE = 1.05


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
        raise ProbeError("The figure of words needs at least two: repeat --words.")
    chosen = known.loc[wanted]
    return _by_topic(chosen, list(dict.fromkeys(chosen["topic"])))


def _by_topic(rows: pd.DataFrame, order: Sequence[int]) -> pd.DataFrame:
    place = {topic: position for position, topic in enumerate(order)}
    return rows.sort_values("topic", key=lambda topic: topic.map(place), kind="stable").reset_index(drop=True)


def draw_figures(folder: Path, tables: Mapping[str, pd.DataFrame], similarity: Mapping[str, WordDots]) -> list[Path]:
    """Draw the figures of a run into `figures/` of its folder, each as PNG and SVG.

    `heads`: attention ratio by layer and head, of the middle theta and single assignment. `theta-table1` and
    `theta-table5`: ratio by theta with intervals, nulls and printed values. `words-MODEL`: dot products of words.

    Args:
        folder: of the run.
        tables: its frames: `table1`, `table5`, `measures`, `layers`.
        similarity: dot products of chosen words by model; a model may be left out.

    Returns:
        The files, all whole.

    Raises:
        ProbeError: the folder cannot be written.
    """
    with style():
        figures = {"heads": _heads(tables["layers"])}
        for number in _KINDS:
            figures[f"theta-table{number}"] = _ratio_by_theta(number, tables[f"table{number}"], tables["measures"])
        for model, words in similarity.items():
            figures[f"words-{_slug(model)}"] = _words(model, words)
        files: dict[str, bytes] = {}
        lacking = False
        for name, figure in figures.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                files |= {f"{name}.{kind}": content for kind, content in images(figure).items()}
            lacking = lacking or any("missing from font" in str(warning.message) for warning in caught)
    if lacking:
        logger.warning("Some letters in the figures are boxes: no font here has them; install Noto Sans of the script.")
    return _write(folder / FOLDER, files)


def _slug(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "model"


def _write(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder, prefix=".writing-"))
        try:
            for name, content in files.items():
                (temporary / name).write_bytes(content)
            return [(temporary / name).replace(folder / name) for name in files]
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise ProbeError(
            f"The figures cannot be written ({error.strerror or error}): name another folder with --out DIR, free some "
            "space, or leave them out with --no-figures."
        ) from error


def _heads(layers: pd.DataFrame) -> Any:
    """Ratio by layer and head: a map a model and kind of weights, one colour scale around 1 for all."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    thetas = sorted(layers["theta"].unique())
    theta = thetas[len(thetas) // 2]
    shown = layers[(layers["theta"] == theta) & (layers["assignment"] == "single")]
    models, kinds = list(dict.fromkeys(shown["model"])), list(dict.fromkeys(shown["weights"]))
    maps = {key: _map(mine) for key, mine in shown.groupby(["model", "weights"], sort=False)}
    reach = _reach(np.concatenate([ratios.ravel() for ratios in maps.values()]))
    norm = LogNorm(1 / reach, reach)
    tallest = [max(len(maps[key]) for key in maps if key[0] == model) for model in models]
    heights = [0.9 + 0.17 * layers_of for layers_of in tallest]
    figure = Figure(figsize=(1.2 + 3.4 * len(kinds), 0.8 + sum(heights)))
    axes = figure.subplots(len(models), len(kinds), squeeze=False, height_ratios=heights)
    image = None
    for row, model in zip(axes, models, strict=True):
        for axis, weights in zip(row, kinds, strict=True):
            if (model, weights) not in maps:
                axis.set_axis_off()
                continue
            ratios = maps[model, weights]
            axis.set_facecolor(_NO_VALUE)
            image = axis.imshow(ratios, cmap=DIVERGING, norm=norm, aspect="auto", interpolation="nearest")
            axis.set_title(f"{model}\n{weights} weights", loc="left")
            axis.set_xlabel("head")
            axis.set_ylabel("layer")
            for side in (axis.xaxis, axis.yaxis):
                side.set_major_locator(MaxNLocator(integer=True, nbins=7))
            axis.spines[:].set_visible(False)
    figure.suptitle(f"Attention, same-topic over different-topic (theta = {theta:g})", x=0.01, ha="left")
    if image is not None:
        bar = figure.colorbar(image, ax=axes, extend="both", shrink=min(1.0, 3.5 / sum(heights)), pad=0.02)
        bar.set_label("ratio (log scale)")
        bar.set_ticks(_around_one(reach))
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2g}" if value < 1 else f"{value:g}"))
        bar.ax.yaxis.set_minor_locator(_none())
    return figure


def _map(rows: pd.DataFrame) -> np.ndarray:
    """[layers, heads] ratios; NaN where there is none, or none that a log scale can show."""
    ratios = rows.pivot(index="layer", columns="head", values="ratio").to_numpy(dtype=float)
    return np.where(np.isfinite(ratios) & (ratios > 0), ratios, np.nan)


def _reach(ratios: np.ndarray) -> float:
    """How far from 1 the colours go: as far as 99 in 100 heads."""
    known = ratios[np.isfinite(ratios)]
    return max(1.02, float(np.exp(np.quantile(np.abs(np.log(known)), 0.99)))) if len(known) else 1.02


def _around_one(reach: float) -> list[float]:
    steps = [step for step in (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100) if step <= reach][-3:]
    return [*(1 / step for step in reversed(steps)), 1.0, *steps]


def _none() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _ratio_by_theta(number: int, table: pd.DataFrame, measures: pd.DataFrame) -> Any:
    """Ratio by theta: a row a model, a column a measure; intervals, nulls as bands, printed values as crosses."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator

    models = list(dict.fromkeys(table["model"]))
    thetas = sorted(table["theta"].unique())
    figure = Figure(figsize=(9, 0.9 + 2.2 * len(models)))
    axes = figure.subplots(len(models), len(_MEASURES), squeeze=False, sharex=True)
    for row, model in zip(axes, models, strict=True):
        mine = table[table["model"] == model]
        for axis, measure in zip(row, _MEASURES, strict=True):
            axis.axhline(1, color="black", linewidth=0.6, zorder=0)
            for weights, colour, mark, side in (
                ("pretrained", BLUE, "o", 1 / _BESIDE),
                ("random", GREY, "s", _BESIDE),
            ):
                rows = mine[mine["weights"] == weights].sort_values("theta")
                if len(rows):
                    _points(axis, rows, measure, colour, mark, side, f"{weights} (95 %)")
                    if weights == "pretrained":
                        _null_band(axis, number, rows, measures, measure)
                    _printed(axis, rows, measure, side**3, weights)
            axis.set_xscale("log")
            axis.xaxis.set_major_locator(FixedLocator(thetas))
            axis.xaxis.set_major_formatter(FixedFormatter([f"{theta:g}" for theta in thetas]))
            axis.xaxis.set_minor_locator(_none())
            axis.set_xlim(thetas[0] / 1.35, thetas[-1] * 1.35)
            axis.yaxis.set_major_locator(MaxNLocator(5))
            axis.set_title(measure, loc="left")
        row[0].set_ylabel(f"{model}\nratio", fontsize=9 if len(model) < 24 else 7)
    for axis in axes[-1]:
        axis.set_xlabel("theta")
    figure.align_ylabels(axes[:, 0])
    names: dict[str, Any] = {}
    for axis in axes.ravel():
        handles, labels = axis.get_legend_handles_labels()
        names |= {label: handle for handle, label in zip(handles, labels, strict=True) if label not in names}
    several = {1: "one topic a word", 5: "several topics a word"}[number]
    figure.suptitle(f"Same-topic over different-topic, {several} (Table {number})", x=0.01, ha="left")
    if names:
        figure.legend(list(names.values()), list(names), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _points(axis: Any, rows: pd.DataFrame, measure: str, colour: str, mark: str, side: float, label: str) -> None:
    value, low, high = (rows[f"{measure}_ratio{end}"].to_numpy(dtype=float) for end in ("", "_low", "_high"))
    known = np.isfinite(value)
    if not known.any():
        return
    at = rows["theta"].to_numpy(dtype=float) * side
    axis.vlines(at[known], low[known], high[known], color=colour, linewidth=1.4)
    axis.plot(
        at[known],
        value[known],
        mark,
        color=colour,
        markersize=5,
        markerfacecolor=colour if mark == "o" else "white",
        label=label,
    )


def _null_band(axis: Any, number: int, rows: pd.DataFrame, measures: pd.DataFrame, measure: str) -> None:
    first = rows.iloc[0]
    site = "attention" if measure == "attention" else first["site"]
    null = measures[
        (measures["model"] == first["model"])
        & (measures["weights"] == first["weights"])
        & (measures["assignment"] == _KINDS[number])
        & (measures["measure"] == measure)
        & (measures["site"] == site)
    ].sort_values("theta")
    theta = null["theta"].to_numpy(dtype=float)
    low, high = (null[f"null_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
    for at, least, most in zip(theta, low, high, strict=True):
        if np.isfinite(least):
            axis.fill_between(
                [at / _BESIDE**3, at * _BESIDE**3],
                least,
                most,
                color=BLUE,
                alpha=0.18,
                linewidth=0,
                label="pretrained, topics permuted (95 %)",
            )


def _printed(axis: Any, rows: pd.DataFrame, measure: str, side: float, weights: str) -> None:
    printed = rows[f"paper_{measure}_ratio"].to_numpy(dtype=float)
    if np.isfinite(printed).any():
        axis.plot(
            rows["theta"].to_numpy(dtype=float) * side,
            printed,
            "x",
            color=VERMILION if weights == "pretrained" else GREY,
            markersize=6,
            markeredgewidth=1.6,
            label=f"{weights}, printed in the paper",
        )


def _words(model: str, words: WordDots) -> Any:
    """Dot products of words, blocks by topic; a word with itself is left out."""
    from matplotlib.figure import Figure

    size = len(words.surfaces)
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
    axis.set_facecolor(_NO_VALUE)
    image = axis.imshow(others, cmap=DIVERGING, vmin=centre - reach, vmax=centre + reach, interpolation="nearest")
    starts = [0, *(np.flatnonzero(np.diff(topics)) + 1).tolist(), size]
    for start in starts[1:-1]:
        axis.axhline(start - 0.5, color="black", linewidth=0.5)
        axis.axvline(start - 0.5, color="black", linewidth=0.5)
    axis.set_yticks(range(size), words.surfaces, fontsize=7)
    axis.set_xticks(range(size), words.surfaces, fontsize=7, rotation=90)
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
