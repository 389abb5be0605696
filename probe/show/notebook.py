"""What a notebook shows: tables as HTML, and a bar for each stage."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from probe.show.foreign import one_line
from probe.show.views import View

_UPDATE_EVERY = 0.2
_ALIGN = ("left", "right")


def to_html(view: View) -> str:
    """A table as HTML, with its title and notes; what names, titles and words hold is text, never markup."""
    head = _line("th", view.columns)
    body = []
    for group in view.groups:
        heading = f'<th colspan="{len(view.columns)}" style="text-align: left">{_text(group.heading)}</th>'
        body.append(f"<tr>{heading}</tr>")
        body.extend(_line("td", row.cells) for row in group.rows)
    notes = "".join(f"<p>{_text(note)}</p>" for note in view.notes)
    return (
        f"<table><caption style='text-align: left'>{_text(view.title)}</caption>"
        f"<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>{notes}\n"
    )


def _line(tag: str, cells: tuple[str, ...]) -> str:
    styled = (
        f'<{tag} style="text-align: {_ALIGN[place > 0]}">{_text(cell)}</{tag}>' for place, cell in enumerate(cells)
    )
    return f"<tr>{''.join(styled)}</tr>"


def _text(text: str) -> str:
    return escape(one_line(text))


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


class NotebookProgress:
    """Shows each stage as a bar (see `probe.experiment.progress.Progress`); it needs no widgets."""

    @contextmanager
    def stage(self, description: str, total: float | None = None) -> Iterator[_Bar]:
        """Show one stage until its block ends."""
        bar = _Bar(description, total)
        yield bar
        bar.end()

    def note(self, message: str) -> None:
        """Show a sentence."""
        _show(_text(message))


class _Bar:
    def __init__(self, description: str, total: float | None):
        self._description, self._total = _text(description), total
        self._started = self._drawn = time.monotonic()
        self._handle = _show(self._html(0))

    def at(self, done: float, total: float | None = None) -> None:
        """So much of it is done."""
        self._total = total or self._total
        now = time.monotonic()
        if now - self._drawn >= _UPDATE_EVERY:
            self._drawn = now
            self._handle.update(_html(self._html(done)))

    def end(self) -> None:
        """All of it is done: the bar goes, and the time it took stays."""
        self._handle.update(_html(f"{self._description} <small>{time.monotonic() - self._started:.1f} s</small>"))

    def _html(self, done: float) -> str:
        # Without a value, a browser shows a bar that moves.
        value = f' value="{min(done / self._total, 1):.3f}"' if self._total else ""
        return f"{self._description} <progress{value}></progress>"


def _html(content: str) -> Any:
    from IPython.display import HTML

    return HTML(f"<div>{content}</div>")


def _show(content: str) -> Any:
    from IPython.display import display

    return display(_html(content), display_id=True)
