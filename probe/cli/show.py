"""Rounded tables on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

_WIDE = 100
_TITLES = {
    1: "Table 1. Same-topic over different-topic; one topic a word (95 % intervals)",
    5: "Table 5. Same-topic over different-topic; several topics a word (95 % intervals)",
}


def show_ratio_table(console: Console, number: int, table: pd.DataFrame, measures: pd.DataFrame) -> None:
    """Print Table 1 or 5: ratios with their 95 % intervals, and the printed ones where the paper has them."""
    from rich import box
    from rich.table import Table

    shown = Table(title=_TITLES[number], title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("model", "theta", "k", "cosine ratio", "dot ratio", "attention ratio"):
        shown.add_column(name, justify="left" if name == "model" else "right", no_wrap=True)
    printed = table["paper_attention_ratio"].notna().any()
    if printed:
        shown.add_column("printed", justify="right", no_wrap=True)
    between = " " if console.width >= _WIDE else "\n"
    for row in table.to_dict("records"):
        cells = [
            row["model"] + (" (random)" if row["weights"] == "random" else ""),
            f"{row['theta']:g}",
            str(row["words_per_topic"]),
            *(_ratio(row, measure, between) for measure in ("cosine", "dot", "attention")),
        ]
        if printed:
            values = [row[f"paper_{measure}_ratio"] for measure in ("cosine", "dot", "attention")]
            cells.append(" ".join(f"{value:g}" for value in values if value == value))
        shown.add_row(*cells)
    console.print(shown)
    site = table["site"] + table["weights"]
    kind = {1: "single", 5: "multiple"}[number]
    mine = measures[(measures["assignment"] == kind) & (measures["note"] != "")]
    withheld = mine[(mine["site"] + mine["weights"]).isin(set(site)) | (mine["measure"] == "attention")]
    for note in withheld["note"].unique():
        console.print(f"-: withheld, {note} (measures.csv has the means)", style="dim")


def _ratio(row: dict, measure: str, between: str) -> str:
    value, low, high = (row[f"{measure}_ratio{end}"] for end in ("", "_low", "_high"))
    if value != value:
        return "-"
    digits = 2 if row["weights"] == "pretrained" else 4
    return f"{value:.{digits}f}{between}[dim]({low:.{digits}f}, {high:.{digits}f})[/dim]"
