"""`probe models`."""

from __future__ import annotations


def models() -> None:
    """List the models that can be named, with a line each."""
    from rich.table import Table

    from probe.models.families import FAMILIES
    from probe.models.sources import known_models
    from probe.show.terminal import plain_console

    table = Table("name", "what it is", box=None, header_style="bold")
    for name, line in known_models():
        table.add_row(name, line)
    families = Table("family", "model_type of its config", "--attention", "read from", box=None, header_style="bold")
    for family in FAMILIES:
        read = "queries and keys" if family.interface else "maps, a layer at a time"
        note = f" ({family.note})" if family.note else ""
        families.add_row(family.name, ", ".join(family.model_types), ", ".join(family.attentions), read + note)
    families.add_row("others", "any", "encoder", "whichever they have, or refused with the reason")
    console = plain_console()
    console.print(table)
    console.print()
    console.print(families)
