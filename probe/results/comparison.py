"""Several finished runs side by side, with their differences from the first."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.results.schema import COOCCURRENCE_MEANS, RATIOS, why_withheld

if TYPE_CHECKING:
    import pandas as pd

    from probe.results.finished import FinishedRun

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
    found: list[dict[tuple[Any, ...], tuple[str, _Values]]] = []
    for run, table in zip(runs, tables, strict=True):
        measures = run.table("measures") if number != 2 else None
        mine: dict[tuple[Any, ...], tuple[str, _Values]] = {}
        for row in table.to_dict("records"):
            key = (row["model"] if by_model else "", row.get("weights", "pretrained"), row["theta"])
            mine[key] = (row["model"], _values(number, row, measures))
        found.append(mine)
    rows = []
    for key in dict.fromkeys(key for mine in found for key in mine):
        reference = found[0].get(key, ("", {}))[1]
        for run, mine, table in zip(runs, found, tables, strict=True):
            model, values = mine.get(key, (key[0] or (table["model"].iloc[0] if len(table) else ""), {}))
            for measure in values_of(number):
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


def values_of(number: int) -> tuple[str, ...]:
    """What a table holds: the measures of its ratios (1, 5), or its means (2)."""
    return COOCCURRENCE_MEANS if number == 2 else RATIOS


def _values(number: int, row: Mapping[Hashable, Any], measures: pd.DataFrame | None) -> _Values:
    if measures is None:
        return {name: (row[name], math.nan, math.nan, "") for name in COOCCURRENCE_MEANS}
    values: _Values = {}
    for measure in RATIOS:
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
