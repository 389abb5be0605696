"""Figures of trainings: norms by layer (the paper's Figure 5), and topic structure against training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.pretraining.onsets import SIGNIFICANCE
from probe.show.canvas import BLUE, GREEN, GREY, VERMILION, canvas
from probe.show.foreign import one_line

if TYPE_CHECKING:
    import pandas as pd

_MATRICES = {"key": ("W^K", BLUE, "--"), "query": ("W^Q", VERMILION, ":"), "value": ("W^V", GREEN, "-")}
_RATIOS = {
    ("cosine", "word"): ("cosine, word embeddings", BLUE, "o"),
    ("dot", "word"): ("dot product, word embeddings", GREEN, "^"),
    ("attention", "attention"): ("attention", VERMILION, "s"),
}
_SIZE = (3.4, 2.6)
_MARGIN = 1.15


def draw_norms(path: Path, norms: pd.DataFrame, stages: pd.DataFrame) -> None:
    """Draw the norms of W^K, W^Q and W^V against the step, a panel a layer (paper, Figure 5).

    Args:
        path: where the figure goes; the suffix is replaced by .png and .svg.
        norms: `step, layer, matrix, norm`.
        stages: from `probe.pretraining.onsets.find_stages`; a dot stands where half of the growth is made.

    Raises:
        ProbeError: the folder cannot be written.
    """
    layers = sorted(norms["layer"].unique())
    with canvas(path, 1, len(layers), _SIZE, sharey=True) as axes:
        for axis, layer in zip(axes[0], layers, strict=True):
            for matrix, (label, color, line) in _MATRICES.items():
                rows = _only(norms, layer=layer, matrix=matrix)
                axis.plot(rows["step"], rows["norm"], color=color, linestyle=line, label=label)
                half = rows[rows["step"].isin(_only(stages, layer=layer, matrix=matrix)["half"])]
                axis.plot(half["step"], half["norm"], "o", color=color, markersize=4)
            axis.set_title(f"layer {layer}")
            axis.set_xlabel("step (dots: half of the growth)")
        axes[0, 0].set_ylabel("Frobenius norm")
        axes[0, 0].legend()


def draw_structure(path: Path, trainings: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]) -> None:
    """Draw Table 1's ratios and the loss against the step: a column a training, a row a theta.

    A mark is filled where the ratio is above chance.

    Args:
        path: where the figure goes; the suffix is replaced by .png and .svg.
        trainings: by name, `step, theta, measure, site, ratio, low, high, p_value` of the checkpoints, and
            `step, loss`, which may be empty.

    Raises:
        ProbeError: the folder cannot be written.
    """
    thetas = sorted({theta for ratios, _ in trainings.values() for theta in ratios["theta"]})
    losses = any(len(loss) for _, loss in trainings.values())
    names = one_line("".join(trainings))
    with canvas(path, len(thetas) + losses, len(trainings), _SIZE, letters=names, sharex="col") as axes:
        for column, (name, (ratios, loss)) in zip(axes.T, trainings.items(), strict=True):
            column[0].set_title(one_line(name))
            for axis, theta in zip(column, thetas, strict=False):
                _draw_ratios(axis, _only(ratios, theta=theta))
            if len(loss):
                column[-1].plot(loss["step"], loss["loss"], color=GREY, linewidth=1)
            column[-1].set_xlabel("training step")
        for row, theta in zip(axes, thetas, strict=False):
            row[0].set_ylabel(f"theta = {theta:g}\nsame- over different-topic")
            for axis in row:
                _scale(axis, [_only(ratios, theta=theta) for ratios, _ in trainings.values()])
        if losses:
            axes[-1, 0].set_ylabel("training loss")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        axes[0, 0].figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=min(len(labels), len(trainings)),
            title=f"bands: 95 % intervals; filled marks: p < {SIGNIFICANCE:g}",
        )


def _draw_ratios(axis: Any, ratios: pd.DataFrame) -> None:
    for (measure, site), (label, color, mark) in _RATIOS.items():
        known = _only(ratios, measure=measure, site=site).dropna(subset="ratio").sort_values("step")
        axis.fill_between(known["step"], known["low"], known["high"], color=color, alpha=0.15, linewidth=0)
        line = {"color": color, "marker": mark, "markersize": 4, "linewidth": 1}
        axis.plot(known["step"], known["ratio"], markerfacecolor="white", label=label, **line)
        above = known[known["p_value"] < SIGNIFICANCE]
        axis.plot(above["step"], above["ratio"], **line | {"linewidth": 0})
    axis.axhline(1, color=GREY, linewidth=0.8)


def _scale(axis: Any, shown: Sequence[pd.DataFrame]) -> None:
    """A log scale, since embeddings reach many times the ratio of attention; wide intervals may run out of it."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    points = [_only(ratios, measure=measure, site=site)["ratio"] for ratios in shown for measure, site in _RATIOS]
    known = [1.0, *(value for ratios in points for value in ratios if value > 0)]
    low, high = min(known) / _MARGIN, max(known) * _MARGIN
    axis.set_yscale("log")
    axis.set_ylim(low, high)
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)) if high > 2 * low else MaxNLocator(5))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter("{x:g}")


def _only(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The rows with such values."""
    for name, value in values.items():
        frame = frame[frame[name] == value]
    return frame
