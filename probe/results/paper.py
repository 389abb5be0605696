"""The numbers printed in the paper (Li, Li, Risteski, ICML 2023): Tables 1, 2 and 5."""

from __future__ import annotations

from typing import NamedTuple

from probe.models.sources import PAPER_MODELS
from probe.topics.theta import THETAS


class Ratios(NamedTuple):
    """Same-topic average over different-topic average."""

    cosine: float
    dot: float
    attention: float


class Cooccurrence(NamedTuple):
    """A row of Table 2."""

    attention_same_topic: float
    attention_top_cooccurring: float
    cosine_same_topic: float
    cosine_top_cooccurring: float


_TABLE_1 = {
    ("Bert", "pretrained"): [(1.21, 1.19, 1.32), (1.13, 1.15, 1.28), (1.11, 1.13, 1.22)],
    ("Albert", "pretrained"): [(5.64, 6.29, 1.33), (4.18, 3.74, 1.28), (3.24, 2.93, 1.22)],
    ("Bart", "pretrained"): [(2.80, 2.67, 1.35), (1.95, 1.92, 1.31), (1.63, 1.62, 1.23)],
    ("Electra", "pretrained"): [(5.98, 5.37, 2.14), (7.70, 7.35, 2.09), (7.46, 8.08, 1.95)],
    ("Roberta", "pretrained"): [(6.44, 6.81, 1.40), (5.73, 6.31, 1.31), (5.24, 5.30, 1.22)],
    ("Bert", "random"): [
        (1.00080, 1.00063, 0.99943),
        (0.99974, 1.00036, 0.99996),
        (1.00016, 1.00027, 1.00007),
    ],
}
_TABLE_5 = {
    ("Bert", "pretrained"): [(1.14, 1.04, 1.23), (0.97, 1.05, 1.17), (0.99, 0.93, 1.13)],
    ("Albert", "pretrained"): [(4.15, 3.06, 1.23), (3.09, 3.04, 1.17), (1.54, 1.44, 1.11)],
    ("Bart", "pretrained"): [(2.51, 1.76, 1.27), (1.63, 1.12, 1.20), (1.06, 0.85, 1.11)],
    ("Electra", "pretrained"): [(5.28, 3.99, 1.70), (5.56, 5.57, 1.58), (6.39, 5.61, 1.48)],
    ("Roberta", "pretrained"): [(4.39, 5.01, 1.19), (5.20, 4.25, 1.15), (4.71, 4.15, 1.12)],
    ("Bert", "random"): [
        (0.99814, 0.99957, 1.00009),
        (0.99820, 1.00167, 1.00013),
        (0.99964, 0.99928, 0.99978),
    ],
}
_TABLE_2 = {
    0.0005: Cooccurrence(0.00659, 0.00751, 0.468, 0.316),
    0.001: Cooccurrence(0.00621, 0.00695, 0.461, 0.311),
    0.002: Cooccurrence(0.00597, 0.00677, 0.425, 0.323),
}


def family_of(model: str) -> str | None:
    """The paper's name of a hub model ("google-bert/bert-base-uncased" is "Bert"), or None."""
    bare = model.rsplit("/", 1)[-1]
    return next((name for name, hub in PAPER_MODELS.items() if hub.rsplit("/", 1)[-1] == bare), None)


def printed_ratios(table: int, model: str, weights: str, theta: float) -> Ratios | None:
    """A row of Table 1 or 5, or None where the paper has none."""
    rows = {1: _TABLE_1, 5: _TABLE_5}[table].get((family_of(model) or "", weights))
    return Ratios(*rows[THETAS.index(theta)]) if rows and theta in THETAS else None


def printed_cooccurrence(model: str, theta: float) -> Cooccurrence | None:
    """A row of Table 2 (BERT), or None where the paper has none."""
    return _TABLE_2.get(theta) if family_of(model) == "Bert" else None
