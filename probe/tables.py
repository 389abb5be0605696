"""The tables of a run as pandas frames, and how they are written."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from probe import paper
from probe.errors import ProbeError
from probe.estimates import MeasuredEstimate
from probe.measures.attention import AttentionSums
from probe.measures.pairs import TopicPairs
from probe.statistics import interval, p_value, ratio_draws
from probe.topics import rank_words, words_per_topic
from probe.vocabulary import Vocabulary

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
]
TABLE_COLUMNS = [
    "model",
    "weights",
    "theta",
    "vocabulary",
    "words_per_topic",
    "words",
    "site",
    *(f"{measure}_ratio{end}" for measure in ("cosine", "dot", "attention") for end in ("", "_low", "_high")),
    *(f"paper_{measure}_ratio" for measure in ("cosine", "dot", "attention")),
]
LAYER_COLUMNS = ["model", "weights", "theta", "assignment", "layer", "head", "same", "different", "ratio"]
TOPIC_COLUMNS = ["model", "theta", "topic", "rank", "token", "surface", "likelihood", "kept"]
# Random word rows are zero-mean, so their ratio means nothing; the embedding layer's output is the paper's baseline.
_SITE = {"pretrained": "word", "random": "layer"}


@dataclass(frozen=True)
class ModelResult:
    """All that was estimated for a model with one kind of weights."""

    model: str
    weights: str
    estimates: list[MeasuredEstimate]
    sums: AttentionSums
    pairs: TopicPairs


def measures_table(results: Iterable[ModelResult]) -> pd.DataFrame:
    """`measures.csv`: one row a number; several topic models are pooled into one row."""
    rows = []
    for result in results:

        def what(found: MeasuredEstimate) -> tuple:
            order = ("word", "layer", "attention").index(found.site)
            return (found.assignment.theta, found.assignment.kind != "single", order, found.measure)

        for _, group in groupby(sorted(result.estimates, key=what), key=what):
            rows.append({"model": result.model, "weights": result.weights, **_measure_row(list(group))})
    return pd.DataFrame(rows, columns=MEASURE_COLUMNS)


def _measure_row(group: Sequence[MeasuredEstimate]) -> dict[str, Any]:
    first = group[0]
    estimates = [found.estimate for found in group]
    notes = sorted({estimate.withheld for estimate in estimates} - {""})
    row: dict[str, Any] = {
        "theta": first.assignment.theta,
        "assignment": first.assignment.kind,
        "measure": first.measure,
        "site": first.site,
        "same": np.mean([estimate.same for estimate in estimates]),
        "different": np.mean([estimate.different for estimate in estimates]),
        "same_pairs": sum(estimate.same_pairs for estimate in estimates),
        "different_pairs": sum(estimate.different_pairs for estimate in estimates),
        "note": "; ".join(notes),
    }
    if notes:
        return row
    ratio = float(np.mean([estimate.ratio for estimate in estimates]))
    null = np.mean([estimate.null for estimate in estimates], axis=0)
    row["ratio"] = ratio
    # Draws of all topic models together: within-model and between-model spread in one interval.
    row["low"], row["high"] = interval(np.concatenate([ratio_draws(estimate) for estimate in estimates]))
    row["null_mean"] = float(null[np.isfinite(null)].mean()) if np.isfinite(null).any() else np.nan
    row["null_low"], row["null_high"] = interval(null)
    row["p_value"] = p_value(ratio, null)
    return row


def ratio_table(number: int, measures: pd.DataFrame, results: Sequence[ModelResult]) -> pd.DataFrame:
    """`table1.csv` (single assignment) or `table5.csv` (multiple), beside the printed ratios."""
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
            assignments = [a for a in result.pairs.assignments if a.theta == theta and a.kind == kind]
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
            for measure in ("cosine", "dot", "attention"):
                where = "attention" if measure == "attention" else site
                found = mine[(mine["theta"] == theta) & (mine["measure"] == measure) & (mine["site"] == where)]
                row[f"{measure}_ratio"] = found["ratio"].item()
                row[f"{measure}_ratio_low"] = found["low"].item()
                row[f"{measure}_ratio_high"] = found["high"].item()
                row[f"paper_{measure}_ratio"] = getattr(printed, measure) if printed else np.nan
            rows.append(row)
    return pd.DataFrame(rows, columns=TABLE_COLUMNS)


def layers_table(results: Iterable[ModelResult]) -> pd.DataFrame:
    """`layers.csv`: debiased attention by layer and head, counted from 0."""
    rows = []
    for result in results:
        pairs = result.sums.document_pairs.sum(axis=0)
        for column, assignment in enumerate(result.pairs.assignments):
            if assignment.seed != 0:
                continue
            chosen = [2 * column, 2 * column + 1]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = result.sums.layers[:, :, chosen] / pairs[chosen]
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
    vocabulary: Vocabulary,
) -> pd.DataFrame:
    """`topics.csv` of one model: the words each topic keeps, likeliest first.

    Args:
        model: the model whose tokenizer made the words.
        thetas: ambiguity thresholds.
        topic_word: [topics, n] p(w | t).
        dictionary: [n] token ids.
        vocabulary: of the tokenizer.
    """
    topics, n = topic_word.shape
    frames = []
    for theta in thetas:
        k = words_per_topic(theta, n)
        ranked = rank_words(topic_word, k)
        kept = np.zeros((topics, n), dtype=bool)
        np.put_along_axis(kept, ranked, True, axis=1)
        owner = np.where(kept, topic_word, -1.0).argmax(axis=0)
        words = ranked.ravel()
        topic = np.repeat(np.arange(topics), k)
        frames.append(
            pd.DataFrame(
                {
                    "model": model,
                    "theta": theta,
                    "topic": topic,
                    "rank": np.tile(np.arange(k), topics),
                    "token": [vocabulary.tokens[word] for word in dictionary[words]],
                    "surface": [vocabulary.surfaces[word] for word in dictionary[words]],
                    "likelihood": topic_word[topic, words],
                    "kept": (owner[words] == topic).astype(int),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)[TOPIC_COLUMNS]


def write_results(folder: Path, tables: Mapping[str, pd.DataFrame], info: Mapping[str, Any]) -> None:
    """Write every table and `run.json` into a folder; each file is there whole or not at all.

    Args:
        folder: made if missing.
        tables: frames by file name without `.csv`.
        info: content of `run.json`.

    Raises:
        ProbeError: the folder cannot be written.
    """
    check_writable(folder)
    try:
        temporary = Path(tempfile.mkdtemp(dir=folder, prefix=".writing-"))
        try:
            for name, table in tables.items():
                table.to_csv(temporary / f"{name}.csv", index=False, encoding="utf-8", lineterminator="\n")
            text = json.dumps(info, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
            (temporary / "run.json").write_text(text, encoding="utf-8")
            for path in sorted(temporary.iterdir()):
                path.replace(folder / path.name)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise _cannot_write(folder, error) from error


def check_writable(folder: Path) -> None:
    """Refuse an output folder that cannot be written, before any work is done.

    Raises:
        ProbeError: it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".writing-")
        os.close(descriptor)
        Path(name).unlink()
    except OSError as error:
        raise _cannot_write(folder, error) from error


def _cannot_write(folder: Path, error: OSError) -> ProbeError:
    return ProbeError(
        f"The output folder {folder} cannot be written ({error.strerror or error}): name another with --out DIR."
    )
