"""How runs are trained, and what comes of it."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from probe.errors import ProbeError
from probe.synthetic.transformer import Architecture, Parameters

Loss = Literal["cross-entropy", "squared"]
OptimizerName = Literal["adam", "sgd"]
Schedule = Literal["joint", "two-stage", "alternating"]


@dataclass(frozen=True)
class Training:
    """How runs are trained; there is one run for every seed and learning rate.

    Attributes:
        loss: Cross-entropy (equation 4) or squared loss (equation 3), summed over the vocabulary.
        optimizer: SGD, or Adam with β = (0.9, 0.999).
        learning_rates: One or more.
        seeds: One or more; a seed decides a run's first weights, its order of documents and its masks.
        l2: λ of λ‖θ‖²_F, over all trained weights (equation 2).
        steps: Most steps of gradient descent.
        batch_size: Documents a step.
        schedule: W^V and W^K, W^Q jointly; W^V first and W^K, W^Q after `stage_steps` steps ("two-stage"); or
            by turns of `stage_steps` steps ("alternating"; section 8.1).
        stage_steps: Steps of a stage.
        static_masks: Keep the masks of the first epoch instead of drawing them anew each epoch.
        evaluate_every: Steps between measurements on the development documents.
        patience: Measurements without a better development loss before a run stops; None never stops.
        log_every: Steps between entries of the history.

    Raises:
        ProbeError: A number that trains nothing.
    """

    loss: Loss = "cross-entropy"
    optimizer: OptimizerName = "adam"
    learning_rates: tuple[float, ...] = (0.01,)
    seeds: tuple[int, ...] = (0,)
    l2: float = 0.0
    steps: int = 5000
    batch_size: int = 40
    schedule: Schedule = "joint"
    stage_steps: int = 1000
    static_masks: bool = False
    evaluate_every: int = 250
    patience: int | None = None
    log_every: int = 50

    def __post_init__(self) -> None:
        if not 0 <= self.l2 < float("inf"):
            raise ProbeError(f"λ {self.l2} rewards large weights: give 0 or more.")
        if not self.learning_rates or not all(0 < rate < float("inf") for rate in self.learning_rates):
            raise ProbeError("A learning rate that is not positive trains nothing: give rates above 0.")
        if not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise ProbeError("Seeds must be different whole numbers: give each once, 0 or more.")
        for name in ("steps", "batch_size", "stage_steps", "evaluate_every", "log_every"):
            if getattr(self, name) < 1:
                raise ProbeError(f"{name} {getattr(self, name)} trains nothing: give 1 or more.")
        if self.patience is not None and self.patience < 1:
            raise ProbeError(f"patience {self.patience} stops at once: give 1 or more, or none.")

    @property
    def runs(self) -> list[tuple[int, float]]:
        """(seed, learning rate) of each run, learning rates fastest."""
        return [(seed, rate) for seed in self.seeds for rate in self.learning_rates]


@dataclass
class Result:
    """Trained runs.

    Attributes:
        runs: (seed, learning rate) of each run.
        architecture: Which parts the model has.
        parameters: Weights of each run at its best development loss.
        development_loss: That loss, without λ, [runs]; infinite where a run diverged from the start.
        development_losses: Every measurement, [measurements, runs].
        stopped_at: Steps each run took, [runs].
        history: Per log entry: `step` [entries], and [entries, runs] of `loss` (of the batch, without λ),
            `norm_key`, `norm_query`, `norm_value`, `norm_embedding` (Frobenius, all layers),
            `block_score`, `diagonal_score`, and the three attention means of `measures.CLASSES`.
    """

    runs: list[tuple[int, float]]
    architecture: Architecture
    parameters: Parameters
    development_loss: NDArray[np.float64]
    development_losses: NDArray[np.float64]
    stopped_at: NDArray[np.int64]
    history: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def value(self) -> NDArray[np.float64]:
        """W^V of each run, [runs, d, d]."""
        return self.parameters["value.0"].detach().cpu().double().numpy()

    def embedding_products(self) -> NDArray[np.float64]:
        """E = W^E'W^E of each run, [runs, T·v + 1, T·v + 1] (Theorem 1)."""
        embedding = self.parameters["embedding"].detach().cpu().double().numpy()
        return np.asarray(embedding.transpose(0, 2, 1) @ embedding)
