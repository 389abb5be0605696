"""What was asked, and the answer in two sentences made from the numbers, with what speaks against them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from probe.show.report.explain import Control, controls
from probe.show.report.ratios import RatioTable
from probe.show.report.subjects import Subject
from probe.show.views import digits_of, with_interval

# An interval that misses 1 by less than this is what a draw of random weights does (see docs/measures.md).
_BASELINE = 0.01
_SMALL = 0.05
_WITH = {
    "frequency_matched": "pairs matched on frequency",
    "distance_matched": "pairs matched on distance in the passage",
    "cooccurrence_matched": "pairs matched on co-occurrence",
    "popularity_adjusted": "the attention taken out that a word gets anyway",
    "all": "all controls together",
}


@dataclass(frozen=True)
class Answer:
    """The answer for one model.

    Attributes:
        subject: the model.
        sentences: two.
        caveats: what the controls raise; empty where they raise nothing.
    """

    subject: Subject
    sentences: tuple[str, str]
    caveats: list[str]


def question(subjects: Sequence[Subject]) -> str:
    """What was asked."""
    models = list(dict.fromkeys(subject.label for subject in subjects))
    corpora = list(dict.fromkeys(str(subject.corpus.get("name", "a corpus")) for subject in subjects))
    does = "Does" if len(models) == 1 else "Do"
    return (
        f"{does} {_listed(models)} encode the topics of {_listed(corpora)}: are words of one topic more alike, and do "
        "they attend more to each other, than words of different topics?"
    )


def answer(subject: Subject) -> Answer:
    """The answer for one model, at its middle theta, one topic a word."""
    theta = subject.theta
    cosine, attention = (_row(subject, measure) for measure in ("cosine", "attention"))
    found = {measure: _by_control(controls(subject, theta, measure)) for measure in ("cosine", "attention")}
    first = (
        f"At theta {theta:g}, words of one topic are {_said(cosine)} as similar (cosine) as words of different topics, "
        f"and get {_said(attention)} the attention."
    )
    return Answer(subject, (first, _remains(found)), [*_caveats(subject, cosine, attention, found)])


def _row(subject: Subject, measure: str) -> Any:
    site = "attention" if measure == "attention" else "word"
    return subject.measure(measure, subject.theta, site=site)


def _said(row: Any) -> str:
    """`5.0 (4.5 to 5.5) times`."""
    if row is None or not math.isfinite(row["ratio"]):
        return "an undetermined number of times"
    return f"{_number(row['ratio'], row['low'], row['high'])} times"


def _number(value: float, low: float, high: float) -> str:
    digits = digits_of([low], [high])
    return with_interval(value, low, high, digits).replace(", ", " to ")


def _by_control(found: Sequence[Control]) -> dict[str, Control]:
    return {one.name: one for one in found if math.isfinite(one.ratio)}


def _remains(found: dict[str, dict[str, Control]]) -> str:
    """What is left when something else is held fixed."""
    parts = []
    for measure, names in (
        ("cosine", ("all", "cooccurrence_matched", "frequency_matched")),
        ("attention", ("all", "distance_matched", "cooccurrence_matched")),
    ):
        best = next((found[measure][name] for name in names if name in found[measure]), None)
        if best is not None:
            what = "the similarity" if measure == "cosine" else "the attention"
            number = _number(best.ratio, best.low, best.high)
            parts.append(f"{number} of {what} with {_WITH[best.name]}")
    if not parts:
        return "The run has no matched control, so how much of this is something else is not known."
    return f"There remain {' and '.join(parts)}."


def _caveats(subject: Subject, cosine: Any, attention: Any, found: dict[str, dict[str, Control]]) -> list[str]:
    said = []
    for name, row in (("similarity", cosine), ("attention", attention)):
        if row is None:
            continue
        if not math.isfinite(row["ratio"]):
            said.append(f"The ratio of {name} is withheld: {row['note'] or 'no reason is recorded'}.")
            continue
        if row["low"] <= 1 <= row["high"]:
            said.append(f"The interval of {name} holds 1, no effect.")
        if row["p_value"] > _SMALL:
            said.append(f"Topics permuted among the words give as much {name} often (p = {row['p_value']:.2g}).")
        elif row.get("frequency_p_value", 0) > _SMALL:
            said.append(
                f"Topics permuted among words of like frequency give as much {name} often "
                f"(p = {row['frequency_p_value']:.2g})."
            )
    for measure, name in (("cosine", "similarity"), ("attention", "attention")):
        held = [
            _WITH[one.name]
            for one in found[measure].values()
            if one.name in _WITH and one.low <= 1 and (raw := found[measure].get("raw")) and raw.low > 1
        ]
        if held:
            said.append(f"The effect on {name} is not clear of 1 with {_listed(held)}.")
    said += _baseline(subject)
    run = subject.run.info.get("arguments", {})
    if run.get("lda_seeds", 1) == 1:
        said.append("One topic model was fitted: how much the ratios move with another is not in the intervals.")
    return said


def _baseline(subject: Subject) -> list[str]:
    said = []
    for measure, site, name in (("cosine", "layer", "similarity"), ("attention", "attention", "attention")):
        row = subject.measure(measure, subject.theta, "random", site)
        if row is not None and math.isfinite(row["ratio"]) and abs(row["ratio"] - 1) > _BASELINE:
            said.append(
                f"Random weights give {_number(row['ratio'], row['low'], row['high'])} for {name}, not 1: so much "
                "comes from the words and the measure, not from training."
            )
    return said


def reading(table: RatioTable) -> str:
    """How Table 1 is read: what is drawn in it."""
    parts = ["blue circles are trained weights with 95 % intervals", "bands are permuted topics"]
    parts += ["grey squares are random weights"] if table.random else []
    parts += ["vermilion strokes are printed in the paper"] if table.printed else []
    return f"1 is no effect (the line). On one logarithmic axis, {'; '.join(parts)}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
