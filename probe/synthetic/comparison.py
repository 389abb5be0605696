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
    notes = []
    optimum = theory.theorem2(model, masking)
    v = model.words_per_topic
    report: dict[str, Entry] = {
        "topics": float(model.topics),
        "words_per_topic": float(v),
        "topics_per_document": float(model.topics_per_document or 0),
        "p_mask": masking.p_mask,
        "p_correct": masking.p_correct,
        "p_random": masking.p_random,
        "value_mask_column": optimum.mask_column,
        "value_same_topic": optimum.same_topic,
        "value_different_topic": optimum.different_topic,
        "embedding_gap": theory.embedding_gap(model, masking),
    }
    # The rows of [MASK], the first word and the last: by symmetry every row is one of these.
    rows = [0, 1, model.vocabulary - 1]
    try:
        found = verification.least_squares_value(model, masking, rows)
        expected = optimum.matrix(model, rows)
        report |= {
            "numeric_value_mask_column": float(found[1, 0]),
            "numeric_value_same_topic": float(found[1, 1 : v + 1].mean()),
            "numeric_value_different_topic": float(found[1, v + 1 :].mean()),
            "numeric_embedding_gap": float(found[1, 1 : v + 1].mean() - found[1, v + 1 :].mean()),
            "value_largest_difference": float(np.abs(found - expected).max()),
        }
    except ProbeError as refusal:
        notes.append(str(refusal))
        for name in ("mask_column", "same_topic", "different_topic"):
            report[f"numeric_value_{name}"] = None
        report |= {"numeric_embedding_gap": None, "value_largest_difference": None}
    third = theory.theorem3(model, masking)
    block = verification.best_attention(model, masking, "block")
    report |= {
        "theorem3_low": third.low,
        "theorem3_high": third.high,
        "theorem3_low_from_proof": theory.theorem3(model, masking, from_proof=True).low,
        "theorem3_gamma": block.gamma,
        "theorem3_holds": block.gamma in third,
    }
    diagonal = verification.best_attention(model, masking, "diagonal")
    report |= {"theorem5_beta": diagonal.beta, "theorem5_alpha": diagonal.alpha}
    try:
        fifth = theory.theorem5(model, masking)
        report |= {
            "theorem5_beta_low": fifth.beta.low,
            "theorem5_beta_high": fifth.beta.high,
            "theorem5_alpha_over_beta": fifth.alpha_over_beta,
            "theorem5_holds": diagonal.beta in fifth.beta and diagonal.alpha < fifth.alpha_over_beta * diagonal.beta,
        }
    except ProbeError as refusal:
        notes.append(str(refusal))
        report |= {
            "theorem5_beta_low": None,
            "theorem5_beta_high": None,
            "theorem5_alpha_over_beta": None,
            "theorem5_holds": None,
        }
    if not (masking.p_mask < 0.5 and masking.p_correct == masking.p_random < 0.5):
        notes.append("Assumption 4 of Theorems 3 and 5 (p_m < 1/2, p_c = p_r < 1/2) does not hold here.")
    report["notes"] = " ".join(notes)
    # JSON has no infinity, which λ_2 and λ_4 are without random words.
    return {
        name: None if isinstance(entry, float) and not np.isfinite(entry) else entry for name, entry in report.items()
    }
