"""A comparison of several runs as a rounded table."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probe.results.comparison import ABSENT, differing, values_of
from probe.show.views import COOCCURRENCE_DIGITS, Group, Row, View, digits_of, with_interval

if TYPE_CHECKING:
    import pandas as pd

    from probe.results.finished import FinishedRun

_TITLES = {
    1: "Table 1 of {} runs: ratios, and differences from run 1 (95 % intervals)",
    2: "Table 2 of {} runs: means, and differences from run 1",
    5: "Table 5 of {} runs: ratios, and differences from run 1 (95 % intervals)",
}


def comparison_view(runs: Sequence[FinishedRun], number: int, comparison: pd.DataFrame) -> View:
    """A comparison, rounded: runs beneath each other, each with its difference from the first.

    Args:
        runs: the runs, in the order in which they were compared.
        number: of the table: 1, 2 or 5.
        comparison: what `compare` returned.
    """
    position = {str(run.folder): index for index, run in enumerate(runs, 1)}
    measures = values_of(number)
    groups = []
    withheld: dict[str, None] = {}
    absent = False
    keys = ["weights", "theta"]
    if (comparison.groupby("run")["model"].nunique() > 1).any():
        keys.insert(0, "model")
    for _, mine in comparison.groupby(keys, sort=False):
        digits = {}
        for measure in measures:
            # Alike for every theta of a model, so that a column reads as one.
            alike = comparison[(comparison[keys[:-1]] == mine[keys[:-1]].iloc[0]).all(axis=1)]
            intervals = alike[alike["measure"] == measure]
            digits[measure] = COOCCURRENCE_DIGITS.get(measure) or digits_of(intervals["low"], intervals["high"])
        rows = []
        for folder, cells in mine.groupby("run", sort=False):
            one = cells.set_index("measure").to_dict("index")
            label = f"{position[str(folder)]}"
            if all(cell["note"] == ABSENT for cell in one.values()):
                absent = True
                rows.append(Row((label, *("absent" for _ in measures))))
                continue
            withheld |= dict.fromkeys(cell["note"] for cell in one.values() if cell["note"])
            rows.append(
                Row((label, *(_cell(one[measure], ("value", "low", "high"), digits[measure]) for measure in measures)))
            )
            if label == "1" or all(math.isnan(one[measure]["reference"]) for measure in measures):
                continue
            names = ("difference", "difference_low", "difference_high")
            differences = (_cell(one[measure], names, digits[measure], signed=True) for measure in measures)
            rows.append(Row((f"{label} - 1", *differences), minor=True))
        models = " / ".join(dict.fromkeys(mine["model"]))
        weights, theta = str(mine["weights"].iloc[0]), f"{mine['theta'].iloc[0]:g}"
        heading = f"{models}, {weights} weights, theta {theta}"
        groups.append(Group(heading, (models, weights, theta), tuple(rows)))
    notes = [f"Run {index}: {run.folder} ({_summary(run)})." for index, run in enumerate(runs, 1)]
    notes.extend(differing(runs))
    notes.extend(f"- withheld: {reason}; measures.csv has the means." for reason in withheld)
    if absent:
        notes.append("absent: the run has no such model, weights or theta.")
    if number != 2:
        notes.append(
            "Intervals of differences take runs as independent (MOVER); runs that share passages or topics are "
            "positively correlated, and for them they are too wide."
        )
    columns = (name.replace("_", ",\n", 1).replace("_", " ") if number == 2 else f"{name} ratio" for name in measures)
    return View(
        _TITLES[number].format(len(runs)),
        ("model", "weights", "theta"),
        ("run", *columns),
        tuple(groups),
        tuple(notes),
    )


def _cell(cell: Mapping[Hashable, Any], names: tuple[str, str, str], digits: int, *, signed: bool = False) -> str:
    value, low, high = (cell[name] for name in names)
    return with_interval(value, low, high, digits, signed=signed)


def _summary(run: FinishedRun) -> str:
    arguments, corpus = run.info.get("arguments", {}), run.info.get("corpus", {})
    models = ", ".join(arguments.get("model", [])) or "unknown model"
    return f"{models}; {corpus.get('name', 'unknown corpus')}; seed {arguments.get('seed', 'unknown')}"
