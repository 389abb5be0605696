"""Rounded tables, as text for a terminal, as markdown and as LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("cosine", "dot", "attention")
WITHHELD = "-"
LineKind = Literal["title", "head", "heading", "row", "minor", "note"]
_GAP = "  "
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{mark: rf"\{mark}" for mark in "&%$#_{}"},
}
_LATEX_NAMES = {"theta": r"$\theta$", "n": "$n$", "k": "$k$"}
_RATIO_TITLES = {
    1: "Table 1. Same-topic over different-topic, one topic a word (95 % intervals)",
    5: "Table 5. Same-topic over different-topic, several topics a word (95 % intervals)",
}
_COOCCURRENCE_TITLE = "Table 2. Same-topic pairs beside the pairs that co-occur most"
_ASSIGNMENT = {1: "single", 5: "multiple"}
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
        digits = {
            measure: digits_of(mine[f"{measure}_ratio_low"], mine[f"{measure}_ratio_high"]) for measure in MEASURES
        }
        rows = []
        for record in mine.to_dict("records"):
            cells = [f"{record['theta']:g}", f"{record['words_per_topic']}"]
            for measure in MEASURES:
                value, low, high = (record[f"{measure}_ratio{end}"] for end in ("", "_low", "_high"))
                cells.append(with_interval(value, low, high, digits[measure]))
                if math.isnan(value):
                    reason = why_withheld(measures, number, record, measure)
                    withheld.setdefault(reason, []).append(measure)
            rows.append(Row(tuple(cells)))
            spread = [record.get(f"{measure}_ratio_seed_sd", math.nan) for measure in MEASURES]
            if not all(map(math.isnan, spread)):
                several = True
                shown = (rounded(value, digits[measure]) for value, measure in zip(spread, MEASURES, strict=True))
                rows.append(Row(("seed sd", "", *shown), minor=True))
            printed = [record[f"paper_{measure}_ratio"] for measure in MEASURES]
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
        ("theta", "k", *(f"{measure} ratio" for measure in MEASURES)),
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


def why_withheld(measures: pd.DataFrame, number: int, row: Mapping[Hashable, Any], measure: str) -> str:
    """The reason why a cell of Table 1 or 5 is empty.

    Args:
        measures: `measures.csv`.
        number: 1 or 5.
        row: a row of the table.
        measure: cosine, dot or attention.
    """
    site = "attention" if measure == "attention" else row["site"]
    found = measures[
        (measures["model"] == row["model"])
        & (measures["weights"] == row["weights"])
        & (measures["theta"] == row["theta"])
        & (measures["assignment"] == _ASSIGNMENT[number])
        & (measures["measure"] == measure)
        & (measures["site"] == site)
    ]["note"]
    return next((note for note in found if note), "no reason is recorded")


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


def text_lines(view: View, width: int) -> Iterator[tuple[LineKind, str]]:
    """Lay a table out for a terminal; intervals go beneath their values where a line is too long.

    Args:
        view: the table.
        width: columns of the terminal.

    Yields:
        What kind of line it is, and the line.
    """
    head, lines = [view.columns], [row for group in view.groups for row in group.rows]
    widths = _widths(head, lines)
    if _length(widths) > width:
        head = _broken(view.columns, r"\n")
        view = replace(view, groups=tuple(replace(g, rows=tuple(_stacked(g.rows))) for g in view.groups))
        lines = [row for group in view.groups for row in group.rows]
        if _length(_widths(head, lines)) > width:
            head = _broken(view.columns, r"[\n ]")
        widths = _widths(head, lines)
    yield "title", view.title
    for names in head:
        yield "head", _line(tuple(name.replace("\n", " ") for name in names), widths)
    yield "head", _GAP + "-" * (_length(widths) - len(_GAP))
    for group in view.groups:
        yield "heading", group.heading
        for row in group.rows:
            yield ("minor" if row.minor else "row"), _line(row.cells, widths)
    for note in view.notes:
        yield "note", note


def _stacked(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        parts = [cell.partition(" (") for cell in row.cells]
        if not any(mark for _, mark, _ in parts):
            yield row
            continue
        yield replace(row, cells=tuple(value for value, _, _ in parts))
        yield Row(tuple(f"({rest}" if mark else "" for _, mark, rest in parts), minor=True)


def _broken(names: Sequence[str], where: str) -> list[tuple[str, ...]]:
    parts = [re.split(where, name) for name in names]
    height = max(map(len, parts))
    return list(zip(*([""] * (height - len(part)) + part for part in parts), strict=True))


def _widths(head: Iterable[Sequence[str]], rows: Iterable[Row]) -> list[int]:
    return [max(map(len, column)) for column in zip(*head, *(row.cells for row in rows), strict=True)]


def _length(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * len(widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return (_GAP + _GAP.join((first, *others))).rstrip()


def to_text(view: View, width: int) -> str:
    """A table as plain text.

    Args:
        view: the table.
        width: columns of the terminal.
    """
    return "".join(f"{line}\n" for _, line in text_lines(view, width))


def to_markdown(view: View) -> str:
    """A table as GitHub-flavoured markdown, its title above and its notes below."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |"

    labels = len(view.label_columns)
    lines = [f"{view.title}", "", line((*view.label_columns, *view.columns))]
    lines.append("|" + "---|" * (labels + 1) + "---:|" * (len(view.columns) - 1))
    lines.extend(line((*group.labels, *row.cells)) for group in view.groups for row in group.rows)
    for note in view.notes:
        lines += ["", f"\\{note}" if note.startswith(WITHHELD) else note]
    return "\n".join(lines) + "\n"


def to_latex(view: View) -> str:
    """A table as a LaTeX `tabular` (it needs the package booktabs), its notes below.

    The labels stand on a group's first line only.
    """
    labels = len(view.label_columns)
    names = (_latex(name.replace("\n", " ")) for name in (*view.label_columns, *view.columns))
    lines = [
        f"% {view.title}",
        rf"\begin{{tabular}}{{{'l' * (labels + 1)}{'r' * (len(view.columns) - 1)}}}",
        r"\toprule",
        " & ".join(_LATEX_NAMES.get(name, name) for name in names) + r" \\",
    ]
    for group in view.groups:
        lines.append(r"\midrule")
        for index, row in enumerate(group.rows):
            shown = group.labels if index == 0 else ("",) * labels
            lines.append(" & ".join(map(_latex, (*shown, *row.cells))) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines.extend(rf"\par{{\footnotesize {_latex(note)}\par}}" for note in view.notes)
    return "\n".join(lines) + "\n"


def _latex(text: str) -> str:
    escaped = "".join(_LATEX.get(character, character) for character in text)
    # A hyphen is too short for a minus, and for the dash of an empty cell.
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", "--" if escaped == WITHHELD else escaped)
