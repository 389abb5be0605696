"""The synthetic figures, in the paper's layout; the same numbers give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from probe.show.canvas import BLUE, DIVERGING, GREEN, SEQUENTIAL, VERMILION, canvas

_LINES = (BLUE, VERMILION, GREEN)

Numbers = NDArray[np.float64]


def matrices(path: Path, panels: Sequence[tuple[str, Numbers]], label: str) -> None:
    """One heat map a panel, in a row, each with its own scale around zero (Figures 1, 2, 9 and 10).

    Args:
        path: Where the figure goes; the suffix is replaced.
        panels: Title and matrix of each.
        label: What an entry is.
    """
    with canvas(path, 1, len(panels), (3.1, 2.9)) as axes:
        for axis, (title, matrix) in zip(axes[0], panels, strict=True):
            reach = float(np.abs(matrix).max()) or 1.0
            image = axis.imshow(matrix, cmap=DIVERGING, vmin=-reach, vmax=reach, interpolation="nearest")
            axis.set_title(title)
            axis.set_xlabel("token (0 is [MASK])")
            axis.figure.colorbar(image, ax=axis, shrink=0.8, label=label)
        axes[0, 0].set_ylabel("token (0 is [MASK])")


def norms(path: Path, panels: Sequence[tuple[str, Numbers, dict[str, Numbers]]]) -> None:
    """Norms of W^K, W^Q and W^V over training, one panel a setting (Figure 4).

    Args:
        path: Where the figure goes.
        panels: Title, steps, and the norms by name, [entries, runs]; every run is a line.
    """
    with canvas(path, 1, len(panels), (4.2, 3.0)) as axes:
        for axis, (title, steps, lines) in zip(axes[0], panels, strict=True):
            for color, (name, values) in zip(_LINES, lines.items(), strict=True):
                axis.plot(steps, values, color=color, linewidth=1, alpha=0.8)
                axis.plot([], [], color=color, label=name)
            axis.set_title(title)
            axis.set_xlabel("step")
            axis.legend(loc="center right")
        axes[0, 0].set_ylabel("Frobenius norm")


def landscapes(
    path: Path,
    panels: Sequence[tuple[str, Numbers]],
    alphas: Numbers,
    betas: Numbers,
    minima: Sequence[tuple[float, float]],
    bands: Sequence[Sequence[tuple[Numbers, Numbers]]],
) -> None:
    """Loss over (α, β), one panel a τ, with the theorem's bounds and the lowest point (Figures 7 and 8).

    Args:
        path: Where the figure goes.
        panels: Title and loss [alphas, betas] of each.
        alphas: Rows, evenly spaced in the logarithm.
        betas: Columns.
        minima: (α, β) of the lowest loss in each panel.
        bands: Curves (β, α) of the bounds of each panel.
    """
    with canvas(path, 1, len(panels), (3.3, 3.0), formulas=True, sharey=True) as axes:
        for axis, (title, loss), (alpha, beta), curves in zip(axes[0], panels, minima, bands, strict=True):
            shown = np.log10(loss - loss.min() + 1e-6)
            mesh = axis.pcolormesh(betas, alphas, shown, cmap=SEQUENTIAL, shading="nearest", rasterized=True)
            for curve in curves:
                axis.plot(*curve, color="white", linewidth=1, linestyle="--")
            axis.plot(beta, alpha, marker="*", color=VERMILION, markersize=9, markeredgecolor="white")
            axis.set(title=title, xscale="log", yscale="log", xlabel="β")
            axis.set_xlim(betas[0], betas[-1])
            axis.set_ylim(alphas[0], alphas[-1])
        axes[0, 0].set_ylabel("α")
        axes[0, -1].figure.colorbar(mesh, ax=axes[0, -1], label="log10(loss - lowest + 1e-6)")


def grid(
    path: Path,
    panels: Sequence[tuple[str, Numbers]],
    rows: Sequence[str],
    columns: Sequence[str],
    labels: tuple[str, str, str],
) -> None:
    """Scores between 0 and 1 over two settings, the numbers written in the cells.

    Args:
        path: Where the figure goes.
        panels: Title and scores [rows, columns] of each; NaN is a failed cell.
        rows: Names of the rows.
        columns: Names of the columns.
        labels: What rows, columns and cells are.
    """
    width = max(2.6, 0.75 * len(columns) + 1.0)
    with canvas(path, 1, len(panels), (width, 0.42 * len(rows) + 1.5), sharey=True) as axes:
        for axis, (title, scores) in zip(axes[0], panels, strict=True):
            image = axis.imshow(scores, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
            axis.set_title(title)
            axis.set_xticks(range(len(columns)), columns)
            axis.set_yticks(range(len(rows)), rows)
            axis.set_xlabel(labels[1])
            for row, column in np.ndindex(*scores.shape):
                score = scores[row, column]
                text, color = (
                    ("fails", "black") if np.isnan(score) else (f"{score:.2f}", "black" if score > 0.6 else "white")
                )
                axis.text(column, row, text, ha="center", va="center", color=color, fontsize=8)
        axes[0, 0].set_ylabel(labels[0])
        axes[0, -1].figure.colorbar(image, ax=axes[0, -1], label=labels[2])
