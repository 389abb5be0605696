"""`probe compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.show.terminal import TableFormat, TableNumber, print_view


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="OUT...", help="Folders of finished runs, at least two.")],
    number: Annotated[TableNumber, typer.Option("--table", help="Which of the paper's tables.")] = TableNumber.one,
    format: Annotated[
        TableFormat, typer.Option(help="terminal, markdown and latex round; csv has every digit.")
    ] = TableFormat.terminal,
) -> None:
    """Lay finished runs side by side: differences from the first, with their intervals.

    Examples:
      probe compare results/seed-0 results/seed-1

      probe compare results/bert results/roberta results/albert --table 5 --format markdown
    """
    from probe.results.comparison import compare
    from probe.results.finished import open_run
    from probe.show.comparison import comparison_view

    opened = [open_run(run) for run in runs]
    comparison = compare(opened, int(number))
    if format is TableFormat.csv:
        print(comparison.to_csv(index=False, lineterminator="\n"), end="")
    else:
        print_view(comparison_view(opened, int(number), comparison), format)
