"""Rounded tables on stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

_TITLES = {
    1: "Table 1. Same-topic over different-topic; one topic a word",
    5: "Table 5. Same-topic over different-topic; several topics a word",
}


def show_ratio_table(console: Console, number: int, table: pd.DataFrame, measures: pd.DataFrame) -> None:
    """Print Table 1 or 5: ratios with their 95 % intervals, and the printed ones where the paper has them."""
    from rich import box
    from rich.table import Table

    shown = Table(title=_TITLES[number], title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("model", "weights", "theta", "n", "k", "words"):
        shown.add_column(name, justify="left" if name in ("model", "weights") else "right")
    for measure in ("cosine", "dot", "attention"):
        shown.add_column(f"{measure} ratio", justify="right")
    printed = table["paper_attention_ratio"].notna().any()
    if printed:
        shown.add_column("paper", justify="right")
    for row in table.to_dict("records"):
        cells = [
            row["model"],
            row["weights"],
            f"{row['theta']:g}",
            str(row["vocabulary"]),
            str(row["words_per_topic"]),
            str(row["words"]),
            *(_ratio(row, measure) for measure in ("cosine", "dot", "attention")),
        ]
        if printed:
            values = [row[f"paper_{measure}_ratio"] for measure in ("cosine", "dot", "attention")]
            cells.append(" ".join(f"{value:g}" for value in values if value == value))
        shown.add_row(*cells)
    console.print(shown)
    kind = {1: "single", 5: "multiple"}[number]
    notes = measures[(measures["assignment"] == kind) & (measures["note"] != "")]
    for note in notes["note"].unique():
        console.print(f"withheld (-): {note} (see measures.csv)", style="dim")


def _ratio(row: dict, measure: str) -> str:
    value, low, high = (row[f"{measure}_ratio{end}"] for end in ("", "_low", "_high"))
    if value != value:
        return "-"
    digits = 2 if row["weights"] == "pretrained" else 4
    return f"{value:.{digits}f} [dim]({low:.{digits}f}, {high:.{digits}f})[/dim]"
