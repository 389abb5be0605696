"""What a measure is: what it reads of a batch, the sums it keeps, and the numbers that are made of them.

A measure is one file. The pass, the cache, the ranks, the bootstrap and the tables know what stands here, and no
measure by name.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import torch

from probe.measures.batches import Batch
from probe.measures.cooccurring import TopPairs
from probe.measures.pairs import Labelled, TopicPairs
from probe.measures.pooling import Pooling
from probe.text.words import Spelled

if TYPE_CHECKING:
    from probe.models.eager import Map
    from probe.models.interface import Call
    from probe.models.loaded import LoadedModel

Sums = dict[str, np.ndarray]
"""Arrays of one measure by name. They add up over batches, over ranks, and over the parts of a run that was stopped."""
Source = Literal["embeddings", "attention"]
"""What a measure can read of a forward pass."""


@dataclass(frozen=True)
class Probed:
    """What is known before a pass.

    Attributes:
        pairs: the words that are tracked, W of them, and the class of every pair.
        top: the pairs of words that co-occur most.
        documents: how many documents the probed passages come from.
        spelled: the tracked words as tokens; None where `pairs.words` are token ids.
    """

    pairs: TopicPairs
    top: TopPairs
    documents: int
    spelled: Spelled | None = None


@dataclass(frozen=True)
class Occurrences:
    """Where the tracked words of a batch stand.

    Attributes:
        batch: what the model reads.
        known: [batch, rows] bool; False where a passage has fewer words.
        queries, keys: [batch, rows] positions of the queries and keys of the words' first tokens (equal, but in a
            decoder).
        pooling: of words of several tokens; None where every word is one token.
    """

    batch: Batch
    known: torch.Tensor
    queries: torch.Tensor
    keys: torch.Tensor
    pooling: Pooling | None = None

    @property
    def tokens(self) -> int:
        """How many tokens of a passage the words have at most."""
        return (self.queries if self.pooling is None else self.pooling.queries).shape[1]

    def vectors(self, hidden: torch.Tensor) -> torch.Tensor:
        """A layer's vectors of the words, of several tokens their mean.

        Args:
            hidden: [batch, length, width].

        Returns:
            [known words, width], on the batch's device, in the order of `batch.words[known]`.
        """
        queries = self.queries if self.pooling is None else self.pooling.queries
        found = hidden.to(queries.device).gather(1, queries[:, :, None].expand(-1, -1, hidden.shape[-1]))
        return (found if self.pooling is None else self.pooling.vectors(found))[self.known]

    def attention(self, call: Call | Map, part: slice) -> torch.Tensor:
        """Attention between the words of some passages of the batch; of several tokens pooled.

        Args:
            call: what a layer gives.
            part: the passages.

        Returns:
            [passages, heads, rows, rows] float32, on the batch's device.
        """
        if self.pooling is None:
            return call.between(part, self.queries[part], self.keys[part]).to(self.queries.device)
        between = call.between(part, self.pooling.queries[part], self.pooling.keys[part])
        return self.pooling.attention(between.to(self.queries.device), part)


class Reader:
    """One measure's work during a pass: it is called as the model runs, and adds to its sums in place.

    Args:
        sums: the measure's sums on the model's device.
    """

    def __init__(self, sums: dict[str, torch.Tensor]):
        self.sums = sums

    def begin(self, occurrences: Occurrences) -> None:
        """A batch is about to be read."""

    def embeddings(self, hidden: torch.Tensor) -> None:
        """The embedding layer's output, [batch, length, width]."""

    def attention(self, layer: int, call: Call | Map) -> None:
        """One layer's attention; `call.between(part, queries, keys)` gives its rows."""

    def end(self) -> None:
        """The batch has been read."""


@dataclass(frozen=True)
class ByTopic:
    """Values of pairs of words, resampled over topics.

    Attributes:
        values: [words, words] float32, symmetric; 0 for pairs that do not count.
        counted: [words, words] bool; the pairs that are same-topic or different-topic.
    """

    values: np.ndarray
    counted: np.ndarray


