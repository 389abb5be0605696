"""Masked language modeling on topic-model documents, all seeds and learning rates as one batched model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probe.errors import ProbeError
from probe.synthetic.measures import attention_by_class, value_scores
from probe.synthetic.topic_model import Documents, MaskedDocuments, Masking, TopicModel, mask_documents
from probe.synthetic.transformer import (
    Architecture,
    Batch,
    Initialization,
    Parameters,
    forward,
    initial_parameters,
)

Loss = Literal["cross-entropy", "squared"]
OptimizerName = Literal["adam", "sgd"]
Schedule = Literal["joint", "two-stage", "alternating"]
NORMS = ("key", "query", "value", "embedding")

CHUNK = 25
"""Batches that are masked and counted at once."""


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


@dataclass(frozen=True)
class _Queries:
    """One seed's documents as counts and distinct queries, in order of document."""

    counts: NDArray[np.float32]
    document: NDArray[np.int64]
    token: NDArray[np.int64]
    targets: NDArray[np.float32]

    def cut(self, first: int, last: int) -> "_Queries":
        """Documents first .. last - 1."""
        span = slice(*np.searchsorted(self.document, [first, last]))
        return _Queries(self.counts[first:last], self.document[span] - first, self.token[span], self.targets[span])


def _queries(masked: MaskedDocuments, architecture: Architecture) -> _Queries:
    size, documents = masked.original.vocabulary, len(masked.original)
    counts = masked.counts(visible_only=not architecture.attend_masked).astype(np.float32)
    if not counts.any(axis=1).all():
        raise ProbeError("A document has every position masked: give longer documents or a lower p_mask.")
    where = np.flatnonzero(masked.predicted)
    document = masked.document[where]
    token = np.zeros_like(document) if architecture.reads_documents_only else masked.tokens[where]
    weight = 1 / np.bincount(document, minlength=documents)
    asked = np.bincount(document * size + token, minlength=documents * size)
    distinct = np.flatnonzero(asked)
    index = np.cumsum(asked > 0)[document * size + token] - 1
    label = masked.original.tokens[where]
    targets = np.bincount(index * size + label, weights=weight[document], minlength=len(distinct) * size)
    return _Queries(counts, distinct // size, distinct % size, targets.reshape(-1, size).astype(np.float32))


def _stack(parts: list[_Queries]) -> Batch:
    documents, size = parts[0].counts.shape
    most = max(len(part.document) for part in parts)
    token = np.zeros((2, len(parts), most), dtype=np.int64)
    targets = np.zeros((len(parts), most, size), dtype=np.float32)
    for seed, part in enumerate(parts):
        token[:, seed, : len(part.document)] = part.document, part.token
        targets[seed, : len(part.document)] = part.targets
    targets /= documents
    return Batch(
        log_counts=torch.from_numpy(np.stack([part.counts for part in parts])).log(),
        document=torch.from_numpy(token[0]),
        token=torch.from_numpy(token[1]),
        targets=torch.from_numpy(targets),
    )


def make_batch(parts: list[MaskedDocuments], architecture: Architecture) -> Batch:
    """Masked documents of each seed (equally many) as one batch.

    Raises:
        ProbeError: A document without a position that may be attended to.
    """
    return _stack([_queries(part, architecture) for part in parts])


def batches(documents: Documents, masking: Masking, training: Training, architecture: Architecture) -> Iterator[Batch]:
    """Batches without end: each seed its own order, anew every epoch, and masks, anew unless static."""
    total, size = len(documents), min(training.batch_size, len(documents))
    streams = [np.random.default_rng([seed, 2]) for seed in training.seeds]
    static = [mask_documents(documents, masking, stream) for stream in streams] if training.static_masks else []
    while True:
        orders = [stream.permutation(total) for stream in streams]
        for start in range(0, total - size + 1, size * CHUNK):
            chunks = []
            for seed, stream in enumerate(streams):
                chosen = orders[seed][start : start + size * CHUNK]
                if static:
                    masked = _take_masked(static[seed], chosen)
                else:
                    masked = mask_documents(documents.take(chosen), masking, stream)
                chunks.append(_queries(masked, architecture))
            for first in range(0, len(chunks[0].counts) - size + 1, size):
                yield _stack([chunk.cut(first, first + size) for chunk in chunks])


def _take_masked(masked: MaskedDocuments, chosen: NDArray[np.int64]) -> MaskedDocuments:
    original = masked.original
    tokens = Documents(masked.tokens, original.lengths, original.vocabulary).take(chosen).tokens
    flags = Documents(masked.predicted.astype(np.int64), original.lengths, original.vocabulary).take(chosen)
    return MaskedDocuments(original.take(chosen), tokens, flags.tokens.astype(bool))


def prediction_loss(output: Tensor, targets: Tensor, loss: Loss) -> Tensor:
    """Equation 1 for each run, [runs].

    Args:
        output: [runs, queries, T·v + 1].
        targets: Weight of each label, [runs, queries, T·v + 1].
        loss: Equation 3 or 4.
    """
    weight = targets.sum(-1)
    if loss == "cross-entropy":
        each = weight * output.logsumexp(-1) - (targets * output).sum(-1)
    else:
        each = weight * output.square().sum(-1) - 2 * (targets * output).sum(-1) + weight
    return each.sum(-1)


class _Optimizer:
    """SGD or Adam on stacked runs, each with its own learning rate."""

    def __init__(self, training: Training, parameters: Parameters, device: torch.device | str) -> None:
        self.adam = training.optimizer == "adam"
        self.rates = torch.tensor([rate for _, rate in training.runs], device=device)
        self.first = {name: torch.zeros_like(tensor) for name, tensor in parameters.items()}
        self.second = {name: torch.zeros_like(tensor) for name, tensor in parameters.items()}
        self.taken = dict.fromkeys(parameters, 0)

    @torch.no_grad()
    def step(self, parameters: Parameters, gradients: dict[str, Tensor]) -> None:
        for name, gradient in gradients.items():
            rate = self.rates.view(-1, *(1,) * (gradient.dim() - 1))
            if self.adam:
                self.taken[name] += 1
                first = self.first[name].lerp_(gradient, 0.1)
                second = self.second[name].mul_(0.999).addcmul_(gradient, gradient, value=0.001)
                root = (second / (1 - 0.999 ** self.taken[name])).sqrt_().add_(1e-8)
                parameters[name] -= rate / (1 - 0.9 ** self.taken[name]) * first / root
            else:
                parameters[name] -= rate * gradient


def _active(name: str, step: int, training: Training) -> bool:
    """Whether the schedule trains this weight at this step."""
    if training.schedule == "joint":
        return True
    stage = step // training.stage_steps
    values_turn = stage == 0 if training.schedule == "two-stage" else stage % 2 == 0
    return not values_turn if name.startswith(("key", "query")) else values_turn


def train(
    model: TopicModel,
    masking: Masking,
    architecture: Architecture,
    training: Training,
    documents: Documents,
    development: Documents,
    initialization: Initialization | None = None,
    device: str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Train every run.

    A run's numbers are the same whether it is trained alone or among others, up to the rounding of batched
    products.

    Args:
        model: The topic model the documents are from.
        masking: p_m, p_c, p_r.
        architecture: Which parts the model has.
        training: Loss, optimizer, seeds, rates, schedule.
        documents: Training documents, shared by all runs.
        development: Documents for the development loss; their masks are drawn once.
        initialization: How weights start.
        device: Where the weights live, as torch names it.
        progress: Called with (steps done, steps in all).

    Raises:
        ProbeError: Documents of another vocabulary, a schedule by stages without trained attention, or a device that
            is not there.
    """
    if documents.vocabulary != model.vocabulary or development.vocabulary != model.vocabulary:
        raise ProbeError("The documents have another vocabulary than the topic model: give the T and v of both.")
    if training.schedule != "joint" and architecture.attention == "uniform":
        raise ProbeError("A schedule by stages needs W^K and W^Q: train the attention or use the joint one.")
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError):
        raise ProbeError(f"There is no device {device} here: give cpu, or one that torch can use.") from None
    seeds = [seed for seed, _ in training.runs]
    parameters, trained = initial_parameters(
        architecture, initialization or Initialization(), model, masking, seeds, device
    )
    optimizer = _Optimizer(training, {name: parameters[name] for name in trained}, device)
    masked = mask_documents(development, masking, np.random.default_rng(2**32 - 1))
    measured = _to(make_batch([masked], architecture), device)
    shown = _take_masked(masked, np.arange(min(200, len(development))))
    best = {name: tensor.clone() for name, tensor in parameters.items()}
    best_loss = np.full(len(seeds), np.inf)
    waited = np.zeros(len(seeds), dtype=int)
    stopped_at = np.full(len(seeds), training.steps)
    going = np.ones(len(seeds), dtype=bool)
    entries: list[dict[str, NDArray[np.float64]]] = []
    measurements = []
    stream = batches(documents, masking, training, architecture)
    for step in range(training.steps + 1):
        batch = _to(next(stream), device)
        active = sorted(name for name in trained if _active(name, step, training))
        for name in trained:
            parameters[name].requires_grad_(name in active)
        loss = prediction_loss(
            forward(architecture, parameters, batch),
            batch.targets.repeat_interleave(len(training.learning_rates), 0),
            training.loss,
        )
        if step % training.log_every == 0:
            entries.append(_log(step, loss, parameters, architecture, shown, model))
        if step % training.evaluate_every == 0 or step == training.steps:
            found = _development_loss(architecture, parameters, measured, training.loss)
            measurements.append(found)
            better = going & (found < best_loss)
            best_loss = np.where(better, found, best_loss)
            waited = np.where(better, 0, waited + 1)
            chosen = torch.tensor(better, device=device)
            for name, tensor in parameters.items():
                mask = chosen.view(-1, *(1,) * (tensor.dim() - 1))
                best[name] = torch.where(mask, tensor.detach(), best[name])
            if training.patience is not None:
                ending = going & (waited >= training.patience)
                stopped_at[ending] = step
                going &= ~ending
            if progress:
                progress(step, training.steps)
            if not going.any():
                break
        if step == training.steps:
            break
        total = loss.sum()
        if training.l2:
            total = total + training.l2 * sum(parameters[name].square().sum() for name in active)
        gradients = torch.autograd.grad(total, [parameters[name] for name in active])
        optimizer.step(parameters, dict(zip(active, gradients, strict=True)))
    history = {key: np.stack([entry[key] for entry in entries]) for key in entries[0]}
    return Result(training.runs, architecture, best, best_loss, np.stack(measurements), stopped_at, history)


def _to(batch: Batch, device: str) -> Batch:
    if device == "cpu":
        return batch
    return Batch(*(getattr(batch, name).to(device) for name in ("log_counts", "document", "token", "targets")))


@torch.no_grad()
def _development_loss(
    architecture: Architecture, parameters: Parameters, batch: Batch, loss: Loss
) -> NDArray[np.float64]:
    found = prediction_loss(forward(architecture, parameters, batch), batch.targets, loss)
    return np.nan_to_num(found.double().cpu().numpy(), nan=np.inf)


@torch.no_grad()
def _log(
    step: int,
    loss: Tensor,
    parameters: Parameters,
    architecture: Architecture,
    shown: MaskedDocuments,
    model: TopicModel,
) -> dict[str, NDArray[np.float64]]:
    entry: dict[str, NDArray[np.float64]] = {
        "step": np.array(step, dtype=float),
        "loss": loss.detach().double().cpu().numpy(),
    }
    runs = len(entry["loss"])
    for name in NORMS:
        squares = [
            tensor.double().square().sum((1, 2)) for key, tensor in parameters.items() if key.split(".")[0] == name
        ]
        total = sum(squares, torch.zeros(runs, dtype=torch.float64, device=loss.device))
        entry[f"norm_{name}"] = total.sqrt().cpu().numpy()
    value = parameters["value.0"].cpu().numpy()
    labels = model.topic_of_token
    if value.shape[1] == len(labels):
        scores = value_scores(value, labels)
        entry["block_score"], entry["diagonal_score"] = scores.block_score, scores.diagonal_score
    means = attention_by_class(architecture, parameters, shown, labels).means
    entry["same_word"], entry["same_topic"], entry["different_topic"] = means.T
    return entry
