"""Progress on stderr: bars with an ETA on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from probe.show.foreign import one_line
from probe.show.terminal import plain_console

_LINE_EVERY = 10.0


class _BarStage:
    def __init__(self, bars: Progress, task: TaskID):
        self._bars, self._task = bars, task

    def at(self, done: float, total: float | None = None) -> None:
        if total is None:
            self._bars.update(self._task, completed=done)
        else:
            self._bars.update(self._task, completed=done, total=total)


class _LineStage:
    def __init__(self, console: Console, description: str, total: float | None):
        self._console, self._description, self._total = console, description, total
        self._started = self._said = time.monotonic()

    def at(self, done: float, total: float | None = None) -> None:
        self._total = total or self._total
        now = time.monotonic()
        if now - self._said < _LINE_EVERY or not done:
            return
        self._said = now
        if self._total:
            left = (now - self._started) * max(0.0, self._total / done - 1)
            self._console.print(f"{self._description}: {done / self._total:.0%}, about {left:.0f} s left")
        else:
            self._console.print(f"{self._description}: {done:,.0f}")


class ConsoleProgress:
    """Shows the stages of a run (see `probe.experiment.progress.Progress`)."""

    def __init__(self) -> None:
        self._console = plain_console(stderr=True, soft_wrap=True)

    @contextmanager
    def stage(self, description: str, total: float | None = None) -> Iterator[_BarStage | _LineStage]:
        """Show one stage until its block ends."""
        description = one_line(description)
        started = time.monotonic()
        if self._console.is_terminal:
            columns = (
                SpinnerColumn("dots" if self._console.encoding.startswith("utf") else "line"),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            with Progress(*columns, console=self._console, transient=True) as bars:
                yield _BarStage(bars, bars.add_task(description, total=total))
            self._console.print(Text.assemble(description, (f"  {time.monotonic() - started:.1f} s", "dim")))
        else:
            self._console.print(description)
            yield _LineStage(self._console, description, total)

    def note(self, message: str) -> None:
        """Show a sentence."""
        self._console.print(one_line(message))
