"""Table 1 as one reads it in the paper, every ratio with its interval drawn on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from probe.results.schema import RATIOS, why_withheld
from probe.show.report.plots import whisker
from probe.show.report.subjects import Subject
from probe.show.report.svg import Scale, box, line, mark, scale_of, svg, text, tick_label
from probe.show.views import digits_of, rounded, with_interval

_WIDTH, _HEIGHT = 260, 30
_ROOM = 8


@dataclass(frozen=True)
class Cell:
    """A ratio.

    Attributes:
        value: with its interval, rounded.
        random: the same of random weights; empty where they were not measured.
        printed: the paper's; empty where it has none.
        null: interval of permuted topics; empty where there is none.
        reason: why there is no value.
        strip: all of them, drawn.
    """

    value: str
    random: str
    printed: str
    null: str
    reason: str
    strip: Markup


@dataclass(frozen=True)
class Line:
    """A line of the table: theta, words of a topic, and a cell a measure."""

    theta: str
    k: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Block:
    """A model's lines, and what stands above them."""

    subject: Subject
    heading: str
    lines: list[Line]


@dataclass(frozen=True)
class RatioTable:
    """The whole table.

    Attributes:
        blocks: one a model.
        axis: of a column, drawn.
        printed: whether the paper has any of these numbers.
        random: whether random weights were measured.
    """

    blocks: list[Block]
    axis: Markup
    printed: bool
    random: bool


def ratio_table(subjects: Sequence[Subject]) -> RatioTable:
    """Table 1 of all subjects, on one axis.

    Args:
        subjects: models of runs.
    """
    found = [_numbers(subject) for subject in subjects]
    everything = [number for rows in found for row in rows for cell in row["cells"] for number in _known(cell)]
    scale = scale_of(everything, _ROOM, _WIDTH - _ROOM, log=True)
    blocks = [_block(subject, rows, scale) for subject, rows in zip(subjects, found, strict=True)]
    cells = [cell for block in blocks for one in block.lines for cell in one.cells]
    return RatioTable(blocks, _axis(scale), any(cell.printed for cell in cells), any(cell.random for cell in cells))


def _numbers(subject: Subject) -> list[dict[str, Any]]:
    """The numbers of every theta: value, interval, null, random, printed."""
    table = subject.rows("table1")
    rows = []
    for row in table[table["weights"] == "pretrained"].sort_values("theta").to_dict("records"):
        theta = row["theta"]
        other = table[(table["weights"] == "random") & (table["theta"] == theta)].to_dict("records")
        cells = []
        for measure in RATIOS:
            null = subject.measure(measure, theta, site="attention" if measure == "attention" else row["site"])
            value = _interval(row, measure)
            cells.append(
                {
                    "value": value,
                    "null": (null["null_low"], null["null_high"]) if null is not None else (math.nan, math.nan),
                    "random": _interval(other[0], measure) if other else (math.nan,) * 3,
                    "printed": row[f"paper_{measure}_ratio"],
                    "reason": why_withheld(subject.run.table("measures"), 1, row, measure)
                    if math.isnan(value[0])
                    else "",
                }
            )
        rows.append({"theta": theta, "k": row["words_per_topic"], "vocabulary": row["vocabulary"], "cells": cells})
    return rows


def _interval(row: dict[Any, Any], measure: str) -> tuple[float, float, float]:
    value, low, high = (float(row[f"{measure}_ratio{end}"]) for end in ("", "_low", "_high"))
    return value, low, high


def _known(cell: dict[str, Any]) -> list[float]:
    return [float(one) for one in (*cell["value"], *cell["null"], *cell["random"], cell["printed"])]


def _block(subject: Subject, rows: list[dict[str, Any]], scale: Scale) -> Block:
    lines = []
    digits = [
        digits_of([row["cells"][at]["value"][1] for row in rows], [row["cells"][at]["value"][2] for row in rows])
        for at in range(len(RATIOS))
    ]
    for row in rows:
        cells = tuple(_cell(cell, scale, places) for cell, places in zip(row["cells"], digits, strict=True))
        lines.append(Line(f"{row['theta']:g}", f"{row['k']}", cells))
    name = subject.corpus.get("name", "an unnamed corpus")
    n = rows[0]["vocabulary"] if rows else "?"
    return Block(subject, f"{subject.label}, on {name} (n = {n})", lines)


def _cell(cell: dict[str, Any], scale: Scale, digits: int) -> Cell:
    value: tuple[float, float, float] = cell["value"]
    random: tuple[float, float, float] = cell["random"]
    printed: float = cell["printed"]
    low, high = cell["null"]
    y = _HEIGHT / 2
    parts = []
    if math.isfinite(low) and math.isfinite(high):
        parts.append(box(scale(low), 3, max(scale(high) - scale(low), 1.5), _HEIGHT - 6, "band"))
    parts.append(line(scale(1), 1, scale(1), _HEIGHT - 1, "none-line"))
    parts += whisker(scale, y + 7, *random, "s3", "square")
    parts += whisker(scale, y - 3, *value, "s0", "circle")
    if math.isfinite(printed):
        parts.append(mark(scale(printed), y, "mark s1", "tick", size=5))
    return Cell(
        value=with_interval(*value, digits),
        random=with_interval(*random, 3) if math.isfinite(random[0]) else "",
        printed=rounded(printed, 2) if math.isfinite(printed) else "",
        null=f"{rounded(low, 2)} to {rounded(high, 2)}" if math.isfinite(low) else "",
        reason=cell["reason"],
        strip=svg(_WIDTH, _HEIGHT, parts),
    )


def _axis(scale: Scale) -> Markup:
    parts = [line(_ROOM, 18, _WIDTH - _ROOM, 18, "axis")]
    for tick in scale.ticks(6):
        parts += [line(scale(tick), 14, scale(tick), 18, "axis"), text(scale(tick), 11, tick_label(tick), "tick")]
    return svg(_WIDTH, 20, parts)
