"""Small drawings: scales, marks and axes as SVG, coloured by the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LOG_STEPS = (1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0)


@dataclass(frozen=True)
class Scale:
    """Numbers to places.

    Attributes:
        low, high: the numbers at its ends.
        start, end: their places.
        log: logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a number, at an end where it is beyond."""
        low, high, value = (self._of(one) for one in (self.low, self.high, min(max(value, self.low), self.high)))
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 2)

    def _of(self, value: float) -> float:
        return math.log(value) if self.log else value

    def ticks(self, most: int = 6, apart: float = 30) -> list[float]:
        """Round numbers inside, no two nearer than `apart`; 1 before others."""
        kept: list[float] = []
        for one in sorted(self._round(most), key=lambda value: (value != 1, value)):
            if all(abs(self(one) - self(other)) >= apart for other in kept):
                kept.append(one)
        return sorted(kept)

    def _round(self, most: int) -> list[float]:
        if self.log and self.high / self.low > 1.5:
            return self._log_ticks(most)
        step = self._step(most)
        first = math.ceil(self.low / step - 1e-9)
        return [round(n * step, 10) + 0.0 for n in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _step(self, most: int) -> float:
        power = 10 ** math.floor(math.log10((self.high - self.low) / most)) if self.high > self.low else 1.0
        return next((step * power for step in _STEPS if (self.high - self.low) / (step * power) <= most), 10 * power)

    def _log_ticks(self, most: int) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in (_LOG_STEPS, (1.0, 1.5, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
            found = [round(step * 10.0**power, 10) for power in powers for step in steps]
            inside = [one for one in found if self.low * 0.999 <= one <= self.high * 1.001]
            if len(inside) <= most:
                return inside
        return inside[:: math.ceil(len(inside) / most)]


def scale_of(values: Iterable[float], start: float, end: float, *, log: bool = False, held: float = 1.0) -> Scale:
    """A scale that holds some numbers, a number of interest, and a little room.

    Args:
        values: NaN is left out, and so is what a logarithmic scale cannot show.
        start, end: places.
        log: logarithmic.
        held: shown in any case.
    """
    known = [value for value in values if math.isfinite(value) and not (log and value <= 0)] + [held]
    low, high = min(known), max(known)
    if log:
        room = max(high / low, 1.02) ** 0.05
        return Scale(low / room, high * room, start, end, log=True)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return Scale(low - room, high + room, start, end)


def svg(width: float, height: float, parts: Iterable[Markup], label: str = "") -> Markup:
    """A drawing.

    Args:
        width, height: in pixels.
        parts: marks.
        label: what a screen reader says; a drawing without one repeats what stands beside it.
    """
    spoken = Markup(' role="img" aria-label="{}"').format(label) if label else Markup(' aria-hidden="true"')
    head = Markup('<svg viewBox="0 0 {} {}" width="{}" height="{}"{}>').format(width, height, width, height, spoken)
    return head + Markup("").join(parts) + Markup("</svg>")


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(kind, x1, y1, x2, y2)


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "middle") -> Markup:
    """A line of text."""
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(kind, x, y, anchor, content)


def box(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    """A rectangle."""
    head = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"').format(
        kind, round(x, 2), round(y, 2), round(max(width, 0), 2), round(height, 2)
    )
    return head + (Markup("><title>{}</title></rect>").format(title) if title else Markup("/>"))


def mark(x: float, y: float, kind: str, shape: str, title: str = "", size: float = 4.0) -> Markup:
    """A point: circle, square, triangle, diamond, tick (a vertical stroke)."""
    inside = Markup("<title>{}</title>").format(title) if title else Markup("")
    if shape == "circle":
        return Markup('<circle class="{}" cx="{}" cy="{}" r="{}">{}</circle>').format(kind, x, y, size, inside)
    outlines = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "tick": ((-0.35, -1.8), (0.35, -1.8), (0.35, 1.8), (-0.35, 1.8)),
    }
    places = " ".join(f"{round(x + size * dx, 2)},{round(y + size * dy, 2)}" for dx, dy in outlines[shape])
    return Markup('<polygon class="{}" points="{}">{}</polygon>').format(kind, places, inside)


def path(points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> Markup:
    """A line through some points."""
    places = "L".join(f"{x} {y}" for x, y in points)
    return Markup('<path class="{}" d="M{}{}"/>').format(kind, places, "Z" if closed else "")


def tick_label(value: float) -> str:
    """A number on an axis."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
