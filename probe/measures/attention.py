"""Average attention between words of one topic and words of different topics (paper, section 6.2 and appendix E.3).

Attention is debiased for length: in a passage of L tokens it is multiplied by L / 100, so that its mean over the
passage is 1/100. Under causal attention row i spreads over the keys it can see, so it is multiplied by their
number / 100 instead, and only keys before the query count. Words of several tokens: see `probe.measures.pooling`; each
row is debiased before it is pooled.

Sums are taken over ordered pairs (query, key) of occurrences of different words that carry topics. They add up over
batches; means and ratios are made from them at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from probe.measures.batches import Batch
from probe.measures.pairs import DIFFERENT, SAME, Labelled, TopicPairs, triangle_index
from probe.measures.protocol import (
    ByDocument,
    HeadSums,
    Measure,
    Occurrences,
    PassSums,
    Probed,
    Quantity,
    Reader,
    Sums,
    mean,
)
from probe.models.eager import Map
from probe.models.interface import Call
from probe.models.loaded import LoadedModel

NORMAL_LENGTH = 100
DISTANCE_BINS = 10
_DOCUMENT_GROUPS = 4096
_DISTANCE_GROUPS = 128
# What `TopicPairs.code` says of two tokens of one surface; higher codes are of pairs that share a topic at some k.
_ONE_SURFACE = 1
# Numbers in the scores that are held at a time: some passages' at once, so that they stay in the processor's cache.
_SCORES = 1 << 21


class Attention(Measure):
    """Debiased attention.

    Its sums, for W words and the columns of `TopicPairs`:
        layers: [layers, heads, columns] debiased attention.
        documents: [groups, columns] debiased attention, averaged over heads and layers. Documents are kept apart up to
            4,096; more fall into as many groups, in turn.
        document_pairs: [groups, columns] number of ordered pairs.
        table: [W (W - 1) / 2] debiased attention of each unordered pair of words (both directions), averaged over
            heads and layers.
        table_pairs: [W (W - 1) / 2] number of ordered pairs.
        distances: [groups, bins, columns] the same attention by distance in the passage; bin b holds distances from
            2 ** b to 2 ** (b + 1) - 1, the last all larger ones. Documents fall into at most 128 groups, in turn.
        distance_pairs: [groups, bins, columns] number of ordered pairs.
    """

    name = "attention"
    reads = frozenset({"attention"})

    def zeros(self, model: LoadedModel, probed: Probed) -> Sums:
        """No attention yet."""
        triangle, columns = len(probed.pairs.code), probed.pairs.columns
        groups, far = min(probed.documents, _DOCUMENT_GROUPS), min(probed.documents, _DISTANCE_GROUPS)
        return {
            "layers": np.zeros((model.layers, model.heads, columns)),
            "documents": np.zeros((groups, columns)),
            "document_pairs": np.zeros((groups, columns), dtype=np.int64),
            "table": np.zeros(triangle, dtype=np.float32),
            "table_pairs": np.zeros(triangle, dtype=np.int32),
            "distances": np.zeros((far, DISTANCE_BINS, columns)),
            "distance_pairs": np.zeros((far, DISTANCE_BINS, columns), dtype=np.int64),
        }

    def reader(self, model: LoadedModel, probed: Probed, sums: dict[str, torch.Tensor]) -> Reader:
        """Adds up the attention between words."""
        return _AttentionReader(model, probed.pairs, sums)

    def quantities(self, sums: PassSums, probed: Probed, labelled: Sequence[Labelled]) -> Iterator[list[Quantity]]:
        """Mean attention over heads and layers."""
        for one in labelled:
            yield [self._quantity(sums.of[self.name], probed.pairs, one)]

    def _quantity(self, mine: Sums, pairs: TopicPairs, labelled: Labelled) -> Quantity:
        position = labelled.position
        units = ByDocument(
            *(
                pairs.classes(mine[name], labelled.assignment)
                for name in ("documents", "document_pairs", "distances", "distance_pairs")
            )
        )
        totals, counts = units.sums.sum(axis=0), units.pairs.sum(axis=0)
        high, low = np.tril_indices(len(position), -1)
        place = triangle_index(position[high], position[low])
        return Quantity(
            "attention",
            "attention",
            mean(totals[0], counts[0]),
            mean(totals[1], counts[1]),
            int(counts[0]),
            int(counts[1]),
            units,
            mine["table"][place],
            mine["table_pairs"][place],
            pmi_matched=True,
        )

    def heads(self, sums: PassSums, probed: Probed, labelled: Labelled) -> HeadSums:
        """Attention of every head."""
        mine, pairs = sums.of[self.name], probed.pairs
        counts = pairs.classes(mine["document_pairs"], labelled.assignment).sum(axis=0)
        return HeadSums(pairs.classes(mine["layers"], labelled.assignment), counts)


class _AttentionReader(Reader):
    def __init__(self, model: LoadedModel, pairs: TopicPairs, sums: dict[str, torch.Tensor]):
        super().__init__(sums)
        self._model = model
        self._device = model.device
        # [W, seeds * K]: whether a word carries a topic, and [codes, seeds * 2 K]: whether a pair shares one.
        levels = np.arange(len(pairs.sizes))
        carries = (pairs.first[:, :, None] <= levels).transpose(1, 0, 2).reshape(len(pairs), -1)
        self._carries = self._tensor(carries.astype(np.float32))
        self._same = self._tensor(pairs.same.astype(np.float32))
        self._first = self._tensor(pairs.first.astype(np.int64))
        self._code = self._tensor(pairs.code)
        self._levels = len(levels)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)

    def begin(self, occurrences: Occurrences) -> None:
        batch, known, queries = occurrences.batch, occurrences.known, occurrences.queries
        self._batch = batch
        self._here, self._debias = debiased(occurrences, causal=self._model.causal)
        words = batch.words.clamp(min=0)
        high, low = torch.maximum(words[:, :, None], words[:, None]), torch.minimum(words[:, :, None], words[:, None])
        # Where a pair of different words stands in a packed triangle.
        self._places = high * (high - 1) // 2 + low
        same_word = high == low
        code = self._code[torch.where(same_word, 0, self._places)].masked_fill_(same_word, _ONE_SURFACE)
        both = known[:, :, None] & known[:, None, :]
        one_surface = both & (code == _ONE_SURFACE)
        self._counted = both & ~one_surface
        if self._model.causal:
            self._counted &= occurrences.keys[:, None, :] < queries[:, :, None]
        # [batch, rows, seeds * K], and [pairs, seeds * 2 K] for the few pairs that may be same-topic: the debias where
        # the pair is in the class.
        self._rows = self._carries[words] * known[:, :, None]
        self._debiased_rows = self._rows * self._debias
        self._one_surface = _Places(one_surface)
        self._alike = _Places(self._counted & (code > _ONE_SURFACE))
        self._states = self._same[self._alike.of(code).long()]
        self._debiased_states = self._states * self._alike.of(self._debias.expand(code.shape))[:, None]
        self._attention = torch.zeros(code.shape, device=self._device)

    def attention(self, layer: int, call: Call | Map) -> None:
        size, length = self._batch.input_ids.shape
        step = max(1, _SCORES // (call.heads * self._here.tokens * length))
        for first in range(0, size, step):
            part = slice(first, first + step)
            attention = self._here.attention(call, part)
            attention[self._one_surface.index(part)] = 0
            carrying = torch.matmul(attention, self._rows[part, None])
            carrying = torch.einsum("bhrk,brk->hk", carrying, self._debiased_rows[part])
            same = attention[self._alike.index(part)].T @ self._debiased_states[self._alike.within(part)]
            self.sums["layers"][layer] += self._columns(carrying, same)
            self._attention[part] += attention.sum(1)

    def end(self) -> None:
        average = self._attention * self._debias / (self._model.layers * self._model.heads)
        self._add_by_document_and_distance(self._batch, average)
        places = self._places[self._counted]
        self.sums["table"].index_add_(0, places, average[self._counted])
        self.sums["table_pairs"].index_add_(0, places, torch.ones_like(places, dtype=torch.int32))

    def _add_by_document_and_distance(self, batch: Batch, average: torch.Tensor) -> None:
        """Sums and counts by passage and distance."""
        apart = (batch.rows[:, :, None] - batch.rows[:, None, :]).abs().clamp(min=1)
        bins = torch.frexp(apart.float()).exponent.sub(1).clamp(max=DISTANCE_BINS - 1)
        place = torch.arange(len(average), device=self._device)[:, None, None] * DISTANCE_BINS + bins
        first = self._first[:, batch.words.clamp(min=0)]
        level = torch.maximum(first[:, :, :, None], first[:, :, None, :])[:, self._counted]
        place_of_counted, place_of_alike = place[self._counted], self._alike.of(place)
        size, levels = len(average) * DISTANCE_BINS, self._levels
        for kind, values in (("s", average), ("_pairs", torch.ones_like(average))):
            weights = values[self._counted].double()
            carrying = torch.stack(
                [
                    torch.bincount(place_of_counted * (levels + 1) + of_seed, weights, size * (levels + 1))
                    .view(size, levels + 1)[:, :levels]
                    .cumsum(1)
                    for of_seed in level
                ],
                dim=1,
            )
            same = torch.zeros(size, self._same.shape[1], device=self._device)
            same.index_add_(0, place_of_alike, self._states * self._alike.of(values)[:, None])
            found = self._columns(carrying, same.double()).view(len(average), DISTANCE_BINS, -1)
            for name, of_passage in (("document", found.sum(1)), ("distance", found)):
                sums = self.sums[name + kind]
                sums.index_add_(0, batch.documents % len(sums), of_passage.to(sums.dtype))

    def _columns(self, carrying: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        """Put [..., seeds * K] and [..., seeds * 2 K] in the order of `TopicPairs`."""
        size, levels = len(carrying), self._levels
        return torch.cat([carrying.view(size, -1, levels), same.view(size, -1, 2 * levels)], dim=2).flatten(1)


def debiased(occurrences: Occurrences, *, causal: bool) -> tuple[Occurrences, torch.Tensor]:
    """What attention between words is multiplied by, so that 1/100 is its mean.

    Args:
        occurrences: of the words.
        causal: no query sees a key after it.

    Returns:
        Occurrences to read the attention of, and [batch, rows or 1, 1] the factor.
    """
    queries, pooling = occurrences.queries, occurrences.pooling
    if not causal:
        return occurrences, occurrences.batch.lengths[:, None, None] / NORMAL_LENGTH
    if pooling is None:
        return occurrences, (queries + 1)[:, :, None] / NORMAL_LENGTH
    # The rows of one word see different numbers of keys: each is multiplied before the mean.
    weighed = pooling.weighing((pooling.queries + 1) / NORMAL_LENGTH)
    return replace(occurrences, pooling=weighed), torch.ones_like(queries)[:, :, None]


class _Places:
    """Chosen pairs of a batch, passage after passage.

    Args:
        chosen: [batch, rows, rows] bool.
    """

    def __init__(self, chosen: torch.Tensor):
        self._passage, self._query, self._key = chosen.nonzero(as_tuple=True)
        passages = torch.arange(len(chosen) + 1, device=chosen.device)
        self._starts = torch.searchsorted(self._passage, passages).tolist()

    def of(self, values: torch.Tensor) -> torch.Tensor:
        """The values of the chosen pairs, of [batch, rows, rows]."""
        return values[self._passage, self._query, self._key]

    def within(self, part: slice) -> slice:
        """Which of them lie in a part of the batch."""
        return slice(self._starts[part.start], self._starts[min(part.stop, len(self._starts) - 1)])

    def index(self, part: slice) -> tuple[torch.Tensor, slice, torch.Tensor, torch.Tensor]:
        """Where they stand in the part's [passages, heads, rows, rows]: gives [pairs, heads]."""
        here = self.within(part)
        return self._passage[here] - part.start, slice(None), self._query[here], self._key[here]


def attention_sums_literal(
    maps: np.ndarray, queries: Sequence[int], keys: Sequence[int], states: np.ndarray, causal: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts of one passage, pair by pair, from the definition.

    Args:
        maps: [layers, heads, L, L] attention of one passage without padding.
        queries, keys: [L] the labelled word at each place; -1 for none.
        states: [W, W] the class of each pair of labelled words.
        causal: debias each row by the keys it sees, and count earlier keys alone.

    Returns:
        [layers, heads, 2] debiased sums, same-topic and different-topic; [2] number of ordered pairs.
    """
    layers, heads, length, _ = maps.shape
    sums, counts = np.zeros((layers, heads, 2)), np.zeros(2, dtype=np.int64)
    for i in range(length):
        for j in range(i if causal else length):
            if queries[i] < 0 or keys[j] < 0:
                continue
            state = states[queries[i], keys[j]]
            if state in (SAME, DIFFERENT):
                column = (SAME, DIFFERENT).index(state)
                counts[column] += 1
                spread = i + 1 if causal else length
                for layer in range(layers):
                    for head in range(heads):
                        sums[layer, head, column] += maps[layer, head, i, j] * spread / NORMAL_LENGTH
    return sums, counts
