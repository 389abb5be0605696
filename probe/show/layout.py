"""Rounded tables as text for a terminal, as markdown and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from probe.show.foreign import as_markdown, one_line
from probe.show.views import WITHHELD, Row, View

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
    return "".join(f"{one_line(line)}\n" for _, line in text_lines(view, width))


def to_markdown(view: View) -> str:
    """A table as GitHub-flavoured markdown, its title above and its notes below."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(as_markdown(cell) for cell in cells) + " |"

    labels = len(view.label_columns)
    lines = [f"{view.title}", "", line((*view.label_columns, *view.columns))]
    lines.append("|" + "---|" * (labels + 1) + "---:|" * (len(view.columns) - 1))
    lines.extend(line((*group.labels, *row.cells)) for group in view.groups for row in group.rows)
    for note in view.notes:
        lines += ["", f"\\{as_markdown(note)}" if note.startswith(WITHHELD) else as_markdown(note)]
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
    escaped = "".join(_LATEX.get(character, character) for character in one_line(text))
    # A hyphen is too short for a minus, and for the dash of an empty cell.
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", "--" if escaped == WITHHELD else escaped)
