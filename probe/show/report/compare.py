"""Several runs side by side: differences from the first, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from probe.results.comparison import compare
from probe.results.schema import RATIOS
from probe.show.comparison import comparison_view
from probe.show.report.plots import Figure, Row, row_plot
from probe.show.report.sources import Tables
from probe.show.report.subjects import shortened
from probe.show.views import View


def comparison(runs: Sequence[Tables]) -> tuple[View, list[Figure]]:
    """Table 1 of several runs, and their differences drawn, a figure a measure.

    Args:
        runs: at least two; the first is the reference.
    """
    table = compare([run.finished for run in runs], 1)
    view = comparison_view([run.finished for run in runs], 1, table)
    number = {str(run.finished.folder): place for place, run in enumerate(runs, 1)}
    shown = table[(table["weights"] == "pretrained") & table["difference"].notna()]
    figures = []
    for measure in RATIOS:
        mine = shown[shown["measure"] == measure]
        rows = [
            Row(
                f"{number[one['run']]} − 1, {shortened(str(one['model']), 16)}, {one['theta']:g}",
                float(one["difference"]),
                float(one["difference_low"]),
                float(one["difference_high"]),
            )
            for one in mine.to_dict("records")
        ]
        if rows:
            title = f"Difference of the {measure} ratio from run 1 (trained weights)"
            figures.append(row_plot(title, rows, held=0.0, log=False))
    return view, figures
