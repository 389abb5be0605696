"""What a run would do and cost, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from probe.show.views import Group, Row, View

_KEPT = "finished"
_MINUTE, _HOUR = 60, 3600


class Step(Protocol):
    """A stage (see `probe.experiment.forecast.Step`)."""

    @property
    def name(self) -> str:
        """What is done."""

    @property
    def size(self) -> str:
        """How much of it there is."""

    @property
    def seconds(self) -> float | None:
        """How long it would take."""

    @property
    def kept(self) -> bool:
        """Whether it is already finished."""


class Forecast(Protocol):
    """What a run would do with one model (see `probe.experiment.forecast.Forecast`)."""

    @property
    def model(self) -> str:
        """Its name."""

    @property
    def corpus(self) -> str:
        """Name of the corpus."""

    @property
    def steps(self) -> Sequence[Step]:
        """In order."""

    @property
    def gigabytes(self) -> float:
        """The most memory that the trial held."""


def forecast_view(forecasts: Sequence[Forecast]) -> View:
    """What a run would do and cost: its stages with their sizes, and how long each takes unless it is finished."""
    groups = []
    left, unknown = 0.0, False
    for one in forecasts:
        rows = []
        for step in one.steps:
            told = _KEPT if step.kept else "not known" if step.seconds is None else duration(step.seconds)
            rows.append(Row((step.name, step.size, told)))
            if not step.kept:
                left += step.seconds or 0.0
                unknown = unknown or step.seconds is None
        groups.append(Group(f"{one.model} on {one.corpus}", (one.model, one.corpus), tuple(rows)))
    total = "More than " if unknown else "About "
    notes = [
        f"{total}{duration(left)} in all, and intervals, nulls and tables besides; the trial held "
        f"{max(one.gigabytes for one in forecasts):.1f} GB at most."
    ]
    if unknown:
        notes.append("How many documents there are is not known before they are read: name a number with --documents.")
    title = "What the run would do, from a trial on the start of the corpus; nothing was kept"
    return View(title, ("model", "corpus"), ("stage", "of", "takes"), tuple(groups), tuple(notes))


def duration(seconds: float) -> str:
    """A time of some seconds, as one says it."""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"
