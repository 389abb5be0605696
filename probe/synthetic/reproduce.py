"""The paper's synthetic tables and figures, each a CSV (printed values beside ours) and, where it is one, a figure.

All runs use section 6.1's data (T = v = 10, Dirichlet 0.1, lengths 100 to 150) and masking (0.15, 0.1, 0.1), 10,000
training documents, attention read on 1,000 others, and batches of 40. Whether a run failed, and whether its W^V
is of blocks or a diagonal, is decided by `failed` and `DIAGONAL` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from probe.errors import ProbeError
from probe.experiment.progress import Progress
from probe.storage.files import write_csv
from probe.synthetic import figures, theory, verification
from probe.synthetic.measures import CLASSES, attention_by_class, value_scores
from probe.synthetic.published import TABLE_3, TABLE_4, Row
from probe.synthetic.topic_model import Documents, MaskedDocuments, Masking, TopicModel, mask_documents
from probe.synthetic.training import Loss, OptimizerName, Result, Training, train
from probe.synthetic.transformer import Architecture, Initialization

Numbers = NDArray[np.float64]
Cells = dict[str, object]

DIAGONAL = 0.5
"""Diagonal score from which W^V counts as a diagonal; below it counts as blocks (Tables 3 and 4)."""

FAILED = 0.5
"""Nats above the lowest development loss of its table from which a run counts as failed."""

NEAR_ZERO = Initialization(scale=0.001)
ONE_HOT = Architecture()
UNIFORM = Architecture(attention="uniform", biases=False)
ATTENTION_WITHOUT_BIASES = Architecture(biases=False)
SMALL = TopicModel(topics=4, words_per_topic=4)


@dataclass(frozen=True)
class Setting:
    """What every target shares.

    Attributes:
        out: Folder of the files.
        progress: Is told what is under way.
        share: Share of each target's steps and documents that is taken; 1 is what is reported.
    """

    out: Path
    progress: Progress
    share: float = 1.0

    model = TopicModel()
    masking = Masking()

    def documents(self, model: TopicModel) -> Documents:
        """Training documents."""
        return model.sample(max(100, round(10_000 * self.share)), random_state=0)

    def development(self, model: TopicModel) -> Documents:
        """Documents of the development loss."""
        return model.sample(400, random_state=1)

    @cached_property
    def read(self) -> MaskedDocuments:
        """Masked documents on which attention is read."""
        return mask_documents(self.model.sample(1000, random_state=2), self.masking, 2)

    def train(
        self,
        name: str,
        architecture: Architecture,
        training: Training,
        start: Initialization,
        model: TopicModel | None = None,
    ) -> Result:
        """Train runs under a line of progress."""
        steps = max(2, round(training.steps * self.share))
        training = replace(training, steps=steps, evaluate_every=max(1, steps // 5), stage_steps=max(1, steps // 2))
        with self.progress.stage(f"{name}: {len(training.runs)} runs", steps) as stage:
            model = model or self.model
            return train(
                model,
                self.masking,
                architecture,
                training,
                self.documents(model),
                self.development(model),
                start,
                progress=stage.at,
            )

    def attention(self, result: Result, labels: NDArray[np.int64] | None = None) -> Numbers:
        """Means by class of pair, [runs, 3]."""
        labels = self.model.topic_of_token if labels is None else labels
        return attention_by_class(result.architecture, result.parameters, self.read, labels).means

    @property
    def labels_by_token_id(self) -> NDArray[np.int64]:
        """Topics as the paper's released code looks them up: by token id, where word w has id w + 3 and [MASK] 1."""
        size = self.model.vocabulary
        ids = np.concatenate([[1], np.arange(1, size) + 3])
        return np.where(ids < size - 1, ids // self.model.words_per_topic, -1)


def failed(losses: Sequence[float] | Numbers) -> NDArray[np.bool_]:
    """Which runs failed: development loss `FAILED` nats or more above the lowest of the table, or infinite."""
    losses = np.asarray(losses, dtype=float)
    return ~(losses < losses.min() + FAILED)


def _four_panels(
    setting: Setting,
    name: str,
    architecture: Architecture,
    l2: float,
    steps: int,
    rates: Mapping[tuple[str, str], tuple[float, ...]],
    start: Initialization,
) -> list[tuple[Loss, OptimizerName, float, Result, int]]:
    """Cross-entropy and squared loss by SGD and Adam, in the paper's order; each rate is a panel."""
    panels: list[tuple[Loss, OptimizerName, float, Result, int]] = []
    losses: tuple[Loss, ...] = ("cross-entropy", "squared")
    optimizers: tuple[OptimizerName, ...] = ("sgd", "adam")
    for loss, optimizer in product(losses, optimizers):
        training = Training(
            loss=loss, optimizer=optimizer, learning_rates=rates[loss, optimizer], l2=l2, steps=steps, log_every=steps
        )
        result = setting.train(f"{name}, {loss}, {optimizer}", architecture, training, start)
        panels += [(loss, optimizer, rate, result, run) for run, (_, rate) in enumerate(result.runs)]
    return panels


def _value_rows(
    setting: Setting, panels: list[tuple[Loss, OptimizerName, float, Result, int]], l2: float, embedding: bool = False
) -> tuple[list[Cells], list[tuple[str, Numbers]]]:
    """A row of block means and scores, and a matrix, for each panel."""
    rows, shown = [], []
    expected = theory.theorem2(setting.model, setting.masking)
    gap = theory.embedding_gap(setting.model, setting.masking)
    optimum = verification.finite_length_value(setting.model, setting.masking, max(l2, 1e-9))
    finite = value_scores(optimum[None], setting.model.topic_of_token)
    for loss, optimizer, rate, result, run in panels:
        matrix = result.embedding_products()[run] if embedding else result.value()[run]
        scores = value_scores(matrix[None], setting.model.topic_of_token)
        own = loss == "squared" and not embedding
        rows.append(
            {
                "loss": loss,
                "optimizer": optimizer,
                "learning_rate": rate,
                "l2": l2,
                "development_loss": result.development_loss[run],
                "mask_column": scores.mask_column[0],
                "diagonal": scores.diagonal[0],
                "same_topic_different_word": scores.same_topic[0],
                "same_topic": scores.block_mean[0],
                "different_topic": scores.different_topic[0],
                "gap": scores.block_mean[0] - scores.different_topic[0],
                "block_score": scores.block_score[0],
                "diagonal_score": scores.diagonal_score[0],
                "theorem_gap": gap if loss == "squared" else None,
                "theorem2_mask_column": expected.mask_column if own else None,
                "theorem2_same_topic": expected.same_topic if own else None,
                "theorem2_different_topic": expected.different_topic if own else None,
                "finite_length_mask_column": finite.mask_column[0] if own else None,
                "finite_length_same_topic": finite.block_mean[0] if own else None,
                "finite_length_different_topic": finite.different_topic[0] if own else None,
            }
        )
        shown.append((f"{loss}, {optimizer.upper() if optimizer == 'sgd' else 'Adam'} {rate:g}", matrix))
    return rows, shown


RATES: dict[tuple[str, str], tuple[float, ...]] = dict.fromkeys(
    product(("cross-entropy", "squared"), ("sgd", "adam")), (0.01,)
)
"""The paper's rate in all four panels."""
VALUE_RATES: Mapping[tuple[str, str], tuple[float, ...]] = RATES | {
    ("cross-entropy", "sgd"): (0.01, 10.0),
    ("squared", "sgd"): (0.01, 10.0),
}
"""The same, and a rate at which SGD reaches the optimum within the steps taken."""


def figure1(setting: Setting) -> None:
    """E = W^E'W^E with every part trained."""
    architecture = Architecture(embedding="trained", head="tied")
    rates: Mapping[tuple[str, str], tuple[float, ...]] = RATES | {
        ("cross-entropy", "sgd"): (0.01, 0.3),
        ("squared", "sgd"): (0.01, 0.3),
    }
    panels = _four_panels(setting, "Figure 1", architecture, 0.0, 1000, rates, Initialization(embedding_scale=0.1))
    rows, shown = _value_rows(setting, panels, 0.0, embedding=True)
    write_csv(setting.out / "figure1.csv", rows)
    figures.matrices(setting.out / "figure1", shown, "E")


def figure2(setting: Setting) -> None:
    """W^V under uniform attention, with mild regularization."""
    panels = _four_panels(setting, "Figure 2", UNIFORM, 1e-5, 3000, VALUE_RATES, NEAR_ZERO)
    rows, shown = _value_rows(setting, panels, 1e-5)
    write_csv(setting.out / "figure2.csv", rows)
    figures.matrices(setting.out / "figure2", shown, "W^V")


def figure9(setting: Setting) -> None:
    """W^V under uniform attention, without regularization, from torch's default initialization."""
    panels = _four_panels(setting, "Figure 9", UNIFORM, 0.0, 3000, VALUE_RATES, Initialization())
    rows, shown = _value_rows(setting, panels, 0.0)
    write_csv(setting.out / "figure9.csv", rows)
    figures.matrices(setting.out / "figure9", shown, "W^V")


def figure10(setting: Setting) -> None:
    """W^V trained together with W^K and W^Q, with mild regularization.

    Without b^V, under which SGD diverges on the squared loss at any rate that reaches the optimum in these steps.
    """
    panels = _four_panels(setting, "Figure 10", ATTENTION_WITHOUT_BIASES, 1e-5, 1500, VALUE_RATES, NEAR_ZERO)
    rows, shown = _value_rows(setting, panels, 1e-5)
    write_csv(setting.out / "figure10.csv", rows)
    figures.matrices(setting.out / "figure10", shown, "W^V")


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


_NORMS = (("‖W^K‖", "key"), ("‖W^Q‖", "query"), ("‖W^V‖", "value"))
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


TARGETS: dict[str, Callable[[Setting], None]] = {
    target.__name__: target
    for target in (
        table3,
        table4,
        figure1,
        figure2,
        figure4,
        figure7,
        figure8,
        figure9,
        figure10,
        phases,
        stages,
    )
}
"""What can be reproduced, by name."""


def reproduce(target: str, out: Path, progress: Progress, share: float = 1.0) -> None:
    """Make one target's files, or all.

    Args:
        target: A name in `TARGETS`, or "all".
        out: Folder of the files; made if need be.
        progress: Is told what is under way.
        share: Share of each target's training steps and documents that is taken.

    Raises:
        ProbeError: No such target, or a place that cannot be written to.
    """
    if target not in (*TARGETS, "all"):
        raise ProbeError(f"There is no target {target}: give one of {', '.join(TARGETS)} or all.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProbeError(f"Cannot make the folder {out} ({error.strerror}): give another with --out.") from None
    setting = Setting(out, progress, share)
    chosen = list(TARGETS) if target == "all" else [target]
    for done, name in enumerate(chosen, start=1):
        progress.note(f"{name} ({done} of {len(chosen)})")
        TARGETS[name](setting)
