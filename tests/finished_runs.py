"""Folders of finished runs, made from numbers that are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from probe.results.paper import printed_cooccurrence, printed_ratios
from probe.results.schema import LAYER_COLUMNS, MEASURE_COLUMNS, TABLE_COLUMNS, TOPIC_COLUMNS
from probe.results.writing import RUN_FORMAT, write_results

REASON = "the different-topic mean is not clearly away from zero"
THETAS = (0.0005, 0.001)


def make_tables(
    models: Sequence[str] = ("bert-base-uncased",),
    *,
    thetas: Sequence[float] = THETAS,
    ratio: float = 1.5,
    withheld: tuple[str, float] | None = None,
) -> dict[str, pd.DataFrame]:
    """Tables of a run in which every pretrained ratio is `ratio`, `ratio + 0.1`, ... (withheld: a measure, a theta)."""
    measures, layers, topics = [], [], []
    ratios: dict[int, list] = {1: [], 5: []}
    for model in models:
        for weights, site in (("pretrained", "word"), ("random", "layer")):
            for theta in thetas:
                for number, kind in ((1, "single"), (5, "multiple")):
                    row = {"model": model, "weights": weights, "theta": theta, "vocabulary": 29_250, "site": site}
                    row |= {"words_per_topic": int(theta * 29_250) + 1, "words": 1500}
                    printed = printed_ratios(number, model, weights, theta)
                    for position, measure in enumerate(("cosine", "dot", "attention")):
                        value = ratio + position / 10 if weights == "pretrained" else 1.0
                        none = weights == "pretrained" and withheld == (measure, theta)
                        low, high = (np.nan, np.nan) if none else (value - 0.1, value + 0.2)
                        row[f"{measure}_ratio"] = np.nan if none else value
                        row[f"{measure}_ratio_low"], row[f"{measure}_ratio_high"] = low, high
                        row[f"paper_{measure}_ratio"] = getattr(printed, measure) if printed else np.nan
                        where = "attention" if measure == "attention" else site
                        measures.append(
                            {"model": model, "weights": weights, "theta": theta, "assignment": kind, "measure": measure}
                            | {"site": where, "same": 0.3, "different": 0.2, "ratio": row[f"{measure}_ratio"]}
                            | {"low": low, "high": high, "null_mean": 1.0, "null_low": 0.95, "null_high": 1.05}
                            | {"p_value": 0.01, "same_pairs": 9, "different_pairs": 99, "note": REASON if none else ""}
                        )
                    ratios[number].append(row)
                    layers += [
                        (model, weights, theta, kind, layer, head, 0.012, 0.01, 1 + 0.1 * layer + 0.01 * head)
                        for layer in range(3)
                        for head in range(2)
                    ]
        for theta in thetas:
            topics += [
                (model, theta, topic, rank, f"w{topic}{rank}", f"w{topic}{rank}", 0.5 - rank / 10, 1)
                for topic in range(3)
                for rank in range(4)
            ]
    cooccurrence = []
    for model in models:
        for theta in thetas:
            k = int(theta * 29_250) + 1
            found = {"attention_same_topic": 0.0071, "attention_top_cooccurring": 0.0082}
            found |= {"cosine_same_topic": 0.41, "cosine_top_cooccurring": 0.33}
            printed = printed_cooccurrence(model, theta)
            paper = {f"paper_{name}": getattr(printed, name) if printed else np.nan for name in found}
            cooccurrence.append({"model": model, "theta": theta, "word_pairs": k * (k - 1) // 2, **found, **paper})
    return {
        "table1": pd.DataFrame(ratios[1], columns=TABLE_COLUMNS),
        "table5": pd.DataFrame(ratios[5], columns=TABLE_COLUMNS),
        "table2": pd.DataFrame(cooccurrence),
        "measures": pd.DataFrame(measures, columns=MEASURE_COLUMNS),
        "layers": pd.DataFrame(layers, columns=LAYER_COLUMNS),
        "topics": pd.DataFrame(topics, columns=TOPIC_COLUMNS),
    }


def save_run(
    folder: Path, models: Sequence[str] = ("bert-base-uncased",), *, seed: int = 0, corpus: str = "tiny", **tables
) -> Path:
    """Write a finished run."""
    info = {
        "format": RUN_FORMAT,
        "arguments": {"model": list(models), "seed": seed, "lda": {"topics": 3}},
        "corpus": {"name": corpus, "fingerprint": corpus},
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_results(folder, make_tables(models, **tables), info, {"total": 1.0})
    return folder
