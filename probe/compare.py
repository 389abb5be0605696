"""Several finished runs side by side, with their differences from the first."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.render import (
    COOCCURRENCE_DIGITS,
    MEASURES,
    Group,
    Row,
    View,
    digits_of,
    why_withheld,
    with_interval,
)

if TYPE_CHECKING:
    import pandas as pd

    from probe.finished import FinishedRun

COLUMNS = [
    "run",
    "model",
    "weights",
    "theta",
    "measure",
    "value",
    "low",
    "high",
    "reference",
    "difference",
    "difference_low",
    "difference_high",
    "note",
]
ABSENT = "not in this run"
_TITLES = {
    1: "Table 1 of {} runs: ratios, and differences from run 1 (95 % intervals)",
    2: "Table 2 of {} runs: means, and differences from run 1",
    5: "Table 5 of {} runs: ratios, and differences from run 1 (95 % intervals)",
}
_Values = dict[str, tuple[float, float, float, str]]


def difference_interval(
    estimate: tuple[float, float, float], reference: tuple[float, float, float]
) -> tuple[float, float]:
    """The 95 % interval of a difference of two estimates, made from their own 95 % intervals.

    MOVER, the method of variance estimates recovery (Zou and Donner, Statistics in Medicine 27, 2008; the
    "square and add" of Newcombe, Statistics in Medicine 17, 1998): each one-sided half-width recovers the variance
    near that limit, and the variances of independent estimates add up:

        low  = d - sqrt((value - value_low)^2 + (reference_high - reference)^2)
        high = d + sqrt((value_high - value)^2 + (reference - reference_low)^2)

    It keeps the skewness of bootstrap intervals of ratios, and takes any sign. The estimates count as independent;
    runs that share passages or topics are positively correlated, so that for them the interval is too wide.

    Args:
        estimate: a value, its low and its high.
        reference: the same of what it is compared with.
    """
    value, low, high = estimate
    base, base_low, base_high = reference
    difference = value - base
    return (
        difference - math.hypot(value - low, base_high - base),
        difference + math.hypot(high - value, base - base_low),
    )


def compare(runs: Sequence[FinishedRun], number: int) -> pd.DataFrame:
    """One table of several runs, one row a number.

    Rows are matched by model, weights and theta. Where every run holds one model, they are matched by weights and
    theta alone, so that runs of different models can be compared.

    Args:
        runs: at least two; the first is the reference.
        number: of the table: 1, 2 or 5.

    Returns:
        The columns `COLUMNS`: of each run, row and measure the value with its interval, the first run's value, and
        the difference with its interval (Table 2 has no intervals). `run` is the run's folder.

    Raises:
        ProbeError: there are not two different runs, or one lacks the table.
    """
    import pandas as pd

    folders = [run.folder.resolve() for run in runs]
    if len(runs) < 2:
        raise ProbeError("Nothing to compare: name the folders of at least two runs.")
    if len(set(folders)) < len(folders):
        raise ProbeError("One run is named twice: name each folder once.")
    tables = [run.table(f"table{number}") for run in runs]
    by_model = any(table["model"].nunique() > 1 for table in tables)
    found: list[dict[tuple, tuple[str, _Values]]] = []
    for run, table in zip(runs, tables, strict=True):
        measures = run.table("measures") if number != 2 else None
        mine: dict[tuple, tuple[str, _Values]] = {}
        for row in table.to_dict("records"):
            key = (row["model"] if by_model else "", row.get("weights", "pretrained"), row["theta"])
            mine[key] = (row["model"], _values(number, row, measures))
        found.append(mine)
    rows = []
    for key in dict.fromkeys(key for mine in found for key in mine):
        reference = found[0].get(key, ("", {}))[1]
        for run, mine, table in zip(runs, found, tables, strict=True):
            model, values = mine.get(key, (key[0] or (table["model"].iloc[0] if len(table) else ""), {}))
            for measure in _measures(number):
                rows.append(
                    {
                        "run": str(run.folder),
                        "model": model,
                        "weights": key[1],
                        "theta": key[2],
                        "measure": measure,
                        **_compared(values.get(measure), reference.get(measure), is_reference=run is runs[0]),
                    }
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def _measures(number: int) -> tuple[str, ...]:
    return tuple(COOCCURRENCE_DIGITS) if number == 2 else MEASURES


def _values(number: int, row: Mapping[Hashable, Any], measures: pd.DataFrame | None) -> _Values:
    if measures is None:
        return {name: (row[name], math.nan, math.nan, "") for name in COOCCURRENCE_DIGITS}
    values: _Values = {}
    for measure in MEASURES:
        value, low, high = (row[f"{measure}_ratio{end}"] for end in ("", "_low", "_high"))
        values[measure] = (value, low, high, why_withheld(measures, number, row, measure) if math.isnan(value) else "")
    return values


def _compared(
    mine: tuple[float, float, float, str] | None,
    reference: tuple[float, float, float, str] | None,
    *,
    is_reference: bool,
) -> dict[str, Any]:
    if mine is None:
        return {"note": ABSENT, "reference": reference[0] if reference else math.nan}
    value, low, high, note = mine
    cells: dict[str, Any] = {"value": value, "low": low, "high": high, "note": note}
    if reference is not None:
        cells["reference"] = reference[0]
        if not is_reference:
            cells["difference"] = value - reference[0]
            cells["difference_low"], cells["difference_high"] = difference_interval((value, low, high), reference[:3])
    return cells


def comparison_view(runs: Sequence[FinishedRun], number: int, comparison: pd.DataFrame) -> View:
    """A comparison, rounded: runs beneath each other, each with its difference from the first.

    Args:
        runs: the runs, in the order in which they were compared.
        number: of the table: 1, 2 or 5.
        comparison: what `compare` returned.
    """
    position = {str(run.folder): index for index, run in enumerate(runs, 1)}
    measures = _measures(number)
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


def differing(runs: Sequence[FinishedRun]) -> list[str]:
    """What differs between runs besides what they found: a sentence an argument, and one for the corpus's content."""
    flat = [_flat(run.info.get("arguments", {})) for run in runs]
    lines = []
    for name in dict.fromkeys(name for arguments in flat for name in arguments):
        values = [arguments.get(name) for arguments in flat]
        if any(value != values[0] for value in values):
            lines.append(f"Differs: {name} = {', '.join(_shown(value) for value in values)}.")
    corpora = [run.info.get("corpus", {}) for run in runs]
    same_name = len({corpus.get("name") for corpus in corpora}) == 1
    if same_name and len({corpus.get("fingerprint") for corpus in corpora}) > 1:
        lines.append("Differs: the content of the corpus, under one name.")
    return lines


def _flat(arguments: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _shown(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(str, value)) + "]"
    return "none" if value is None else str(value)
