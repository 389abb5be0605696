"""Where in the model: hidden states, attention and embeddings over depth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from probe.show.report.plots import Figure, Row, Series, line_plot, row_plot
from probe.show.report.subjects import Subject

if TYPE_CHECKING:
    import pandas as pd

_HIDDEN = {"raw": "raw", "centered": "mean-centred", "without_dominant": "without the dominant dimensions"}


def layer_figures(subject: Subject, theta: float) -> list[Figure]:
    """Every figure over depth that a run has the numbers for, single assignment."""
    return [*_hidden(subject, theta), *_attention(subject, theta), *_embeddings(subject, theta)]


def _hidden(subject: Subject, theta: float) -> list[Figure]:
    table = subject.optional("hidden")
    if table is None:
        return []
    mine = table[(table["theta"] == theta) & (table["assignment"] == "single")]
    series = []
    for control, name in _HIDDEN.items():
        rows = mine[(mine["weights"] == "pretrained") & (mine["control"] == control)].sort_values("layer")
        if rows["ratio"].notna().any():
            series.append(_series(name, rows))
    raw = mine[(mine["weights"] == "pretrained") & (mine["control"] == "raw")].sort_values("layer")
    if series and raw["null_mean"].notna().any():
        series.append(_series("raw, topics permuted", raw, "null_mean", "null_low", "null_high", weak=True))
    random = mine[(mine["weights"] == "random") & (mine["control"] == "raw")].sort_values("layer")
    if len(random) and series:
        series.append(_series("raw, random weights", random, weak=True))
    figures = []
    if series:
        title = "Hidden states: similarity within a topic over similarity across topics"
        note = "Layer 0 is the embedding layer. Bars are 95 % intervals, those of permuted topics the middle 95 %."
        figures.append(line_plot(title, series, "layer", note=note))
    gaps = []
    for control, name in _HIDDEN.items():
        rows = mine[(mine["weights"] == "pretrained") & (mine["control"] == control)].sort_values("layer")
        if len(rows):
            gaps.append(Series(name, rows["layer"].tolist(), (rows["same"] - rows["different"]).tolist()))
    if gaps:
        title = "Hidden states: similarity within a topic minus across topics"
        note = "A difference has a meaning where the ratio has none: centring makes the mean across topics about 0."
        figures.append(line_plot(title, gaps, "layer", held=0.0, log=False, note=note))
    return figures


def _series(
    name: str, rows: pd.DataFrame, value: str = "ratio", low: str = "low", high: str = "high", *, weak: bool = False
) -> Series:
    x, y, least, most = (rows[column].astype(float).tolist() for column in ("layer", value, low, high))
    return Series(name, x, y, least, most, joined=not weak or value == "ratio", weak=weak)


def _attention(subject: Subject, theta: float) -> list[Figure]:
    table = subject.rows("layers")
    mine = table[(table["theta"] == theta) & (table["assignment"] == "single")]
    series = []
    for weights in ("pretrained", "random"):
        rows = mine[mine["weights"] == weights]
        if not len(rows):
            continue
        # All heads have the same pairs, so the ratio of a layer is that of the heads' summed means.
        layers = rows.groupby("layer")[["same", "different"]].sum()
        ratio = (layers["same"] / layers["different"]).tolist()
        weak = weights == "random"
        series.append(Series(f"{weights} weights, mean of heads", layers.index.tolist(), ratio, weak=weak))
        if not weak:
            heads = Series("one head", rows["layer"].tolist(), rows["ratio"].tolist(), joined=False, weak=True)
            series.insert(0, heads)
    if not series:
        return []
    note = "Layers are counted from 0. The spread of the heads is no interval: the file keeps none by layer."
    return [line_plot("Attention within a topic over attention across topics", series, "layer", note=note)]


def _embeddings(subject: Subject, theta: float) -> list[Figure]:
    rows = []
    for measure, site, name in (
        ("cosine", "word", "cosine, embedding matrix"),
        ("dot", "word", "dot, embedding matrix"),
        ("cosine", "layer", "cosine, embedding layer"),
        ("dot", "layer", "dot, embedding layer"),
        ("attention", "attention", "attention, all layers"),
    ):
        for weights in ("pretrained", "random"):
            found = subject.measure(measure, theta, weights, site)
            # Rows of a random matrix are zero-mean, so their ratio is of two noises.
            if found is None or (weights == "random" and site == "word"):
                continue
            label = name if weights == "pretrained" else "… random weights"
            null = (float(found["null_low"]), float(found["null_high"]))
            band = null if weights == "pretrained" and math.isfinite(null[0]) else None
            rows.append(
                Row(
                    label,
                    float(found["ratio"]),
                    float(found["low"]),
                    float(found["high"]),
                    band=band,
                    weak=weights == "random",
                    reason=str(found["note"]),
                )
            )
    note = "Bars are 95 % intervals, bands 95 % of the ratios with topics permuted among the words."
    return [row_plot("Embeddings beside attention", rows, note=note)] if rows else []
