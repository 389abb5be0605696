"""`probe models`."""

from __future__ import annotations


def models() -> None:
    """List the models that can be named, with a line each."""
    from rich.console import Console
    from rich.table import Table

    from probe.models.loading import known_models

    table = Table("name", "what it is", box=None, header_style="bold")
    for name, line in known_models():
        table.add_row(name, line)
    Console().print(table)
