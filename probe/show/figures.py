"""The figures of a run: where the topics are in the model, how they depend on theta, and the paper's Figure 3.

Every figure is written as PNG and SVG, and a run repeated gives the same bytes.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError
from probe.show.canvas import BLUE, DIVERGING, GREY, NO_VALUE, VERMILION, images, shown, style
from probe.show.foreign import file_name, one_line
from probe.show.words import WordDots, draw_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FOLDER = "figures"
_MEASURES = ("cosine", "dot", "attention")
_KINDS = {1: "single", 5: "multiple"}
# Marks of one theta stand beside each other, so many times to the left or right on the logarithmic axis.
_BESIDE = 1.05


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
    letters = "".join([*tables["table1"]["model"], *(word for words in similarity.values() for word in words.surfaces)])
    with style(letters=one_line(letters)):
        figures = {"heads": _heads(tables["layers"])}
        for number in _KINDS:
            figures[f"theta-table{number}"] = _ratio_by_theta(number, tables[f"table{number}"], tables["measures"])
        for name, (model, words) in zip(_file_names(similarity), similarity.items(), strict=True):
            figures[f"words-{name}"] = draw_words(one_line(model), words)
        files: dict[str, bytes] = {}
        for name, figure in figures.items():
            files |= {f"{name}.{kind}": content for kind, content in images(figure).items()}
    return _write(folder / FOLDER, files)


def draw_figure(name: str, tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw one figure, which a notebook shows as the PNG that a run writes.

    Args:
        name: "heads", "theta" or "theta-table1", "theta-table5".
        tables: the frames of a run: `table1`, `table5`, `measures`, `layers`.

    Raises:
        ProbeError: there is no such figure.
    """
    numbers = {"theta": 1} | {f"theta-table{number}": number for number in _KINDS}
    if name != "heads" and name not in numbers:
        raise ProbeError(f"There is no figure {name}: draw one of {', '.join(numbers)}, heads.")
    with style(letters=one_line("".join(tables["table1"]["model"]))):
        if name == "heads":
            return shown(_heads(tables["layers"]))
        number = numbers[name]
        return shown(_ratio_by_theta(number, tables[f"table{number}"], tables["measures"]))


def _file_names(models: Iterable[str]) -> list[str]:
    """A name for each model's file, no two alike, nor alike where a file system tells no capitals."""
    found: list[str] = []
    for model in models:
        name, number = file_name(model), 1
        while name.casefold() in map(str.casefold, found):
            number += 1
            name = f"{file_name(model)}-{number}"
        found.append(name)
    return found


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
            axis.set_facecolor(NO_VALUE)
            image = axis.imshow(ratios, cmap=DIVERGING, norm=norm, aspect="auto", interpolation="nearest")
            axis.set_title(f"{one_line(model)}\n{weights} weights", loc="left")
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
        row[0].set_ylabel(f"{one_line(model)}\nratio", fontsize=9 if len(model) < 24 else 7)
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
