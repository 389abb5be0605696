"""How much of an effect is something else: the raw ratio, and what remains under each control."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from probe.show.report.plots import Figure, Row, row_plot
from probe.show.report.subjects import Subject

_NAMES = {
    "raw": "raw",
    "frequency_matched": "matched on frequency",
    "distance_matched": "matched on distance",
    "cooccurrence_matched": "matched on co-occurrence",
    "popularity_adjusted": "popularity taken out",
    "all": "all together",
}
# Of a run without explain.csv.
_IN_MEASURES = {"distance_matched": "_distance_matched", "cooccurrence_matched": "_pmi_matched"}
_TITLES = {"cosine": "Similarity of embeddings (cosine)", "attention": "Attention"}
_NOTE = (
    "The bar is what the control takes away from the raw ratio. Each control is made alone, except the last. 1 is no "
    "effect."
)


@dataclass(frozen=True)
class Control:
    """A ratio when something else is held fixed.

    Attributes:
        name: raw, frequency_matched, distance_matched, cooccurrence_matched, popularity_adjusted or all.
        ratio, low, high: NaN where there is none.
    """

    name: str
    ratio: float
    low: float
    high: float


def controls(subject: Subject, theta: float, measure: str) -> list[Control]:
    """The raw ratio and its controls, from `explain.csv`, or from `measures.csv` where a run has no such file.

    Args:
        subject: the model, pretrained weights.
        theta: single assignment.
        measure: cosine or attention.
    """
    table = subject.optional("explain")
    if table is not None:
        here = (table["weights"] == "pretrained") & (table["theta"] == theta) & (table["assignment"] == "single")
        rows = table[here & (table["measure"] == measure)]
        found = [Control(str(one["control"]), *_numbers(one)) for one in rows.to_dict("records")]
        return sorted(found, key=lambda one: [*_NAMES, one.name].index(one.name))
    site = "attention" if measure == "attention" else "word"
    rows_of = {"raw": subject.measure(measure, theta, site=site)}
    rows_of |= {name: subject.measure(measure + end, theta, site=site) for name, end in _IN_MEASURES.items()}
    return [Control(name, *_numbers(row)) for name, row in rows_of.items() if row is not None]


def _numbers(row: Any) -> tuple[float, float, float]:
    return float(row["ratio"]), float(row["low"]), float(row["high"])


def explain_figures(subject: Subject, theta: float) -> list[Figure]:
    """From the raw ratio to what is left of it, a figure a measure; none where a run has no control."""
    figures = []
    for measure, title in _TITLES.items():
        found = controls(subject, theta, measure)
        if len(found) < 2:
            continue
        raw = next((one.ratio for one in found if one.name == "raw"), math.nan)
        rows = [
            Row(
                _NAMES.get(one.name, one.name.replace("_", " ")),
                one.ratio,
                one.low,
                one.high,
                start=raw if one.name != "raw" else math.nan,
                reason="not defined",
            )
            for one in found
        ]
        figures.append(row_plot(title, rows, note=_NOTE))
    return figures
