"""Attention by class of pair: Tables 3 and 4, and where W^V becomes blocks or a diagonal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from probe.storage.files import write_csv
from probe.synthetic import figures
from probe.synthetic.measures import CLASSES, value_scores
from probe.synthetic.published import TABLE_3, TABLE_4, Row
from probe.synthetic.reproduction.setting import DIAGONAL, NEAR_ZERO, ONE_HOT, Cells, Numbers, Setting, failed
from probe.synthetic.runs import Loss, OptimizerName, Result, Training
from probe.synthetic.transformer import Initialization


@dataclass(frozen=True)
class _Run:
    optimizer: str
    rate: float
    seed: int
    loss: float
    block_score: float
    diagonal_score: float
    means: Numbers
    by_token_id: Numbers


def _runs(setting: Setting, result: Result, optimizer: str) -> list[_Run]:
    scores = value_scores(result.value(), setting.model.topic_of_token)
    means = setting.attention(result)
    # As the released code counts, and without the factor L/100, which the printed tables do not seem to have.
    length = float(setting.read.original.lengths.mean())
    by_token_id = setting.attention(result, setting.labels_by_token_id) * 100 / length
    return [
        _Run(
            optimizer,
            rate,
            seed,
            float(result.development_loss[run]),
            float(scores.block_score[run]),
            float(scores.diagonal_score[run]),
            means[run],
            by_token_id[run],
        )
        for run, (seed, rate) in enumerate(result.runs)
    ]


def _table(
    setting: Setting, name: str, runs: list[_Run], printed: dict[tuple[str, float], Row], diagonal: bool
) -> None:
    """Write the table (one row an optimizer and rate) and its runs (one row each)."""
    failures = failed([run.loss for run in runs])
    states = [
        "failed" if bad else "diagonal" if run.diagonal_score >= DIAGONAL else "block"
        for run, bad in zip(runs, failures, strict=True)
    ]
    wanted = "diagonal" if diagonal else "block"
    rows: list[Cells] = []
    for optimizer, rate in dict.fromkeys((run.optimizer, run.rate) for run in runs):
        mine = [index for index, run in enumerate(runs) if (run.optimizer, run.rate) == (optimizer, rate)]
        kept = [runs[index] for index in mine if states[index] == wanted]
        row: Cells = {
            "optimizer": optimizer,
            "learning_rate": rate,
            "runs": len(kept),
            "failed_runs": sum(states[index] == "failed" for index in mine),
            "other_pattern_runs": sum(states[index] not in ("failed", wanted) for index in mine),
        }
        paper = printed.get((optimizer, rate))
        row["paper_runs"] = paper.runs if paper else None
        for prefix in ("", "unscaled_by_token_id_"):
            for index, kind in enumerate(CLASSES):
                values = [(run.by_token_id if prefix else run.means)[index] for run in kept]
                row[f"{prefix}{kind}"] = float(np.mean(values)) if values else None
                row[f"{prefix}{kind}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
        for kind in CLASSES:
            cell = getattr(paper, kind) if paper else None
            row[f"paper_{kind}"] = cell.mean if cell else None
            row[f"paper_{kind}_std"] = cell.std if cell else None
        rows.append(row)
    write_csv(setting.out / f"{name}.csv", rows)
    write_csv(
        setting.out / f"{name}-runs.csv",
        [
            {
                "optimizer": run.optimizer,
                "learning_rate": run.rate,
                "seed": run.seed,
                "development_loss": run.loss,
                "block_score": run.block_score,
                "diagonal_score": run.diagonal_score,
                "pattern": state,
            }
            | dict(zip(CLASSES, run.means.tolist(), strict=True))
            for run, state in zip(runs, states, strict=True)
        ],
    )


def table3(setting: Setting) -> None:
    """Attention by class where W^V is of blocks: torch's default initialization, joint training."""
    seeds = (0, 1, 2)
    runs: list[_Run] = []
    rates: dict[OptimizerName, tuple[float, ...]] = {
        "adam": (0.003, 0.01, 0.03),
        # The printed rates, and two at which SGD learns within the steps taken.
        "sgd": (0.003, 0.01, 0.03, 3.0, 10.0),
    }
    for optimizer, chosen in rates.items():
        training = Training(optimizer=optimizer, learning_rates=chosen, seeds=seeds, steps=2500, log_every=2500)
        result = setting.train(f"Table 3, {optimizer}", ONE_HOT, training, Initialization())
        runs += _runs(setting, result, optimizer)
    _table(setting, "table3", runs, TABLE_3, diagonal=False)


def table4(setting: Setting) -> None:
    """Attention by class where W^V is a diagonal: W^V starts at 8 times the identity, the rest near zero."""
    training = Training(learning_rates=(0.003, 0.01), seeds=tuple(range(10)), steps=1500, log_every=1500)
    start = replace(NEAR_ZERO, value_diagonal=8.0)
    result = setting.train("Table 4, adam", ONE_HOT, training, start)
    _table(setting, "table4", _runs(setting, result, "adam"), TABLE_4, diagonal=True)


def phases(setting: Setting) -> None:
    """Where W^V becomes blocks and where a diagonal: loss, initialization, λ and rate under Adam."""
    rates, l2s = (0.003, 0.01, 0.03), (0.0, 1e-6, 1e-5)
    starts = [("default", Initialization())]
    starts += [("near zero", NEAR_ZERO)]
    starts += [(f"near zero + {c:g}·I", replace(NEAR_ZERO, value_diagonal=c)) for c in (1.0, 8.0)]
    losses: tuple[Loss, ...] = ("cross-entropy", "squared")
    rows: list[Cells] = []
    panels = []
    for loss in losses:
        cells = np.full((2, len(starts) * len(l2s), len(rates)), np.nan)
        reached = []
        for row, ((label, start), l2) in enumerate(product(starts, l2s)):
            training = Training(loss=loss, learning_rates=rates, l2=l2, steps=800, log_every=800)
            result = setting.train(f"Phases, {loss}, {label}, λ {l2:g}", ONE_HOT, training, start)
            scores = value_scores(result.value(), setting.model.topic_of_token)
            cells[:, row] = scores.block_score, scores.diagonal_score
            reached.append(result.development_loss)
            means = setting.attention(result)
            for run, (_, rate) in enumerate(result.runs):
                rows.append(
                    {
                        "loss": loss,
                        "start": label,
                        "l2": l2,
                        "learning_rate": rate,
                        "development_loss": result.development_loss[run],
                        "block_score": scores.block_score[run],
                        "diagonal_score": scores.diagonal_score[run],
                        "pattern": "diagonal" if scores.diagonal_score[run] >= DIAGONAL else "block",
                    }
                    | dict(zip(CLASSES, means[run].tolist(), strict=True))
                )
        panels += [(f"{loss}: block score", cells[0]), (f"{loss}: diagonal score", cells[1])]
    write_csv(setting.out / "phases.csv", rows)
    figures.grid(
        setting.out / "phases",
        panels,
        [f"{label}, λ = {l2:g}" for (label, _), l2 in product(starts, l2s)],
        [f"{rate:g}" for rate in rates],
        ("", "learning rate (Adam)", "score"),
    )
