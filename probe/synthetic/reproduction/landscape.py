"""The loss over (α, β), the attention to one's own topic and word: Figures 7 and 8 (D.5)."""

from __future__ import annotations

import numpy as np

from probe.storage.files import write_csv
from probe.synthetic import figures, theory, verification
from probe.synthetic.reproduction.setting import Cells, Setting
from probe.synthetic.topic_model import TopicModel

TAUS = (20, 40, 60, 80)


def _landscape(setting: Setting, number: int, value: theory.ValueKind) -> None:
    alphas, betas = np.geomspace(1e-2, 1e6, 161), np.geomspace(1e-2, 1e6, 161)
    rows: list[Cells] = []
    panels, minima, bands = [], [], []
    for tau in TAUS:
        model = TopicModel(topics=100, words_per_topic=300, topics_per_document=tau)
        v = model.words_per_topic
        loss = theory.attention_loss(alphas[:, None], betas[None, :], model, setting.masking, value)
        found = verification.best_attention(model, setting.masking, value)
        row, column = np.unravel_index(int(np.argmin(loss)), loss.shape)
        lowest = (found.alpha, found.beta) if value == "block" else (float(alphas[row]), float(betas[column]))
        entry: Cells = {
            "tau": tau,
            "alpha": found.alpha,
            "beta": found.beta,
            "gamma": found.gamma,
            "lowest_loss": found.loss,
            "loss_at_uniform_attention": float(theory.attention_loss(1.0, 1.0, model, setting.masking, value)),
        }
        if value == "block":
            bounds = theory.theorem3(model, setting.masking)
            proof = theory.theorem3(model, setting.masking, from_proof=True)
            entry |= {
                "theorem3_low": bounds.low,
                "theorem3_low_from_proof": proof.low,
                "theorem3_high": bounds.high,
                "within": found.gamma in bounds,
            }
            curves = []
            for gamma in (bounds.low, bounds.high):
                alpha = (gamma - betas / v) * v / (v - 1)
                curves.append((betas, np.where(alpha > 0, alpha, np.nan)))
        else:
            fifth = theory.theorem5(model, setting.masking)
            entry |= {
                "theorem5_beta_low": fifth.beta.low,
                "theorem5_beta_high": fifth.beta.high,
                "theorem5_alpha_over_beta": fifth.alpha_over_beta,
                "within": found.beta in fifth.beta and found.alpha < fifth.alpha_over_beta * found.beta,
            }
            curves = [
                (np.full_like(alphas, fifth.beta.low), alphas),
                (np.full_like(alphas, fifth.beta.high), alphas),
                (betas, fifth.alpha_over_beta * betas),
            ]
        rows.append(entry)
        panels.append((f"τ = {tau}", loss))
        minima.append(lowest)
        bands.append(curves)
    name = f"figure{number}"
    with setting.progress.stage(f"Figure {number}"):
        write_csv(setting.out / f"{name}.csv", rows)
        figures.landscapes(setting.out / name, panels, alphas, betas, minima, bands)


def figure7(setting: Setting) -> None:
    """Loss over (α, β) with diagonal W^V, T = 100 and v = 300 (D.5)."""
    _landscape(setting, 7, "diagonal")


def figure8(setting: Setting) -> None:
    """Loss over (α, β) with block W^V, T = 100 and v = 300 (D.5)."""
    _landscape(setting, 8, "block")
