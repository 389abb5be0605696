"""Figures of a training: norms by layer (the paper's Figure 5), and topic structure against training step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.files import whole_file

if TYPE_CHECKING:
    import pandas as pd

    from probe.pretraining.dynamics import Dynamics

_STYLE = {
    "svg.hashsalt": "topic-probe",
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "text.parse_math": False,
}
# Blue, vermilion, green: told apart by every kind of color vision.
_MATRICES = {"key": ("W^K", "#0072B2", "--"), "query": ("W^Q", "#D55E00", ":"), "value": ("W^V", "#009E73", "-")}
_RATIOS = {
    ("cosine", "word"): ("cosine, word embeddings", "#0072B2", "o"),
    ("dot", "word"): ("dot product, word embeddings", "#009E73", "^"),
    ("attention", "attention"): ("attention", "#D55E00", "s"),
}
_GREY = "#6E6E6E"


def draw_dynamics(folder: Path, dynamics: Dynamics) -> None:
    """Draw `figure5` and `topic-structure` into a folder, each as PNG and SVG.

    Args:
        folder: made if missing.
        dynamics: of one training.

    Raises:
        ProbeError: the folder cannot be written.
    """
    layers = sorted(dynamics.norms["layer"].unique())
    with _canvas(folder / "figure5", 1, len(layers), sharey=True) as axes:
        for axis, layer in zip(axes[0], layers, strict=True):
            _draw_norms(axis, dynamics.norms[dynamics.norms["layer"] == layer])
            axis.set_title(f"layer {layer}")
            axis.set_xlabel("training step")
        axes[0, 0].set_ylabel("Frobenius norm")
        axes[0, 0].legend()
    thetas = sorted(dynamics.ratios["theta"].unique())
    with _canvas(folder / "topic-structure", 1, len(thetas) + bool(len(dynamics.loss))) as axes:
        for axis, theta in zip(axes[0], thetas, strict=False):
            _draw_ratios(axis, dynamics.ratios[dynamics.ratios["theta"] == theta])
            axis.set_title(f"theta = {theta:g}")
            axis.set_xlabel("training step")
        axes[0, 0].set_ylabel("same-topic over different-topic")
        axes[0, 0].legend()
        if len(dynamics.loss):
            loss = axes[0, -1]
            loss.plot(dynamics.loss["step"], dynamics.loss["loss"], color=_GREY, linewidth=1)
            loss.set_title("training loss")
            loss.set_xlabel("training step")


def _draw_norms(axis: Any, norms: pd.DataFrame) -> None:
    for matrix, (label, color, line) in _MATRICES.items():
        rows = norms[norms["matrix"] == matrix]
        axis.plot(rows["step"], rows["norm"], color=color, linestyle=line, label=label)


def _draw_ratios(axis: Any, ratios: pd.DataFrame) -> None:
    for (measure, site), (label, color, mark) in _RATIOS.items():
        rows = ratios[(ratios["measure"] == measure) & (ratios["site"] == site)].sort_values("step")
        known = rows[rows["ratio"].notna()]
        axis.plot(known["step"], known["ratio"], color=color, marker=mark, markersize=3, linewidth=1, label=label)
        axis.fill_between(known["step"], known["low"], known["high"], color=color, alpha=0.15, linewidth=0)
    axis.axhline(1, color=_GREY, linewidth=0.8)
    # Embeddings reach many times the ratio of attention.
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("{x:g}")
    axis.set_xlim(ratios["step"].min(), ratios["step"].max())


@contextmanager
def _canvas(path: Path, rows: int, columns: int, **arguments: Any) -> Iterator[Any]:
    """Axes [rows, columns], saved as PNG and SVG at `path` when the block ends."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(3.8 * columns, 3.0 * rows), layout="constrained")
        yield figure.subplots(rows, columns, squeeze=False, **arguments)
        # A date or a version would make bytes differ.
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            with whole_file(path.with_suffix(f".{kind}")) as temporary:
                figure.savefig(temporary, format=kind, metadata=metadata)
