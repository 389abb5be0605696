"""Masked language modeling on topic-model documents, all seeds and learning rates as one batched model."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probe.errors import ProbeError
from probe.synthetic.batches import batches, make_batch, take_masked
from probe.synthetic.measures import attention_by_class, value_scores
from probe.synthetic.runs import Loss, Result, Training
from probe.synthetic.topic_model import Documents, MaskedDocuments, Masking, TopicModel, mask_documents
from probe.synthetic.transformer import (
    Architecture,
    Batch,
    Initialization,
    Parameters,
    forward,
    initial_parameters,
)

NORMS = ("key", "query", "value", "embedding")


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


class _Best:
    """Weights of each run at its best development loss, and which runs still wait for a better one."""

    def __init__(self, parameters: Parameters, training: Training) -> None:
        runs = len(training.runs)
        self.patience = training.patience
        self.parameters = {name: tensor.clone() for name, tensor in parameters.items()}
        self.loss = np.full(runs, np.inf)
        self.stopped_at = np.full(runs, training.steps)
        self.going = np.ones(runs, dtype=bool)
        self.measurements: list[NDArray[np.float64]] = []
        self._waited = np.zeros(runs, dtype=int)

    def take(self, step: int, parameters: Parameters, found: NDArray[np.float64]) -> None:
        """Take in the development losses of a step, [runs]."""
        self.measurements.append(found)
        better = self.going & (found < self.loss)
        self.loss = np.where(better, found, self.loss)
        self._waited = np.where(better, 0, self._waited + 1)
        for name, tensor in parameters.items():
            chosen = torch.tensor(better, device=tensor.device).view(-1, *(1,) * (tensor.dim() - 1))
            self.parameters[name] = torch.where(chosen, tensor.detach(), self.parameters[name])
        if self.patience is not None:
            ending = self.going & (self._waited >= self.patience)
            self.stopped_at[ending] = step
            self.going &= ~ending


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
    shown = take_masked(masked, np.arange(min(200, len(development))))
    best = _Best(parameters, training)
    entries: list[dict[str, NDArray[np.float64]]] = []
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
            best.take(step, parameters, _development_loss(architecture, parameters, measured, training.loss))
            if progress:
                progress(step, training.steps)
        if step == training.steps or not best.going.any():
            break
        total = loss.sum()
        if training.l2:
            total = total + training.l2 * sum(parameters[name].square().sum() for name in active)
        gradients = torch.autograd.grad(total, [parameters[name] for name in active])
        optimizer.step(parameters, dict(zip(active, gradients, strict=True)))
    history = {key: np.stack([entry[key] for entry in entries]) for key in entries[0]}
    measurements = np.stack(best.measurements)
    return Result(training.runs, architecture, best.parameters, best.loss, measurements, best.stopped_at, history)


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
