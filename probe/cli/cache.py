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
    from rich.filesize import decimal
    from rich.table import Table

    from probe.show.foreign import one_line
    from probe.show.terminal import plain_console
    from probe.storage.cache import Cache

    console = plain_console()
    found = Cache(folder)
    if clear:
        console.print(one_line(f"{decimal(found.clear())} removed from {found.root}"), soft_wrap=True)
        return
    entries = found.entries()
    table = Table("kind", "entries", "size", box=None, header_style="bold")
    for kind in sorted({entry.kind for entry in entries}):
        mine = [entry.size for entry in entries if entry.kind == kind]
        table.add_row(one_line(kind), str(len(mine)), decimal(sum(mine)))
    console.print(one_line(f"{found.root}: {decimal(sum(entry.size for entry in entries))}"), soft_wrap=True)
    if entries:
        console.print(table)
