"""Folders of finished runs with everything that a report shows, made from numbers that are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from probe.results.examples import coded, write_examples
from probe.results.schema import LAYER_COLUMNS, TOPIC_COLUMNS, TOPIC_EFFECT_COLUMNS, TOPIC_MAP_COLUMNS
from probe.results.writing import RUN_FORMAT, write_results
from tests.finished_runs import make_tables

THETAS = (0.0005, 0.001, 0.002)
# Topic 1 keeps the second word at the widest theta, too, where topic 0 has it with more likelihood.
WORDS = ("music", "album", "band", "war", "army", "peace", "مدرسة", "学校", "😀cat")


def rich_run(
    folder: Path,
    models: Sequence[str] = ("bert-base-uncased",),
    *,
    words: Sequence[str] = WORDS,
    topics: int = 3,
    layers: int = 3,
    heads: int = 4,
    corpus: str = "tiny",
    license: str = "CC BY-SA 4.0",
    passages: int = 3,
    optional: bool = True,
) -> Path:
    """A run with topics of equally many words; `optional`: with all files and columns that a run may lack."""
    random = np.random.default_rng(0)
    tables = make_tables(models, thetas=THETAS)
    size = len(words) // topics
    tables["layers"] = _layers(models, layers, heads, random, optional)
    tables["topics"] = _topics(models, words, topics, size)
    if optional:
        tables |= _optional_tables(models, topics, layers, random)
    info = {
        "format": RUN_FORMAT,
        "arguments": {"model": list(models), "corpus": corpus, "seed": 7, "theta": list(THETAS), "baseline": True}
        | {"lda": {"topics": topics, "engine": "gensim", "random_state": 0}, "lda_seeds": 1},
        "corpus": {"name": corpus, "fingerprint": "f1", "language": "en", "license": license},
        "device": "cpu",
        "models": [
            {"name": model, "weights": weights, "fingerprint": "f2", "passages": 60}
            for model in models
            for weights in ("pretrained", "random")
        ],
        "versions": {"topic-probe": "0.1.0"},
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_results(folder, tables, info, {"total": 1.0})
    if passages:
        content = [_examples(model, words, topics, layers, heads, passages, random) for model in models]
        write_examples(folder, {"corpus": {"name": corpus, "license": license}, "models": content})
    return folder


def _layers(models, layers, heads, random, optional) -> pd.DataFrame:
    rows = []
    for model in models:
        for weights in ("pretrained", "random"):
            for theta in THETAS:
                for kind in ("single", "multiple"):
                    for layer, head in np.ndindex(layers, heads):
                        ratio = 1 + (0.1 * layer + 0.2 * head + 0.01 * random.random()) * (weights == "pretrained")
                        rows.append((model, weights, theta, kind, layer, head, 0.01 * ratio, 0.01, ratio))
    frame = pd.DataFrame(rows, columns=LAYER_COLUMNS)
    if optional:
        frame["p_value"], frame["q_value"] = random.random(len(frame)), random.random(len(frame)) / 10
        frame["distance_matched_ratio"] = 1 + (frame["ratio"] - 1) / 2
        frame["popularity_adjusted_ratio"] = 1 + (frame["ratio"] - 1) / 3
        frame["role"] = np.where(frame["head"] == 0, "previous token", "")
    return frame


def _topics(models, words, topics, size) -> pd.DataFrame:
    rows = []
    for model in models:
        for number, theta in enumerate(THETAS):
            k = max(1, size - len(THETAS) + 1 + number)
            for topic in range(topics):
                for rank in range(k):
                    word = words[topic * size + rank]
                    rows.append((model, theta, topic, rank, word, word, 0.5 / (rank + 1), 1))
            if topics > 1 and number == len(THETAS) - 1:
                rows.append((model, theta, 1, k, words[0], words[0], 0.05, 0))
    return pd.DataFrame(rows, columns=TOPIC_COLUMNS)


def _optional_tables(models, topics, layers, random) -> dict[str, pd.DataFrame]:
    effects, places, hidden, explain = [], [], [], []
    for model in models:
        places += [(model, topic, 1 / topics, *random.normal(size=2)) for topic in range(topics)]
        for theta in THETAS:
            for measure in ("cosine", "attention"):
                effects += [
                    (model, theta, measure, topic, 3, 0.3, 0.2, 1.5 + topic / 10, 1 / topics, 9, 99)
                    for topic in range(topics)
                ]
                for at, control in enumerate(
                    (
                        "raw",
                        "frequency_matched",
                        "distance_matched",
                        "cooccurrence_matched",
                        "popularity_adjusted",
                        "all",
                    )
                ):
                    ratio = 1.9 - 0.15 * at
                    explain.append((model, "pretrained", theta, "single", measure, control, 0.3, 0.2, ratio, 0.9, 2.0))
            for weights in ("pretrained", "random"):
                for control in ("raw", "centered", "without_dominant"):
                    for layer in range(layers + 1):
                        ratio = np.nan if control == "centered" else 1 + 0.1 * layer * (weights == "pretrained")
                        low, high = ratio - 0.05, ratio + 0.05
                        null = (1.0, 0.97, 1.03, 0.001)
                        hidden.append(
                            (model, weights, theta, "single", layer, control, 0.3, 0.2, ratio, low, high, *null)
                        )
    shared = ["model", "weights", "theta", "assignment"]
    numbers = ["same", "different", "ratio", "low", "high"]
    nulls = ["null_mean", "null_low", "null_high", "p_value"]
    return {
        "topic_effects": pd.DataFrame(effects, columns=TOPIC_EFFECT_COLUMNS),
        "topic_map": pd.DataFrame(places, columns=TOPIC_MAP_COLUMNS),
        "hidden": pd.DataFrame(hidden, columns=[*shared, "layer", "control", *numbers, *nulls]),
        "explain": pd.DataFrame(explain, columns=[*shared, "measure", "control", *numbers]),
    }


def _examples(model, words, topics, layers, heads, passages, random) -> dict:
    size = len(words) // topics
    # Two words of the first topic, and one of each other.
    shown = [0, 1, *(topic * size for topic in range(1, min(topics, 12)))]
    found = []
    for number in range(passages):
        text, spans = _passage([words[place] for place in shown], shown)
        attention = random.exponential(1, (layers, heads, len(shown), len(shown)))
        attention[:, :, 0, 1] = 50
        found.append({"document": number, "text": text, "spans": spans, "attention": coded(attention)})
    snippets = []
    for topic in range(topics):
        text, spans = _passage([words[topic * size]], [topic * size])
        snippets.append({"topic": topic, "document": topic, "text": text, "spans": spans})
    pairs = [[[0, 1, 12.5, 3], [0, size, 3.25, 1]] if topics > 1 else [[0, 1, 12.5, 3]]] * (layers * heads)
    shape = {"layers": layers, "heads": heads, "causal": False, "read": 32}
    return {"model": model, **shape, "words": list(words), "pairs": pairs, "passages": found, "snippets": snippets}


def _passage(words, numbers) -> tuple[str, list[list[int]]]:
    text, spans = "", []
    for word, number in zip(words, numbers, strict=True):
        text += "the "
        spans.append([len(text), len(text) + len(word), number])
        text += word + " "
    return text + "and so on.", spans


def training(folder: Path) -> Path:
    """What `probe dynamics` writes of a training with three checkpoints."""
    rows = [
        (step, 0.001, measure, site, 0.3, 0.2, 1 + step / 100, 0.9 + step / 100, 1.1 + step / 100, "")
        for step in (0, 50, 100)
        for measure, site in (("cosine", "word"), ("attention", "attention"))
    ]
    columns = ["step", "theta", "measure", "site", "same", "different", "ratio", "low", "high", "note"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.loc[0, ["ratio", "low", "high"]] = np.nan
    frame.loc[0, "note"] = "not clear of zero"
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / "dynamics.csv", index=False)
    norms = [
        (step, layer, matrix, 2 + step / 50) for step in (0, 50, 100) for layer in (0, 1) for matrix in ("key", "value")
    ]
    pd.DataFrame(norms, columns=["step", "layer", "matrix", "norm"]).to_csv(folder / "norms.csv", index=False)
    info = {"model": "tiny-bert", "steps": [0, 50, 100], "arguments": {"seed": 0}, "corpus": {"name": "tiny"}}
    (folder / "dynamics.json").write_text(json.dumps(info))
    return folder
