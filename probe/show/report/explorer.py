"""What the page's own program shows: topics, heads and passages, as compact data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probe.show.report.subjects import Subject

if TYPE_CHECKING:
    import pandas as pd

# Columns of layers.csv that a run may lack, and what the page calls them.
_OF_HEADS = {
    "ratio": "ratio",
    "distance_matched_ratio": "distance",
    "popularity_adjusted_ratio": "popularity",
    "q_value": "q",
    "p_value": "p",
    "same": "same",
    "different": "different",
}
_ABSENT = -1


def explorer_data(subjects: Sequence[Subject]) -> dict[str, Any]:
    """The data of every subject.

    Args:
        subjects: models of runs.
    """
    return {"subjects": [_subject(subject) for subject in subjects]}


def _subject(subject: Subject) -> dict[str, Any]:
    examples = subject.example()
    return {
        "label": subject.label,
        "thetas": list(subject.thetas),
        "language": str(subject.corpus.get("language") or "und"),
        "license": str(subject.corpus.get("license") or "not stated"),
        "corpus": str(subject.corpus.get("name") or ""),
        "topics": _topics(subject),
        "heads": _heads(subject),
        "examples": examples,
    }


def _topics(subject: Subject) -> dict[str, Any]:
    """Words of every topic, and what is known of the topic.

    words: topic by topic, [surface, likelihood, owners, token where it is another text]: by theta the topic that has
        the word in single assignment, or -1 where this topic does not keep it.
    """
    table = subject.rows("topics")
    owner: dict[tuple[float, str], int] = {}
    seen: dict[tuple[int, str], list[Any]] = {}
    listed: dict[tuple[int, str], set[float]] = {}
    columns = ("theta", "topic", "token", "surface", "likelihood", "kept")
    for theta, topic, token, surface, likelihood, kept in table[list(columns)].itertuples(index=False):
        if kept == 1:
            owner[float(theta), str(token)] = int(topic)
        key = (int(topic), str(token))
        seen.setdefault(key, [str(surface), short(likelihood)])
        listed.setdefault(key, set()).add(float(theta))
    # A topic that was left empty keeps no word, and still has a number.
    words: list[list[Any]] = [[] for _ in range(1 + max((topic for topic, _ in seen), default=-1))]
    for (topic, token), (surface, likelihood) in seen.items():
        owners = [
            owner.get((theta, token), _ABSENT) if theta in listed[topic, token] else _ABSENT for theta in subject.thetas
        ]
        words[topic].append([surface, likelihood, owners, *([token] if token != surface else [])])
    for of_topic in words:
        of_topic.sort(key=lambda word: -(word[1] or 0))
    table1 = subject.rows("table1")
    sizes = table1[table1["weights"] == "pretrained"].set_index("theta")["words_per_topic"]
    return {
        "words": words,
        "k": [int(sizes[theta]) for theta in subject.thetas],
        "map": _map(subject, words),
        "effects": _effects(subject, len(words)),
    }


def _map(subject: Subject, words: list[list[Any]]) -> list[list[Any]] | None:
    """[share of the text, x, y] of every topic; None where the run has no map."""
    table = subject.optional("topic_map")
    if table is None:
        return None
    rows = table.sort_values("topic")
    while len(words) < len(rows):
        words.append([])
    return [[short(share), short(x), short(y)] for share, x, y in rows[["share", "x", "y"]].itertuples(index=False)]


def _effects(subject: Subject, topics: int) -> list[dict[str, Any]] | None:
    """By theta and measure, [ratio, share of the effect, same-topic pairs] of every topic."""
    table = subject.optional("topic_effects")
    if table is None:
        return None
    found = []
    for theta in subject.thetas:
        mine = table[table["theta"] == theta]
        by_measure = {}
        for measure, rows in mine.groupby("measure", sort=False):
            of_topic: list[list[Any]] = [[None, None, 0] for _ in range(topics)]
            for row in rows[["topic", "ratio", "share", "same_pairs"]].itertuples(index=False):
                if int(row[0]) < topics:
                    of_topic[int(row[0])] = [short(row[1]), short(row[2]), int(row[3])]
            by_measure[str(measure)] = of_topic
        found.append(by_measure)
    return found


def _heads(subject: Subject) -> dict[str, Any]:
    """By kind of weights and theta, a list of numbers a column: head after head, layer after layer."""
    table = subject.rows("layers")
    table = table[table["assignment"] == "single"].sort_values(["layer", "head"])
    layers, heads = (int(table[name].max()) + 1 if len(table) else 0 for name in ("layer", "head"))
    weights = {}
    for kind in dict.fromkeys(table["weights"]):
        rows_of = [table[(table["weights"] == kind) & (table["theta"] == theta)] for theta in subject.thetas]
        weights[str(kind)] = [_columns(rows) for rows in rows_of]
    return {"layers": layers, "heads": heads, "weights": weights}


def _columns(rows: pd.DataFrame) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {
        name: [short(value) for value in rows[column]]
        for column, name in _OF_HEADS.items()
        if column in rows and rows[column].notna().any()
    }
    if "role" in rows and rows["role"].notna().any():
        found["role"] = [str(role) if isinstance(role, str) else "" for role in rows["role"]]
    return found


def short(value: Any) -> float | int | None:
    """A number with four significant digits; None where there is none."""
    value = float(value)
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded.is_integer() else rounded
