"""What is read off a trained model: attention by class of pair, block and diagonal scores of W^V."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probe.synthetic.topic_model import MaskedDocuments
from probe.synthetic.transformer import Architecture, attention_scores, literal_forward

CLASSES = ("same_word", "same_topic", "different_topic")


@dataclass(frozen=True)
class PairSums:
    """Sums and counts over ordered pairs of positions that show words; they add up over parts of a corpus.

    Attributes:
        sums: Attention times L/100 (L counts the positions that may be attended to), [runs, 3] in the order of
            `CLASSES`: the same word (a position with itself included, as in Tables 3 and 4), different words
            of one topic, different topics.
        pairs: Pairs in each class, [3].
    """

    sums: NDArray[np.float64]
    pairs: NDArray[np.float64]

    def __add__(self, other: "PairSums") -> "PairSums":
        return PairSums(self.sums + other.sums, self.pairs + other.pairs)

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean attention, [runs, 3]; 1/100 is uniform."""
        return self.sums / self.pairs


def attention_by_class(
    architecture: Architecture,
    parameters: Mapping[str, Tensor],
    masked: MaskedDocuments,
    labels: NDArray[np.int64],
    exclude_self: bool = False,
) -> PairSums:
    """Attention of the first layer by class of pair, all runs at once, documents as the model reads them.

    Args:
        architecture: Which parts there are.
        parameters: From `initial_parameters`, trained.
        masked: Documents to read; predicted positions show what the masking gave them.
        labels: Topic of each token, [T·v + 1]; a negative label takes the token out (as [MASK] is).
        exclude_self: Leave out pairs of a position with itself.
    """
    runs = len(next(iter(parameters.values())))
    counts = torch.tensor(masked.counts(), dtype=torch.float64)
    keys = counts
    if not architecture.attend_masked:
        keys = torch.tensor(masked.counts(visible_only=True), dtype=torch.float64)
    size = counts.shape[1]
    scores = torch.zeros(runs, size, size, dtype=torch.float64)
    if architecture.attention == "trained":
        scores = attention_scores(parameters, parameters.get("embedding")).detach().cpu().double()
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    label = torch.tensor(labels)
    word = label >= 0
    same_topic = ((label[:, None] == label[None, :]) & word[:, None]).double()
    total = keys @ weights.transpose(1, 2)
    scale = keys.sum(1, keepdim=True) / 100 * counts * word / total
    own = keys * torch.diagonal(weights, dim1=1, dim2=2)[:, None, :]
    # A position attends to itself only where it may be attended to.
    if exclude_self:
        own_pairs, own = (
            keys * counts - keys,
            own - torch.diagonal(weights, dim1=1, dim2=2)[:, None, :] * (keys / counts.clamp(min=1)),
        )
    else:
        own_pairs = keys * counts
    everything = (keys * word) @ weights.transpose(1, 2)
    within = keys @ (weights * same_topic).transpose(1, 2)
    same_word = keys * torch.diagonal(weights, dim1=1, dim2=2)[:, None, :]
    sums = torch.stack(
        [
            (scale * own).sum((1, 2)),
            (scale * (within - same_word)).sum((1, 2)),
            (scale * (everything - within)).sum((1, 2)),
        ],
        dim=1,
    )
    shown = counts * word
    within_pairs = (shown * (keys @ same_topic)).sum()
    same_pairs = (shown * keys).sum()
    pairs = torch.stack(
        [
            (own_pairs * word).sum(),
            within_pairs - same_pairs,
            (shown.sum(1) * (keys * word).sum(1)).sum() - within_pairs,
        ]
    )
    return PairSums(sums.numpy(), pairs.numpy())


def literal_attention_by_class(
    architecture: Architecture,
    parameters: Mapping[str, Tensor],
    masked: MaskedDocuments,
    labels: NDArray[np.int64],
    exclude_self: bool = False,
) -> PairSums:
    """`attention_by_class`, pair by pair from each document's own attention map (the slow reference)."""
    runs = len(next(iter(parameters.values())))
    sums, pairs = np.zeros((runs, 3)), np.zeros(3)
    ends = np.cumsum(masked.original.lengths)
    for run in range(runs):
        for end, length in zip(ends, masked.original.lengths, strict=True):
            span = slice(end - length, end)
            tokens, predicted = masked.tokens[span], masked.predicted[span]
            visible = None if architecture.attend_masked else torch.tensor(~predicted)
            readable = length if visible is None else int(visible.sum())
            attention = literal_forward(architecture, parameters, run, torch.tensor(tokens), visible)[1][0]
            for query in range(length):
                for key in range(length):
                    hidden = predicted[key] and not architecture.attend_masked
                    if hidden or labels[tokens[query]] < 0 or labels[tokens[key]] < 0:
                        continue
                    if tokens[query] == tokens[key]:
                        if exclude_self and query == key:
                            continue
                        kind = 0
                    else:
                        kind = 1 if labels[tokens[query]] == labels[tokens[key]] else 2
                    sums[run, kind] += float(attention[key, query]) * readable / 100
                    pairs[kind] += run == 0
    return PairSums(sums, pairs)


