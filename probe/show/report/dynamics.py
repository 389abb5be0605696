"""A training watched: ratios and norms against the step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from probe.show.report.plots import Figure, Series, line_plot, number
from probe.show.report.sources import Tables

_SHOWN = (("cosine", "word", "cosine (embedding matrix)"), ("attention", "attention", "attention"))


@dataclass(frozen=True)
class Training:
    """A training.

    Attributes:
        name: what it is called.
        steps: of the checkpoints.
        figures: over the steps.
        columns: of the numbers at one step.
        numbers: of every step, a text a column.
    """

    name: str
    steps: list[int]
    figures: list[Figure]
    columns: list[str]
    numbers: list[list[str]]


def training(folder: Tables) -> Training:
    """Read a folder that `probe dynamics` wrote.

    Args:
        folder: with `dynamics.csv` and `norms.csv`.

    Raises:
        ProbeError: a table is missing or damaged.
    """
    ratios, norms = folder.table("dynamics"), folder.table("norms")
    steps = sorted(int(step) for step in ratios["step"].unique())
    series, by_step = [], []
    for measure, site, name in _SHOWN:
        for theta in sorted(ratios["theta"].unique()):
            rows = ratios[(ratios["measure"] == measure) & (ratios["site"] == site) & (ratios["theta"] == theta)]
            rows = rows.sort_values("step")
            if not len(rows):
                continue
            x, y, low, high = (rows[column].astype(float).tolist() for column in ("step", "ratio", "low", "high"))
            series.append(Series(f"{name}, theta {theta:g}", x, y, low, high))
            by_step.append(
                (f"{name}, theta {theta:g}", {int(row["step"]): _shown(row) for row in rows.to_dict("records")})
            )
    note = "Bars are 95 % intervals. A step without a mark has no ratio that can be told: its denominator is near 0."
    figures = [line_plot("Same-topic over different-topic", series, "step", note=note)] if series else []
    lines = []
    for matrix in dict.fromkeys(norms["matrix"]):
        means = norms[norms["matrix"] == matrix].groupby("step")["norm"].mean()
        lines.append(Series(str(matrix), means.index.tolist(), means.tolist()))
        by_step.append((f"norm, {matrix}", {int(step): number(value) for step, value in means.items()}))
    if lines:
        title = "Norms of the attention's matrices, mean over layers"
        figures.append(line_plot(title, lines, "step", held=math.nan, log=False))
    numbers = [[found.get(step, "–") for _, found in by_step] for step in steps]
    return Training(str(folder.info.get("model", folder.name)), steps, figures, [name for name, _ in by_step], numbers)


def _shown(row: dict[Any, Any]) -> str:
    if not math.isfinite(row["ratio"]):
        return f"none: {row['note']}"
    return f"{number(row['ratio'])} ({number(row['low'])} to {number(row['high'])})"