@dataclass(frozen=True)
class ByDocument:
    """Sums of pairs of occurrences, resampled over documents.

    Attributes:
        sums, pairs: [groups, 2] of the same-topic and the different-topic pairs of each group of documents.
        distances, distance_pairs: [groups, bins, 2] the same by distance in the passage; None without such a control.
    """

    sums: np.ndarray
    pairs: np.ndarray
    distances: np.ndarray | None = None
    distance_pairs: np.ndarray | None = None


@dataclass(frozen=True)
class Quantity:
    """A same-topic mean and a different-topic mean of one assignment, before their uncertainty is known.

    Attributes:
        measure, site: as `measures.csv` names them.
        same, different: the means.
        same_pairs, different_pairs: how many pairs they are made of.
        units: what is resampled for the interval.
        sums, pairs: packed triangles over the assignment's words: the sum of each pair, and how many values it is of.
            Topic labels are permuted over them for the nulls.
        pmi_matched: whether a control with pairs of like PMI is made.
        no_ratio: why there is no ratio by construction; empty where there is one.
    """

    measure: str
    site: str
    same: float
    different: float
    same_pairs: int
    different_pairs: int
    units: ByTopic | ByDocument
    sums: np.ndarray
    pairs: np.ndarray
    pmi_matched: bool = False
    no_ratio: str = ""


@dataclass(frozen=True)
class HeadSums:
    """Same-topic and different-topic sums of every head.

    Attributes:
        sums: [layers, heads, 2].
        pairs: [2] number of ordered pairs, alike for all heads.
    """

    sums: np.ndarray
    pairs: np.ndarray


@dataclass(frozen=True)
class TopMeans:
    """What the pairs of words that co-occur most give (Table 2).

    Attributes:
        theta: ambiguity threshold, which decides how many pairs there are.
        word_pairs: N = k (k - 1) / 2, fewer where fewer pairs co-occur.
        attention: their mean debiased attention.
        cosine: their mean cosine similarity at the word site.
    """

    theta: float
    word_pairs: int
    attention: float
    cosine: float


class Measure(ABC):
    """A measure. Its sums are kept for all numbers of words per topic at once (see `TopicPairs`).

    Attributes:
        name: of its sums, in the cache and among other measures.
        reads: what it reads of a forward pass; a measure that reads nothing works on the sums of others.
    """

    name: ClassVar[str]
    reads: ClassVar[frozenset[Source]] = frozenset()

    def zeros(self, model: LoadedModel, probed: Probed) -> Sums:
        """The sums before anything is read."""
        del model, probed
        return {}

    def reader(self, model: LoadedModel, probed: Probed, sums: dict[str, torch.Tensor]) -> Reader:
        """What reads the batches and adds to `sums`."""
        del model, probed
        return Reader(sums)

    def of_weights(self, model: LoadedModel, probed: Probed) -> Sums:
        """Arrays that come from the model's weights alone: they are kept beside the sums, and do not add up."""
        del model, probed
        return {}

    def quantities(self, sums: PassSums, probed: Probed, labelled: Sequence[Labelled]) -> Iterator[list[Quantity]]:
        """The numbers of every assignment, one after the other."""
        del sums, probed
        return iter([[] for _ in labelled])

    def heads(self, sums: PassSums, probed: Probed, labelled: Labelled) -> HeadSums | None:
        """The numbers of one assignment by layer and head (`layers.csv`), where the measure has them."""
        del sums, probed, labelled
        return None

    def top_means(self, sums: PassSums, probed: Probed, theta: float, words_per_topic: int) -> TopMeans | None:
        """The means of the pairs that co-occur most (`table2.csv`), where the measure has them."""
        del sums, probed, theta, words_per_topic
        return None


@dataclass
class PassSums:
    """What one pass of a model over the passages leaves.

    Attributes:
        batches: how many batches have been read.
        layers, heads: of the attention that is measured.
        occurrences: [W] number of occurrences of each tracked word in the probed passages.
        of: the sums of each measure.
    """

    batches: int
    layers: int
    heads: int
    occurrences: np.ndarray
    of: Mapping[str, Sums]


def mean(total: float, count: int) -> float:
    """A mean from its sum; NaN of nothing."""
    return float(total / count) if count else float("nan")
