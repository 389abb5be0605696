"""Two kinds of plots: numbers with intervals below one another, and numbers along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from probe.show.report.svg import Scale, box, line, mark, path, scale_of, svg, text, tick_label

_SHAPES = ("circle", "square", "triangle", "diamond")
_WIDTH = 640
_ROW = 26
_MARKS = 24


@dataclass(frozen=True)
class Figure:
    """A drawing and the numbers behind it.

    Attributes:
        title: what it shows.
        drawing: SVG.
        columns, rows: of the table of its numbers.
        legend: class of a mark, its shape, and what it stands for.
        note: below.
        places: of numbers along the axis: the number and where it stands.
    """

    title: str
    drawing: Markup
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    legend: list[tuple[str, str, str]] = field(default_factory=list)
    note: str = ""
    places: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """A number with its interval.

    Attributes:
        name: beside it.
        value, low, high: NaN where there is none.
        band: an interval behind it (a null), or None.
        start: where its bar begins; NaN for no bar.
        weak: drawn in grey.
        reason: why there is no value.
    """

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    band: tuple[float, float] | None = None
    start: float = math.nan
    weak: bool = False
    reason: str = ""


def row_plot(title: str, rows: Sequence[Row], *, held: float = 1.0, log: bool = True, note: str = "") -> Figure:
    """Numbers with intervals below one another, on one axis.

    Args:
        title: what they are.
        rows: from top to bottom.
        held: the number of no effect, drawn as a line.
        log: logarithmic axis.
        note: below.
    """
    numbers = [number for row in rows for number in (row.value, row.low, row.high, row.start, *(row.band or ()))]
    left, height = 196, 30 + _ROW * len(rows)
    scale = scale_of(numbers, left, _WIDTH - 16, log=log, held=held)
    parts = _x_axis(scale, height - 24, 4)
    parts.append(line(scale(held), 4, scale(held), height - 24, "none-line"))
    for index, row in enumerate(rows):
        y = 4 + _ROW * index + _ROW / 2
        if row.band and all(map(math.isfinite, row.band)):
            low, high = scale(row.band[0]), scale(row.band[1])
            parts.append(box(low, y - 9, high - low, 18, "band"))
        parts.append(text(left - 10, y + 4, row.name, "row-name", "end"))
        if not math.isfinite(row.value):
            parts.append(text(left + 6, y + 4, f"no ratio: {row.reason}" if row.reason else "none", "weak", "start"))
            continue
        if math.isfinite(row.start):
            one, other = sorted((scale(row.start), scale(row.value)))
            parts.append(box(one, y - 6, other - one, 12, "drop"))
        parts += whisker(scale, y, row.value, row.low, row.high, "s3" if row.weak else "s0", "circle", row.name)
    shown = [(row.name, number(row.value), number(row.low), number(row.high)) for row in rows]
    label = f"{title}: " + "; ".join(f"{name} {value} ({low} to {high})" for name, value, low, high in shown)
    return Figure(title, svg(_WIDTH, height, parts, label), ("", "value", "low", "high"), shown, note=note)


@dataclass(frozen=True)
class Series:
    """Numbers along an axis.

    Attributes:
        name: in the legend.
        x, y: of the points; a NaN breaks the line.
        low, high: intervals; empty for none.
        joined: drawn as a line with marks, not as marks alone.
        weak: drawn in grey.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    joined: bool = True
    weak: bool = False


