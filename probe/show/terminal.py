"""Rounded tables on stdout."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from probe.show.views import View

_PIPE_WIDTH = 120
_STYLES = {"title": "bold", "head": "", "heading": "bold cyan", "row": "", "minor": "dim", "note": "dim"}


class TableNumber(StrEnum):
    """The paper's tables that a run makes."""

    one = "1"
    two = "2"
    five = "5"


class TableFormat(StrEnum):
    """How a table is written."""

    terminal = "terminal"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


def plain_console(**options: Any) -> Console:
    """A console to which text is text: brackets are no markup, and `:smile:` stays what it is.

    Args:
        options: of `rich.console.Console`.
    """
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, **options)


def tables_console() -> Console:
    """The console for tables: stdout, as wide as the terminal."""
    console = plain_console()
    # A file or a pipe has no width of its own.
    return console if console.is_terminal else plain_console(width=_PIPE_WIDTH)


def show_view(console: Console, view: View) -> None:
    """Print a table, laid out for the console's width, and an empty line."""
    from rich.text import Text

    from probe.show.foreign import one_line
    from probe.show.layout import text_lines

    for kind, line in text_lines(view, console.width):
        console.print(Text(one_line(line), style=_STYLES[kind]), soft_wrap=kind != "note")
    console.print()


def show_ratio_table(console: Console, number: int, table: pd.DataFrame, measures: pd.DataFrame) -> None:
    """Print Table 1 or 5: ratios with their 95 % intervals, and the printed ones where the paper has them."""
    from probe.show.views import ratio_view

    show_view(console, ratio_view(number, table, measures))


def show_cooccurrence_table(console: Console, table: pd.DataFrame) -> None:
    """Print Table 2: same-topic pairs beside the pairs that co-occur most, and the paper's where it has them."""
    from probe.show.views import cooccurrence_view

    show_view(console, cooccurrence_view(table))


def print_view(view: View, format: TableFormat) -> None:
    """Print a table in one of the formats that round: terminal, markdown or latex."""
    from probe.show.layout import to_latex, to_markdown

    if format is TableFormat.terminal:
        show_view(tables_console(), view)
    else:
        print(to_markdown(view) if format is TableFormat.markdown else to_latex(view), end="")
