"""The paper's transformer (section 3.3), many runs at once: no residual, normalization or position, one head.

Without positions a token's output depends only on the token and on how often its document shows each token.
So a batch is counts, and each distinct (document, query token) is computed once: the same function as
attention over positions (`literal_forward`), at a fraction of its cost. Every tensor has the runs (seeds by
learning rates) in front, and one batched product serves them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from probe.errors import ProbeError
from probe.synthetic.theory import diagonal_value, theorem1_bias, theorem2
from probe.synthetic.topic_model import Masking, TopicModel

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Architecture:
    """Equation 6 or 7: which parts there are, and which of them are trained.

    Attributes:
        embedding: W^E trained, or frozen to one-hot (equation 7, d = T·v + 1).
        attention: W^K and W^Q trained, or frozen to zero (uniform attention).
        value: W^V trained, or frozen to the identity, to 1 inside each topic's block ("block"), to Theorem 2
            ("theorem2") or to Definition 2 ("diagonal").
        head: W^pred tied to W^E (equation 6; the identity for one-hot), frozen to the identity, or its own.
        prediction_bias: b^pred trained, frozen to zero, or to the one of Theorem 1.
        biases: Whether b^K, b^Q and b^V exist (section 6.1) or not (section 3.3).
        layers: Layers of attention, one head each.
        width: d of trained embeddings; None takes T·v + 1.
        attend_masked: Whether predicted positions are attended to (equation 5); the paper's released code
            hides them.

    Raises:
        ProbeError: Parts that do not fit together.
    """

    embedding: Literal["one-hot", "trained"] = "one-hot"
    attention: Literal["trained", "uniform"] = "trained"
    value: Literal["trained", "identity", "block", "theorem2", "diagonal"] = "trained"
    head: Literal["tied", "identity", "free"] = "tied"
    prediction_bias: Literal["trained", "zero", "theorem1"] = "zero"
    biases: bool = True
    layers: int = 1
    width: int | None = None
    attend_masked: bool = True

    def __post_init__(self) -> None:
        if self.layers < 1:
            raise ProbeError(f"A transformer of {self.layers} layers does nothing: give 1 or more.")
        if self.width is not None and self.width < 1:
            raise ProbeError(f"Embeddings of width {self.width} hold nothing: give 1 or more.")
        if self.width is not None and self.embedding == "one-hot":
            raise ProbeError("One-hot embeddings have the width of the vocabulary: leave the width out.")
        if self.width is not None and (self.head == "identity" or self.value not in ("trained", "identity")):
            raise ProbeError("This head or value is as wide as the vocabulary: leave the width out.")
        frozen = self.attention == "uniform" and self.value != "trained" and self.embedding == "one-hot"
        if frozen and self.head != "free" and self.prediction_bias != "trained":
            raise ProbeError("Every part is frozen and nothing is left to train: train at least one.")

    @property
    def reads_documents_only(self) -> bool:
        """Whether every query of a document has the same output (one layer of uniform attention)."""
        return self.attention == "uniform" and self.layers == 1


@dataclass(frozen=True)
class Initialization:
    """How trained weights start.

    Attributes:
        scale: None is the default of `torch.nn.Linear` for W^K, W^Q, W^V and their biases, uniform in ±1/√d;
            a number draws the weights uniformly in ±scale and starts the biases at zero.
        embedding_scale: Standard deviation of a trained W^E and W^pred.
        value_diagonal: Added to the diagonal of a trained W^V; it decides between blocks and a diagonal.

    Raises:
        ProbeError: A negative scale.
    """

    scale: float | None = None
    embedding_scale: float = 0.02
    value_diagonal: float = 0.0

    def __post_init__(self) -> None:
        if (self.scale is not None and not 0 <= self.scale < 100) or not 0 <= self.embedding_scale < 100:
            raise ProbeError("A negative or huge initialization scale cannot be used: give one of 0 to 100.")
        if not 0 <= self.value_diagonal < 100:
            raise ProbeError(f"A diagonal of {self.value_diagonal} cannot start W^V: give one of 0 to 100.")


@dataclass(frozen=True)
class Batch:
    """Masked documents as counts; one stream of data for each seed.

    Attributes:
        log_counts: Log of how often each document shows each token, [seeds, documents, T·v + 1].
        document: Document of each query, [seeds, queries].
        token: Token of each query, [seeds, queries].
        targets: Weight of each label at each query, [seeds, queries, T·v + 1]; each document's weights add
            up to 1/documents (equation 1's 1/|M|), and padding queries have none.
    """

    log_counts: Tensor
    document: Tensor
    token: Tensor
    targets: Tensor


def initial_parameters(
    architecture: Architecture,
    initialization: Initialization,
    model: TopicModel,
    masking: Masking,
    seeds: list[int],
    device: torch.device | str = "cpu",
) -> tuple[Parameters, set[str]]:
    """Weights of every run, and the names of those that are trained.

    Args:
        architecture: Which parts there are.
        initialization: How they start.
        model: The topic model.
        masking: p_m, p_c, p_r (for the frozen optima).
        seeds: One a run; a run's weights depend on its own seed only.
        device: Where the weights live.

    Returns:
        Tensors with the runs in front: `embedding` [runs, d, T·v + 1]; `key.0`, `query.0`, `value.0`
        [runs, d, d] and `key_bias.0` and so on [runs, d] for each layer; `head` [runs, T·v + 1, d];
        `prediction_bias` [runs, T·v + 1]. Parts that the architecture has not are absent.
    """
    size = model.vocabulary
    width = architecture.width or size
    runs = []
    for seed in seeds:
        random = np.random.default_rng([seed, 1])
        bound = width**-0.5 if initialization.scale is None else initialization.scale
        run: dict[str, np.ndarray] = {}
        if architecture.embedding == "trained":
            run["embedding"] = random.normal(0, initialization.embedding_scale, (width, size))
        for layer in range(architecture.layers):
            for name in ("key", "query", "value"):
                weight = random.uniform(-bound, bound, (width, width))
                bias = random.uniform(-bound, bound, width) * (initialization.scale is None)
                if name == "value" and architecture.value != "trained":
                    weight, bias = _frozen_value(architecture.value, model, masking, width), bias * 0
                elif name != "value" and architecture.attention == "uniform":
                    continue
                elif name == "value":
                    weight = weight + initialization.value_diagonal * np.eye(width)
                run[f"{name}.{layer}"] = weight
                if architecture.biases:
                    run[f"{name}_bias.{layer}"] = bias
        if architecture.head == "free":
            run["head"] = random.normal(0, initialization.embedding_scale, (size, width))
        if architecture.prediction_bias != "zero":
            start = theorem1_bias(model, masking)
            run["prediction_bias"] = start * (architecture.prediction_bias == "theorem1")
        runs.append(run)
    parameters = {
        name: torch.tensor(np.stack([run[name] for run in runs]), dtype=torch.float32, device=device)
        for name in runs[0]
    }
    trained = set(parameters)
    if architecture.value != "trained":
        trained = {name for name in trained if not name.startswith("value")}
    if architecture.prediction_bias == "theorem1":
        trained.discard("prediction_bias")
    return parameters, trained


def _frozen_value(kind: str, model: TopicModel, masking: Masking, width: int) -> np.ndarray:
    topic = model.topic_of_token
    if kind == "identity":
        return np.eye(width)
    if kind == "theorem2":
        return theorem2(model, masking).matrix(model)
    if kind == "diagonal":
        return diagonal_value(model, masking)
    return ((topic[:, None] == topic[None, :]) & (topic[:, None] >= 0)).astype(float)


def attention_scores(parameters: Mapping[str, Tensor], hidden: Tensor | None, layer: int = 0) -> Tensor:
    """(W^Q h_q + b^Q)·(W^K h_k + b^K)/√d_a of every query token q and key token k.

    Args:
        parameters: From `initial_parameters`.
        hidden: Representation of each token, [runs, ..., d, T·v + 1]; None where it is one-hot.
        layer: Which layer.

    Returns:
        [runs, ..., queries, keys], both T·v + 1.
    """

    def project(name: str) -> Tensor:
        out = parameters[f"{name}.{layer}"]
        if hidden is not None:
            out = out.reshape(len(out), *(1,) * (hidden.dim() - 3), *out.shape[1:]) @ hidden
        bias = parameters.get(f"{name}_bias.{layer}")
        return out if bias is None else out + bias.reshape(len(bias), *(1,) * (out.dim() - 3), -1, 1)

    query, key = project("query"), project("key")
    return query.transpose(-1, -2) @ key / query.shape[-2] ** 0.5


def forward(architecture: Architecture, parameters: Mapping[str, Tensor], batch: Batch) -> Tensor:
    """The model's output at every query (equation 6; equation 7 for one-hot embeddings).

    Args:
        architecture: Which parts there are.
        parameters: From `initial_parameters`.
        batch: Masked documents; its seeds are repeated over the runs, in order.

    Returns:
        [runs, queries, T·v + 1].
    """
    runs = len(next(iter(parameters.values())))
    size = batch.log_counts.shape[-1]
    repeat = runs // len(batch.log_counts)
    token = batch.token.repeat_interleave(repeat, 0)
    document = batch.document.repeat_interleave(repeat, 0)
    log_counts = batch.log_counts.repeat_interleave(repeat, 0)
    embedding = parameters.get("embedding")
    if architecture.layers == 1:
        # Attention of each query over tokens, then one table from tokens to outputs.
        mixed = _rows(log_counts, document)
        if architecture.attention == "trained":
            mixed = mixed + _rows(attention_scores(parameters, embedding), token)
        attention = mixed.softmax(-1)
        value = parameters["value.0"] if embedding is None else parameters["value.0"] @ embedding
        return attention @ _predict(parameters, value, architecture).transpose(1, 2) + _offset(parameters, architecture)
    if embedding is None:
        embedding = torch.eye(size, device=token.device).expand(runs, size, size)
    hidden = embedding[:, None]
    for layer in range(architecture.layers):
        mixed = log_counts[:, :, None, :]
        if architecture.attention == "trained":
            mixed = mixed + attention_scores(parameters, hidden, layer)
        value = parameters[f"value.{layer}"][:, None] @ hidden
        hidden = value @ mixed.softmax(-1).transpose(-1, -2)
        if architecture.biases:
            hidden = hidden + parameters[f"value_bias.{layer}"][:, None, :, None]
        hidden = hidden.expand(-1, log_counts.shape[1], -1, size)
    states = hidden.transpose(2, 3).flatten(1, 2)
    picked = _rows(states, document * size + token)
    out = _predict(parameters, picked.transpose(1, 2), architecture).transpose(1, 2)
    bias = parameters.get("prediction_bias")
    return out if bias is None else out + bias[:, None, :]


def _rows(table: Tensor, index: Tensor) -> Tensor:
    """Row index[r, q] of table[r], for all runs r at once, [runs, queries, columns]."""
    runs, rows, columns = table.shape
    flat = index + torch.arange(runs, device=index.device)[:, None] * rows
    return table.reshape(runs * rows, columns).index_select(0, flat.flatten()).view(*index.shape, columns)


def _predict(parameters: Mapping[str, Tensor], states: Tensor, architecture: Architecture) -> Tensor:
    """W^pred applied to states [runs, d, columns]."""
    if architecture.head == "free":
        return parameters["head"] @ states
    if architecture.head == "tied" and "embedding" in parameters:
        return parameters["embedding"].transpose(1, 2) @ states
    return states


def _offset(parameters: Mapping[str, Tensor], architecture: Architecture) -> Tensor | float:
    """W^pred b^V + b^pred, [runs, 1, T·v + 1]: attention adds up to 1, so b^V passes it unchanged."""
    offset: Tensor | float = 0.0
    if architecture.biases:
        offset = _predict(parameters, parameters["value_bias.0"][:, :, None], architecture).transpose(1, 2)
    bias = parameters.get("prediction_bias")
    return offset if bias is None else offset + bias[:, None, :]


def literal_forward(
    architecture: Architecture,
    parameters: Mapping[str, Tensor],
    run: int,
    tokens: Tensor,
    visible: Tensor | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Equation 6 position by position for one document of one run (the slow reference of `forward`).

    Args:
        architecture: Which parts there are.
        parameters: From `initial_parameters`.
        run: Which run.
        tokens: The masked document w̃, [N].
        visible: Positions that may be attended to, [N]; all by default.

    Returns:
        Output [T·v + 1, N] and each layer's attention A(Z) [N keys, N queries].
    """
    own = {name: tensor[run] for name, tensor in parameters.items()}
    vocabulary = own["prediction_bias"].shape[0] if "prediction_bias" in own else None
    embedding = own.get("embedding")
    if embedding is None:
        embedding = torch.eye(own["value.0"].shape[0])
    size = vocabulary or embedding.shape[1]
    one_hot = torch.eye(size)[tokens].T
    hidden = embedding @ one_hot
    maps = []
    for layer in range(architecture.layers):
        scores = torch.zeros(len(tokens), len(tokens))
        if architecture.attention == "trained":
            key, query = own[f"key.{layer}"] @ hidden, own[f"query.{layer}"] @ hidden
            if architecture.biases:
                key = key + own[f"key_bias.{layer}"][:, None]
                query = query + own[f"query_bias.{layer}"][:, None]
            scores = key.T @ query / key.shape[0] ** 0.5
        if visible is not None:
            scores = scores.masked_fill(~visible[:, None], -torch.inf)
        weights = scores.softmax(0)
        maps.append(weights)
        value = own[f"value.{layer}"] @ hidden
        if architecture.biases:
            value = value + own[f"value_bias.{layer}"][:, None]
        hidden = value @ weights
    if architecture.head == "free":
        out = own["head"] @ hidden
    elif architecture.head == "tied" and "embedding" in own:
        out = own["embedding"].T @ hidden
    else:
        out = hidden
    if "prediction_bias" in own:
        out = out + own["prediction_bias"][:, None]
    return out, maps
