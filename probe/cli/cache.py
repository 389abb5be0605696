"""`probe cache`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def cache(
    folder: Annotated[
        Path | None,
        typer.Option("--cache", help="The folder.", show_default="$PROBE_CACHE or ~/.cache/topic-probe"),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all finished and unfinished work.")] = False,
) -> None:
    """Show the finished work that later runs use again, or remove it.

    Examples:
      probe cache

      probe cache --clear
    """
    from rich.console import Console
    from rich.filesize import decimal
    from rich.table import Table

    from probe.storage.cache import Cache

    console = Console()
    found = Cache(folder)
    if clear:
        console.print(f"{decimal(found.clear())} removed from {found.root}", soft_wrap=True)
        return
    entries = found.entries()
    table = Table("kind", "entries", "size", box=None, header_style="bold")
    for kind in sorted({entry.kind for entry in entries}):
        mine = [entry.size for entry in entries if entry.kind == kind]
        table.add_row(kind, str(len(mine)), decimal(sum(mine)))
    console.print(f"{found.root}: {decimal(sum(entry.size for entry in entries))}", soft_wrap=True)
    if entries:
        console.print(table)
