"""The closed forms beside the optima found without them, as one flat table."""

from __future__ import annotations

import numpy as np

from probe.errors import ProbeError
from probe.synthetic import theory, verification
from probe.synthetic.topic_model import Masking, TopicModel

Entry = float | bool | str | None


def compare(model: TopicModel, masking: Masking) -> dict[str, Entry]:
    """Every theorem's numbers at one setting, and the independent optimum of each.

    `value_*` are Theorem 2's and `numeric_value_*` those of minimum-norm least squares over exact documents;
    `optimality_violation` is how far that solution is from Lemma 1's (Theorem 4's) equations. `theorem3_gamma` and
    `theorem5_*` without bounds in their name are minimizers of the exact finite-T loss. A number that does not
    exist at this setting is None, and `notes` says why.

    Args:
        model: The topic model, with τ.
        masking: p_m, p_c, p_r.
    """
    notes: list[str] = []
    optimum = theory.theorem2(model, masking)
    report: dict[str, Entry] = {
        "topics": float(model.topics),
        "words_per_topic": float(model.words_per_topic),
        "topics_per_document": float(model.topics_per_document or 0),
        "p_mask": masking.p_mask,
        "p_correct": masking.p_correct,
        "p_random": masking.p_random,
        "value_mask_column": optimum.mask_column,
        "value_same_topic": optimum.same_topic,
        "value_different_topic": optimum.different_topic,
        "embedding_gap": theory.embedding_gap(model, masking),
    }
    report |= _numeric_value(model, masking, optimum, notes)
    report |= _attention(model, masking, notes)
    if not (masking.p_mask < 0.5 and masking.p_correct == masking.p_random < 0.5):
        notes.append("Assumption 4 of Theorems 3 and 5 (p_m < 1/2, p_c = p_r < 1/2) does not hold here.")
    report["notes"] = " ".join(notes)
    # JSON has no infinity, which λ_2 and λ_4 are without random words.
    return {
        name: None if isinstance(entry, float) and not np.isfinite(entry) else entry for name, entry in report.items()
    }


def _numeric_value(
    model: TopicModel, masking: Masking, optimum: theory.ValueOptimum, notes: list[str]
) -> dict[str, Entry]:
    """W^V of least squares beside Theorem 2's; a missing number is None, and `notes` says why."""
    v = model.words_per_topic
    # The rows of [MASK], the first word and the last: by symmetry every row is one of these.
    rows = [0, 1, model.vocabulary - 1]
    names = [f"numeric_value_{name}" for name in ("mask_column", "same_topic", "different_topic")]
    names += ["numeric_embedding_gap", "value_largest_difference"]
    try:
        found = verification.least_squares_value(model, masking, rows)
    except ProbeError as refusal:
        notes.append(str(refusal))
        return dict.fromkeys(names)
    same, different = float(found[1, 1 : v + 1].mean()), float(found[1, v + 1 :].mean())
    largest = float(np.abs(found - optimum.matrix(model, rows)).max())
    return dict(zip(names, (float(found[1, 0]), same, different, same - different, largest), strict=True))


def _attention(model: TopicModel, masking: Masking, notes: list[str]) -> dict[str, Entry]:
    """Theorems 3 and 5 beside the minimizers of the exact loss; a missing number is None, and `notes` says why."""
    third = theory.theorem3(model, masking)
    block = verification.best_attention(model, masking, "block")
    diagonal = verification.best_attention(model, masking, "diagonal")
    report: dict[str, Entry] = {
        "theorem3_low": third.low,
        "theorem3_high": third.high,
        "theorem3_low_from_proof": theory.theorem3(model, masking, from_proof=True).low,
        "theorem3_gamma": block.gamma,
        "theorem3_holds": block.gamma in third,
        "theorem5_beta": diagonal.beta,
        "theorem5_alpha": diagonal.alpha,
    }
    names = ("theorem5_beta_low", "theorem5_beta_high", "theorem5_alpha_over_beta", "theorem5_holds")
    try:
        fifth = theory.theorem5(model, masking)
    except ProbeError as refusal:
        notes.append(str(refusal))
        return report | dict.fromkeys(names)
    holds = diagonal.beta in fifth.beta and diagonal.alpha < fifth.alpha_over_beta * diagonal.beta
    return report | dict(zip(names, (fifth.beta.low, fifth.beta.high, fifth.alpha_over_beta, holds), strict=True))
