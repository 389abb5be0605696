"""The two stages of training (section 5.1): Figure 4, and when they are visible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe.storage.files import write_csv
from probe.synthetic import figures
from probe.synthetic.reproduction.setting import ATTENTION_WITHOUT_BIASES, SMALL, Cells, Numbers, Setting
from probe.synthetic.runs import OptimizerName, Result, Training
from probe.synthetic.transformer import Initialization

_NORMS = (("‖W^K‖", "key"), ("‖W^Q‖", "query"), ("‖W^V‖", "value"))


@dataclass(frozen=True)
class Stages:
    """When W^V settles and when W^K, W^Q leave, of one run.

    Attributes:
        settled: First step at which ‖W^V‖ has come 80 % of the way from its start to its plateau (its median over
            the last tenth of training).
        left: First step at which ‖W^K‖ or ‖W^Q‖ is twice its start, None if never.
        score: Share of W^V's way to the plateau that is behind it at `left` (1 where they never leave), clipped to
            [0, 1]; above 0.8 the two stages are visible.
    """

    settled: int
    left: int | None
    score: float


def two_stage_score(steps: Numbers, value: Numbers, key: Numbers, query: Numbers) -> Stages:
    """Read the two stages of section 5.1 off the norms of one run, [entries] each."""
    plateau = float(np.median(value[-max(1, len(value) // 10) :]))
    way = plateau - value[0]
    done = (value - value[0]) / (way if way else 1.0)
    settled = int(steps[int(np.argmax(done >= 0.8))])
    moved = np.flatnonzero(np.maximum(key / key[0], query / query[0]) > 2)
    if not len(moved):
        return Stages(settled, None, 1.0)
    return Stages(settled, int(steps[moved[0]]), float(np.clip(done[moved[0]], 0, 1)))


def _stage_rows(result: Result, optimizer: str, scale: float | None) -> list[Cells]:
    rows: list[Cells] = []
    history = result.history
    for run, (seed, rate) in enumerate(result.runs):
        norms = [history[f"norm_{name}"][:, run] for name in ("value", "key", "query")]
        stages = two_stage_score(history["step"], *norms)
        rows.append(
            {
                "optimizer": optimizer,
                "learning_rate": rate,
                "init_scale": scale,
                "seed": seed,
                "development_loss": result.development_loss[run],
                "value_at_80_percent": stages.settled,
                "attention_leaves_at": stages.left,
                "two_stage_score": stages.score,
                "two_stages": bool(stages.score >= 0.8),
            }
        )
    return rows


def figure4(setting: Setting) -> None:
    """Norms of W^K, W^Q and W^V over training by SGD on the squared loss.

    T = v = 4 from ±0.01 shows both stages; T = v = 10 shows the first and ends before the second, which is slower
    there; torch's default initialization shows none.
    """
    cases = (
        ("T = v = 4, from ±0.01", SMALL, Initialization(scale=0.01)),
        ("T = v = 10, from ±0.01", setting.model, Initialization(scale=0.01)),
        ("T = v = 4, torch's default", SMALL, Initialization()),
    )
    training = Training(
        loss="squared", optimizer="sgd", learning_rates=(10.0,), seeds=(0, 1, 2), steps=2500, log_every=25
    )
    rows, panels = [], []
    for title, model, start in cases:
        result = setting.train(f"Figure 4, {title}", ATTENTION_WITHOUT_BIASES, training, start, model)
        rows += [{"case": title} | row for row in _stage_rows(result, "sgd", start.scale)]
        lines = {label: result.history[f"norm_{name}"] for label, name in _NORMS}
        panels.append((title, result.history["step"], lines))
    write_csv(setting.out / "figure4.csv", rows)
    figures.norms(setting.out / "figure4", panels)


def stages(setting: Setting) -> None:
    """When two stages are visible: optimizer, initialization scale and learning rate; T = v = 4, squared loss."""
    scales = (0.001, 0.01, 0.1, 0.5)
    sweeps: dict[OptimizerName, tuple[float, ...]] = {"sgd": (1.0, 3.0, 10.0), "adam": (0.0003, 0.003, 0.03)}
    rows: list[Cells] = []
    panels = []
    for optimizer, rates in sweeps.items():
        cells = np.zeros((len(scales), len(rates)))
        for row, scale in enumerate(scales):
            training = Training(loss="squared", optimizer=optimizer, learning_rates=rates, steps=2000, log_every=20)
            name, start = f"Stages, {optimizer}, ±{scale:g}", Initialization(scale=scale)
            result = setting.train(name, ATTENTION_WITHOUT_BIASES, training, start, SMALL)
            found = _stage_rows(result, optimizer, scale)
            rows += found
            cells[row] = [float(str(entry["two_stage_score"])) for entry in found]
        panels.append(
            (f"{optimizer.upper() if optimizer == 'sgd' else 'Adam'}, rates {rates[0]:g} to {rates[-1]:g}", cells)
        )
    write_csv(setting.out / "stages.csv", rows)
    figures.grid(
        setting.out / "stages",
        panels,
        [f"±{scale:g}" for scale in scales],
        ["low", "middle", "high"],
        ("initialization", "learning rate", "two-stage score"),
    )
