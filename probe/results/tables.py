"""The tables of a run as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from probe.measures.protocol import HeadSums, TopMeans
from probe.results import paper
from probe.results.schema import (
    COOCCURRENCE_COLUMNS,
    LAYER_COLUMNS,
    MEASURE_COLUMNS,
    RATIOS,
    TABLE_COLUMNS,
    TOPIC_COLUMNS,
)
from probe.statistics.estimate import Estimate, interval, null_ratios, p_value, ratio_draws
from probe.statistics.estimates import MeasuredEstimate
from probe.text.words import Words
from probe.topics.assignment import Assignment, kept_words, rank_words
from probe.topics.theta import words_per_topic

# Random word rows are zero-mean, so their ratio means nothing; the embedding layer's output is the paper's baseline.
_SITES = ("word", "layer", "attention")
_SITE = {"pretrained": "word", "random": "layer"}


@dataclass(frozen=True)
class ModelResult:
    """All that was estimated for a model with one kind of weights.

    Attributes:
        model, weights: which.
        estimates: of every measure.
        assignments: of words to topics, that it was estimated for.
        heads: sums of every head, by assignment.
        top: means of the pairs that co-occur most, by theta.
    """

    model: str
    weights: str
    estimates: Sequence[MeasuredEstimate]
    assignments: Sequence[Assignment]
    heads: Sequence[tuple[Assignment, HeadSums]]
    top: Sequence[TopMeans]


def measures_table(results: Iterable[ModelResult]) -> pd.DataFrame:
    """`measures.csv`: one row a number; several topic models are pooled into one row."""
    rows = []
    for result in results:

        def what(found: MeasuredEstimate) -> tuple[float, bool, int, str, str]:
            order = _SITES.index(found.site) if found.site in _SITES else len(_SITES)
            return (found.assignment.theta, found.assignment.kind != "single", order, found.site, found.measure)

        for _, group in groupby(sorted(result.estimates, key=what), key=what):
            rows.append({"model": result.model, "weights": result.weights, **_measure_row(list(group))})
    return pd.DataFrame(rows, columns=MEASURE_COLUMNS)


def _measure_row(group: Sequence[MeasuredEstimate]) -> dict[str, Any]:
    first = group[0]
    estimates = [found.estimate for found in group]
    withheld = sorted({estimate.withheld for estimate in estimates} - {""})
    row: dict[str, Any] = {
        "theta": first.assignment.theta,
        "assignment": first.assignment.kind,
        "measure": first.measure,
        "site": first.site,
        "same": np.mean([estimate.same for estimate in estimates]),
        "different": np.mean([estimate.different for estimate in estimates]),
        "same_pairs": sum(estimate.same_pairs for estimate in estimates),
        "different_pairs": sum(estimate.different_pairs for estimate in estimates),
        "note": "; ".join([*withheld, *([first.remark] if first.remark else [])]),
    }
    if not withheld:
        row["ratio"] = float(np.mean([estimate.ratio for estimate in estimates]))
        # Draws of all topic models together: within-model and between-model spread in one interval.
        row["low"], row["high"] = interval(np.concatenate([ratio_draws(estimate) for estimate in estimates]))
    for name, prefix in (("null", ""), ("frequency_null", "frequency_")):
        row |= _null_columns(estimates, name, prefix, by_ratio=not withheld)
    return row


def _null_columns(estimates: Sequence[Estimate], name: str, prefix: str, by_ratio: bool) -> dict[str, float]:
    """Mean, interval and p-value of a null; where the ratio is withheld, the p-value of the means' difference."""
    nulls = [getattr(estimate, name) for estimate in estimates]
    if any(null is None for null in nulls):
        return {}
    differences = np.mean([same - different for same, different in nulls], axis=0)
    if not by_ratio:
        observed = float(np.mean([estimate.same - estimate.different for estimate in estimates]))
        return {f"{prefix}p_value": p_value(observed, differences)}
    ratios = np.mean([null_ratios(null) for null in nulls], axis=0)
    observed = float(np.mean([estimate.ratio for estimate in estimates]))
    low, high = interval(ratios)
    return {
        f"{prefix}null_mean": float(ratios[np.isfinite(ratios)].mean()) if np.isfinite(ratios).any() else np.nan,
        f"{prefix}null_low": low,
        f"{prefix}null_high": high,
        f"{prefix}p_value": p_value(observed, ratios),
    }


