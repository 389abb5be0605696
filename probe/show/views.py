"""Rounded tables, ready to be laid out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from probe.results.schema import RATIOS, why_withheld

if TYPE_CHECKING:
    import pandas as pd

WITHHELD = "-"
_RATIO_TITLES = {
    1: "Table 1. Same-topic over different-topic, one topic a word (95 % intervals)",
    5: "Table 5. Same-topic over different-topic, several topics a word (95 % intervals)",
}
_COOCCURRENCE_TITLE = "Table 2. Same-topic pairs beside the pairs that co-occur most"
COOCCURRENCE_DIGITS = {
    "attention_same_topic": 5,
    "attention_top_cooccurring": 5,
    "cosine_same_topic": 3,
    "cosine_top_cooccurring": 3,
}


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Attributes:
        cells: one a column.
        minor: it belongs to the line above it (a printed value, a difference).
    """

    cells: tuple[str, ...]
    minor: bool = False


@dataclass(frozen=True)
class Group:
    """Lines under one heading.

    Attributes:
        heading: as a terminal shows it.
        labels: the same in columns of their own, as markdown and LaTeX show it.
        rows: the lines.
    """

    heading: str
    labels: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class View:
    """A table whose numbers are rounded and ready to be laid out.

    Attributes:
        title: a line above.
        label_columns: names of the columns that the groups' labels make.
        columns: names of the columns of the cells; the first is aligned left, the others right. A line break in
            a name is a place where a terminal may break it.
        groups: the lines.
        notes: sentences below.
    """

    title: str
    label_columns: tuple[str, ...]
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()


def ratio_view(number: int, table: pd.DataFrame, measures: pd.DataFrame) -> View:
    """Table 1 or 5: ratios with their intervals; beneath them the spread between topic models and the printed ratios.

    Args:
        number: 1 or 5.
        table: `table1.csv` or `table5.csv`.
        measures: `measures.csv`, for the reasons of what is withheld.
    """
    groups = []
    withheld: dict[str, list[str]] = {}
    several = False
    for (model, weights), mine in table.groupby(["model", "weights"], sort=False):
        digits = {measure: digits_of(mine[f"{measure}_ratio_low"], mine[f"{measure}_ratio_high"]) for measure in RATIOS}
        rows = []
        for record in mine.to_dict("records"):
            cells = [f"{record['theta']:g}", f"{record['words_per_topic']}"]
            for measure in RATIOS:
                value, low, high = (record[f"{measure}_ratio{end}"] for end in ("", "_low", "_high"))
                cells.append(with_interval(value, low, high, digits[measure]))
                if math.isnan(value):
                    reason = why_withheld(measures, number, record, measure)
                    withheld.setdefault(reason, []).append(measure)
            rows.append(Row(tuple(cells)))
            spread = [record.get(f"{measure}_ratio_seed_sd", math.nan) for measure in RATIOS]
            if not all(map(math.isnan, spread)):
                several = True
                shown = (rounded(value, digits[measure]) for value, measure in zip(spread, RATIOS, strict=True))
                rows.append(Row(("seed sd", "", *shown), minor=True))
            printed = [record[f"paper_{measure}_ratio"] for measure in RATIOS]
            if not all(map(math.isnan, printed)):
                # Significant digits as printed: two decimals for trained models, five for the random one.
                places = 5 if weights == "random" else 2
                rows.append(Row(("printed", "", *(rounded(value, places) for value in printed)), minor=True))
        vocabulary, site = f"{mine['vocabulary'].iloc[0]}", str(mine["site"].iloc[0])
        heading = f"{model}, {weights} weights (n = {vocabulary}, embeddings: {site})"
        groups.append(Group(heading, (str(model), str(weights), vocabulary, site), tuple(rows)))
    notes = [
        f"{WITHHELD} withheld: {reason} ({', '.join(dict.fromkeys(found))}); measures.csv has the means."
        for reason, found in withheld.items()
    ]
    if several:
        notes.append("seed sd: standard deviation between topic models; ratios are means over them.")
    return View(
        _RATIO_TITLES[number],
        ("model", "weights", "n", "embeddings"),
        ("theta", "k", *(f"{measure} ratio" for measure in RATIOS)),
        tuple(groups),
        tuple(notes),
    )


def cooccurrence_view(table: pd.DataFrame) -> View:
    """Table 2: attention and cosine of same-topic pairs and of the pairs that co-occur most.

    Args:
        table: `table2.csv`.
    """
    groups = []
    missing = False
    for model, mine in table.groupby("model", sort=False):
        rows = []
        for record in mine.to_dict("records"):
            values = [rounded(record[name], digits) for name, digits in COOCCURRENCE_DIGITS.items()]
            missing = missing or WITHHELD in values
            rows.append(Row((f"{record['theta']:g}", f"{record['word_pairs']}", *values)))
            printed = [record[f"paper_{name}"] for name in COOCCURRENCE_DIGITS]
            if not all(map(math.isnan, printed)):
                shown = (
                    rounded(value, digits) for value, digits in zip(printed, COOCCURRENCE_DIGITS.values(), strict=True)
                )
                rows.append(Row(("printed", "", *shown), minor=True))
        groups.append(Group(str(model), (str(model),), tuple(rows)))
    return View(
        _COOCCURRENCE_TITLE,
        ("model",),
        (
            "theta",
            "pairs",
            "attention,\nsame topic",
            "attention,\nco-occurring",
            "cosine,\nsame topic",
            "cosine,\nco-occurring",
        ),
        tuple(groups),
        (f"{WITHHELD} no such pair in the probed passages.",) if missing else (),
    )


def digits_of(lows: Iterable[float], highs: Iterable[float]) -> int:
    """Decimals that show a column's intervals: their typical half-width to one digit, between two and four."""
    halves = sorted((high - low) / 2 for low, high in zip(lows, highs, strict=True) if high > low)
    if not halves:
        return 2
    return min(max(math.ceil(-math.log10(halves[len(halves) // 2])), 2), 4)


def rounded(value: float, digits: int, *, signed: bool = False) -> str:
    """A number of some decimals; `-` where there is none."""
    if math.isnan(value):
        return WITHHELD
    # Adding zero turns the -0.00 of a small negative number into 0.00.
    return f"{round(value, digits) + 0.0:{'+' if signed else ''}.{digits}f}"


def with_interval(value: float, low: float, high: float, digits: int, *, signed: bool = False) -> str:
    """`1.53 (1.30, 1.98)`; the value alone where there is no interval."""
    shown = rounded(value, digits, signed=signed)
    if math.isnan(value) or math.isnan(low) or math.isnan(high):
        return shown
    return f"{shown} ({rounded(low, digits)}, {rounded(high, digits)})"