@dataclass(frozen=True)
class ValueScores:
    """The pattern of W^V among words, one entry a run.

    Attributes:
        mask_column: Mean of W^V_{i0} over words i.
        diagonal: Mean of W^V_{ii}.
        same_topic: Mean over different words of one topic.
        different_topic: Mean over words of different topics.
        block_mean: Mean over all pairs of one topic, the diagonal included (Theorem 2's same-topic value).
        block_score: Share of the variance of off-diagonal entries that their topic relation explains; 1 where
            every block is uniform around one background, near 0 where no block is visible.
        diagonal_score: (diagonal - same_topic)/(diagonal - different_topic), how much of a word's pull on its
            own prediction is not shared with its topic; 0 is a uniform block, 1 a pure diagonal; clipped to
            [0, 1], and 0 where diagonal <= different_topic.
    """

    mask_column: NDArray[np.float64]
    diagonal: NDArray[np.float64]
    same_topic: NDArray[np.float64]
    different_topic: NDArray[np.float64]
    block_mean: NDArray[np.float64]
    block_score: NDArray[np.float64]
    diagonal_score: NDArray[np.float64]


def value_scores(value: NDArray[np.floating], labels: NDArray[np.int64]) -> ValueScores:
    """Block and diagonal scores of every run's W^V (or of E = W^E'W^E).

    Args:
        value: [runs, T·v + 1, T·v + 1].
        labels: Topic of each token, [T·v + 1]; negative for [MASK].
    """
    value = np.asarray(value, dtype=float)
    words = np.flatnonzero(labels >= 0)
    entries = value[:, words[:, None], words[None, :]]
    same = labels[words][:, None] == labels[words][None, :]
    diagonal = np.eye(len(words), dtype=bool)
    within, across = entries[:, same & ~diagonal], entries[:, ~same]
    own = entries[:, diagonal].mean(1)
    within_mean, across_mean = within.mean(1), across.mean(1)
    off = entries[:, ~diagonal]
    mean = off.mean(1)
    between = within.shape[1] * (within_mean - mean) ** 2 + across.shape[1] * (across_mean - mean) ** 2
    total = ((off - mean[:, None]) ** 2).sum(1)
    contrast = own - across_mean
    rising = contrast > 0
    return ValueScores(
        mask_column=value[:, words, 0].mean(1),
        diagonal=own,
        same_topic=within_mean,
        different_topic=across_mean,
        block_mean=entries[:, same].mean(1),
        block_score=between / np.where(total > 0, total, 1.0),
        diagonal_score=np.where(rising, np.clip((own - within_mean) / np.where(rising, contrast, 1.0), 0, 1), 0.0),
    )


def literal_value_scores(value: NDArray[np.floating], labels: NDArray[np.int64]) -> tuple[float, float]:
    """Block score and diagonal score of one W^V, entry by entry (the slow reference of `value_scores`)."""
    groups: dict[str, list[float]] = {"own": [], "within": [], "across": []}
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] >= 0 and labels[j] >= 0:
                group = "own" if i == j else "within" if labels[i] == labels[j] else "across"
                groups[group].append(float(value[i, j]))
    off = groups["within"] + groups["across"]
    mean = sum(off) / len(off)
    average = {name: sum(entries) / len(entries) for name, entries in groups.items()}
    explained = sum(len(groups[name]) * (average[name] - mean) ** 2 for name in ("within", "across"))
    total = sum((entry - mean) ** 2 for entry in off)
    contrast = average["own"] - average["across"]
    own_share = (average["own"] - average["within"]) / contrast if contrast > 0 else 0.0
    return (explained / total if total > 0 else 0.0), min(max(own_share, 0.0), 1.0)
