"""`probe corpora`."""

from __future__ import annotations


def corpora() -> None:
    """List the corpora that can be named, with a line each."""
    from rich.table import Table

    from corpora import catalog
    from probe.show.foreign import one_line
    from probe.show.terminal import plain_console

    table = Table("name", "language", "licence", "what it is", box=None, header_style="bold")
    for entry in catalog():
        table.add_row(*map(one_line, (entry.name, entry.language, entry.license, entry.description)))
    table.add_row("PATH", "", "", "a .jsonl, .txt, MediaWiki .xml, ... file or a folder of them")
    plain_console().print(table)
