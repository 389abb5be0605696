"""The columns of a run's tables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from probe.results import paper

if TYPE_CHECKING:
    import pandas as pd

RATIOS = ("cosine", "dot", "attention")
"""The measures of Tables 1 and 5."""
ASSIGNMENTS = {1: "single", 5: "multiple"}
"""Which assignment a table is of."""
COOCCURRENCE_MEANS = paper.Cooccurrence._fields
"""The means of Table 2."""
MEASURE_COLUMNS = [
    "model",
    "weights",
    "theta",
    "assignment",
    "measure",
    "site",
    "same",
    "different",
    "ratio",
    "low",
    "high",
    "null_mean",
    "null_low",
    "null_high",
    "p_value",
    "same_pairs",
    "different_pairs",
    "note",
    "frequency_null_mean",
    "frequency_null_low",
    "frequency_null_high",
    "frequency_p_value",
]
COOCCURRENCE_COLUMNS = [
    "model",
    "theta",
    "word_pairs",
    *COOCCURRENCE_MEANS,
    *(f"paper_{name}" for name in COOCCURRENCE_MEANS),
]
TABLE_COLUMNS = [
    "model",
    "weights",
    "theta",
    "vocabulary",
    "words_per_topic",
    "words",
    "site",
    *(f"{measure}_ratio{end}" for measure in RATIOS for end in ("", "_low", "_high")),
    *(f"paper_{measure}_ratio" for measure in RATIOS),
]
LAYER_COLUMNS = ["model", "weights", "theta", "assignment", "layer", "head", "same", "different", "ratio"]
TOPIC_EFFECT_COLUMNS = [
    "model",
    "theta",
    "measure",
    "topic",
    "words",
    "same",
    "different",
    "ratio",
    "share",
    "same_pairs",
    "different_pairs",
]
TOPIC_MAP_COLUMNS = ["model", "topic", "share", "x", "y"]
TOPIC_COLUMNS = ["model", "theta", "topic", "rank", "token", "surface", "likelihood", "kept"]


def why_withheld(measures: pd.DataFrame, number: int, row: Mapping[Hashable, Any], measure: str) -> str:
    """The reason why a cell of Table 1 or 5 is empty.

    Args:
        measures: `measures.csv`.
        number: 1 or 5.
        row: a row of the table.
        measure: cosine, dot or attention.
    """
    site = "attention" if measure == "attention" else row["site"]
    found = measures[
        (measures["model"] == row["model"])
        & (measures["weights"] == row["weights"])
        & (measures["theta"] == row["theta"])
        & (measures["assignment"] == ASSIGNMENTS[number])
        & (measures["measure"] == measure)
        & (measures["site"] == site)
    ]["note"]
    return next((note for note in found if note), "no reason is recorded")