def ratio_table(number: int, measures: pd.DataFrame, results: Sequence[ModelResult]) -> pd.DataFrame:
    """`table1.csv` (single assignment) or `table5.csv` (multiple), beside the printed ratios.

    With several topic models, `_seed_sd` columns hold the standard deviation of each ratio between them.
    """
    kind = {1: "single", 5: "multiple"}[number]
    rows = []
    for result in results:
        site = _SITE[result.weights]
        mine = measures[
            (measures["model"] == result.model)
            & (measures["weights"] == result.weights)
            & (measures["assignment"] == kind)
        ]
        for theta in mine["theta"].unique():
            assignments = [a for a in result.assignments if a.theta == theta and a.kind == kind]
            row: dict[str, Any] = {
                "model": result.model,
                "weights": result.weights,
                "theta": theta,
                "vocabulary": assignments[0].vocabulary,
                "words_per_topic": assignments[0].words_per_topic,
                "words": round(float(np.mean([len(a.words) for a in assignments]))),
                "site": site,
            }
            printed = paper.printed_ratios(number, result.model, result.weights, theta)
            for measure in RATIOS:
                where = "attention" if measure == "attention" else site
                found = mine[(mine["theta"] == theta) & (mine["measure"] == measure) & (mine["site"] == where)]
                row[f"{measure}_ratio"] = found["ratio"].item()
                row[f"{measure}_ratio_low"] = found["low"].item()
                row[f"{measure}_ratio_high"] = found["high"].item()
                row[f"paper_{measure}_ratio"] = getattr(printed, measure) if printed else np.nan
                if len(assignments) > 1:
                    ratios = [
                        one.estimate.ratio
                        for one in result.estimates
                        if any(one.assignment is a for a in assignments) and (one.measure, one.site) == (measure, where)
                    ]
                    row[f"{measure}_ratio_seed_sd"] = float(np.std(ratios, ddof=1))
            rows.append(row)
    several = any(len({a.seed for a in result.assignments}) > 1 for result in results)
    spread = [f"{measure}_ratio_seed_sd" for measure in RATIOS] if several else []
    return pd.DataFrame(rows, columns=[*TABLE_COLUMNS, *spread])


def cooccurrence_table(measures: pd.DataFrame, results: Sequence[ModelResult]) -> pd.DataFrame:
    """`table2.csv`: same-topic pairs beside the pairs that co-occur most, for pretrained weights."""
    rows = []
    for result in results:
        if result.weights != "pretrained":
            continue
        mine = measures[
            (measures["model"] == result.model)
            & (measures["weights"] == result.weights)
            & (measures["assignment"] == "single")
        ]
        for top in result.top:
            here = mine[mine["theta"] == top.theta].set_index(["measure", "site"])["same"]
            printed = paper.printed_cooccurrence(result.model, top.theta)
            rows.append(
                {
                    "model": result.model,
                    "theta": top.theta,
                    "word_pairs": top.word_pairs,
                    "attention_same_topic": here["attention", "attention"],
                    "attention_top_cooccurring": top.attention,
                    "cosine_same_topic": here["cosine", "word"],
                    "cosine_top_cooccurring": top.cosine,
                }
                | {f"paper_{name}": value for name, value in (printed._asdict() if printed else {}).items()}
            )
    return pd.DataFrame(rows, columns=COOCCURRENCE_COLUMNS)


def layers_table(results: Iterable[ModelResult]) -> pd.DataFrame:
    """`layers.csv`: debiased attention by layer and head, counted from 0."""
    rows = []
    for result in results:
        for assignment, found in ((one, found) for one, found in result.heads if one.seed == 0):
            sums, counts = found.sums, found.pairs
            means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
            with np.errstate(invalid="ignore", divide="ignore"):
                ratios = means[..., 0] / means[..., 1]
            for layer, head in np.ndindex(ratios.shape):
                same, different = means[layer, head]
                rows.append(
                    (
                        result.model,
                        result.weights,
                        assignment.theta,
                        assignment.kind,
                        layer,
                        head,
                        same,
                        different,
                        ratios[layer, head],
                    )
                )
    return pd.DataFrame(rows, columns=LAYER_COLUMNS)


def topics_table(
    model: str,
    thetas: Iterable[float],
    topic_word: np.ndarray,
    dictionary: np.ndarray,
    words_by_number: Words,
) -> pd.DataFrame:
    """`topics.csv` of one model: the words each topic keeps, likeliest first.

    Args:
        model: the model whose tokenizer made the words.
        thetas: ambiguity thresholds.
        topic_word: [topics, n] p(w | t).
        dictionary: [n] numbers of words.
        words_by_number: of the corpus.
    """
    n = topic_word.shape[1]
    frames = []
    for theta in thetas:
        kept = kept_words(topic_word, theta)
        owner = np.where(kept, topic_word, -1.0).argmax(axis=0)
        ranked = rank_words(topic_word, words_per_topic(theta, n))
        topic, rank = np.nonzero(np.take_along_axis(kept, ranked, axis=1))
        words = ranked[topic, rank]
        frames.append(
            pd.DataFrame(
                {
                    "model": model,
                    "theta": theta,
                    "topic": topic,
                    "rank": rank,
                    "token": [words_by_number.tokens[word] for word in dictionary[words]],
                    "surface": [words_by_number.surfaces[word] for word in dictionary[words]],
                    "likelihood": topic_word[topic, words],
                    "kept": (owner[words] == topic).astype(int),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)[TOPIC_COLUMNS]
