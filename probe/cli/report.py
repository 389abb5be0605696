"""`probe report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Folders of finished runs, and of trainings that probe dynamics measured."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file.")] = Path("report.html"),
) -> None:
    """Write one HTML page of finished runs, to look at in a browser: no network, opens from disk.

    Examples:
      probe report results/minilm-wikipedia-sample --out report.html

      probe report results/bert results/roberta results/zoo-dynamics/bert --out all.html
    """
    from probe.show.foreign import one_line
    from probe.show.report.write import write_report

    print(one_line(f"Report: {write_report(folders, out)}"), file=sys.stderr)