def line_plot(
    title: str, series: Sequence[Series], x_name: str, *, held: float = 1.0, log: bool = True, note: str = ""
) -> Figure:
    """Numbers along an axis, with intervals.

    Args:
        title: what they are.
        series: drawn one over the other.
        x_name: of the axis.
        held: the number of no effect, drawn as a line; NaN for none.
        log: logarithmic axis of the numbers.
        note: below.
    """
    height, left, bottom = 280, 56, 240
    numbers = [value for one in series for part in (one.y, one.low, one.high) for value in part]
    upright = scale_of(numbers, bottom, 10, log=log, held=held if math.isfinite(held) else _any(numbers))
    places = [value for one in series for value in one.x]
    across = Scale(min(places), max(places), left + 14, _WIDTH - 16)
    parts = [*_x_axis(across, bottom, bottom), *_y_axis(upright, left, _WIDTH - 16)]
    parts.append(text((left + _WIDTH) / 2, height - 6, x_name, "axis-name"))
    if math.isfinite(held):
        parts.append(line(left, upright(held), _WIDTH - 16, upright(held), "none-line"))
    legend = []
    for index, one in enumerate(series):
        colour = sum(not other.weak for other in series[:index])
        kind, shape = "s3" if one.weak else f"s{colour % 3}", _SHAPES[index % len(_SHAPES)]
        legend.append((kind, shape, one.name))
        parts += _drawn(one, across, upright, kind, shape, log)
    rows = [
        (one.name, tick_label(x), number(y), *(number(part[at]) if len(part) else "" for part in (one.low, one.high)))
        for one in series
        for at, (x, y) in enumerate(zip(one.x, one.y, strict=True))
    ]
    label = f"{title}, along {x_name}: {', '.join(one.name for one in series)}; the numbers are in the table below."
    columns, marked = ("", x_name, "value", "low", "high"), [(x, across(x)) for x in sorted(set(places))]
    return Figure(title, svg(_WIDTH, height, parts, label), columns, rows, legend, note, marked)


def _drawn(one: Series, across: Scale, upright: Scale, kind: str, shape: str, log: bool) -> list[Markup]:
    def shown(value: float) -> bool:
        return math.isfinite(value) and not (log and value <= 0)

    parts, run = [], []
    for x, y in [*zip(one.x, one.y, strict=True), (math.nan, math.nan)]:
        if shown(y):
            run.append((across(x), upright(y)))
            continue
        if one.joined and len(run) > 1:
            parts.append(path(run, f"line {kind}"))
        run = []
    for at, (x, y) in enumerate(zip(one.x, one.y, strict=True)):
        # Many marks on a line hide it; those of the legend then stand here and there.
        if not shown(y) or (one.joined and at % (1 + len(one.x) // _MARKS)):
            continue
        if len(one.low) and shown(one.low[at]) and shown(one.high[at]):
            parts.append(line(across(x), upright(one.low[at]), across(x), upright(one.high[at]), f"whisker {kind}"))
        title = f"{one.name}, {tick_label(x)}: {number(y)}"
        parts.append(mark(across(x), upright(y), f"mark {kind}", shape, title, 3.5 if one.joined else 2.2))
    return parts


def whisker(
    scale: Scale, y: float, value: float, low: float, high: float, kind: str, shape: str, title: str = ""
) -> list[Markup]:
    """A point with its interval on a horizontal axis; nothing where there is no value."""
    if not math.isfinite(value):
        return []
    parts = []
    if math.isfinite(low) and math.isfinite(high):
        parts.append(line(scale(low), y, scale(high), y, f"whisker {kind}"))
    spoken = f"{title}: {number(value)} ({number(low)} to {number(high)})" if title else ""
    return [*parts, mark(scale(value), y, f"mark {kind}", shape, spoken)]


def _x_axis(scale: Scale, y: float, top: float) -> list[Markup]:
    parts = [line(min(scale.start, scale.end), y, max(scale.start, scale.end), y, "axis")]
    for tick in scale.ticks():
        if top < y:
            parts.append(line(scale(tick), top, scale(tick), y, "grid"))
        parts += [line(scale(tick), y, scale(tick), y + 4, "axis"), text(scale(tick), y + 17, tick_label(tick), "tick")]
    return parts


def _y_axis(scale: Scale, left: float, right: float) -> list[Markup]:
    parts = []
    for tick in scale.ticks():
        parts.append(line(left, scale(tick), right, scale(tick), "grid"))
        parts.append(text(left - 6, scale(tick) + 4, tick_label(tick), "tick", "end"))
    return parts


def _any(numbers: Sequence[float]) -> float:
    return next((value for value in numbers if math.isfinite(value)), 1.0)


def number(value: float) -> str:
    """A number in a table: four significant digits; a dash where there is none."""
    return f"{value:.4g}" if math.isfinite(value) else "–"
