"""`probe table`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.show.terminal import TableFormat, TableNumber, print_view


def table(
    run: Annotated[Path, typer.Argument(metavar="OUT", help="Folder of a finished run.")],
    number: Annotated[TableNumber, typer.Option("--table", help="Which of the paper's tables.")] = TableNumber.one,
    format: Annotated[
        TableFormat, typer.Option(help="terminal, markdown and latex round; csv has every digit.")
    ] = TableFormat.terminal,
) -> None:
    """Show a table of a finished run once more.

    Examples:
      probe table results/minilm-wikipedia-sample

      probe table results/minilm-wikipedia-sample --table 5 --format latex
    """
    from probe.results.finished import open_run
    from probe.show.views import cooccurrence_view, ratio_view

    finished = open_run(run)
    if format is TableFormat.csv:
        print(finished.text(f"table{number}"), end="")
        return
    frame = finished.table(f"table{number}")
    if number is TableNumber.two:
        view = cooccurrence_view(frame)
    else:
        view = ratio_view(int(number), frame, finished.table("measures"))
    print_view(view, format)
