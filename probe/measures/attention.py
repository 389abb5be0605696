"""Average attention between words of one topic and words of different topics (paper, section 6.2 and appendix E.3).

Attention is debiased for length: in a passage of L tokens it is multiplied by L / 100, so that its mean over the
passage is 1/100. Under causal attention row i spreads over the keys it can see, so it is multiplied by their
number / 100 instead, and only keys before the query count.

Sums are taken over ordered pairs (query, key) of occurrences of different words that carry topics. They add up over
batches; means and ratios are made from them at the end.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch

from probe.errors import ProbeError
from probe.measures.batches import Batch, BatchMaker
from probe.measures.embeddings import word_vectors
from probe.measures.pairs import DIFFERENT, SAME, TopicPairs
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


@dataclass
class AttentionSums:
    """Sufficient statistics of one pass of a model over the passages.

    W is the number of words, and columns are those of `TopicPairs`.

    Attributes:
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
        vectors: [W, width] sum of the embedding layer's output over occurrences of each word.
        directions: [W, width] sum of the same outputs, each of unit length.
        occurrences: [W] number of occurrences in the probed passages.
        word_vectors: [W, width] rows of the input embedding matrix W^E.
        batches: how many batches have been read.
    """

    layers: np.ndarray
    documents: np.ndarray
    document_pairs: np.ndarray
    table: np.ndarray
    table_pairs: np.ndarray
    distances: np.ndarray
    distance_pairs: np.ndarray
    vectors: np.ndarray
    directions: np.ndarray
    occurrences: np.ndarray
    word_vectors: np.ndarray
    batches: np.ndarray

    def parts(self) -> list[np.ndarray]:
        """The arrays that add up over batches and ranks."""
        return [getattr(self, field.name) for field in fields(self) if field.name != "word_vectors"]

    def save(self, path: Path) -> None:
        """Write the sums; the file is there whole or not at all."""
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        seen = np.flatnonzero(self.table_pairs)
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        content |= {"table": self.table[seen], "table_pairs": self.table_pairs[seen], "seen": seen}
        content["size"] = np.array(len(self.table))
        try:
            with temporary.open("wb") as file:
                np.savez(file, **content)
            temporary.replace(path)
        except OSError as error:
            raise ProbeError(
                f"Finished work cannot be kept in {path.parent} ({error.strerror or error}): name another folder "
                "with --cache DIR or free some space."
            ) from error
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> AttentionSums | None:
        """Read sums that `save` wrote; None where there are none or the file is damaged."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
            for name in ("table", "table_pairs"):
                full = np.zeros(int(arrays["size"]), dtype=arrays[name].dtype)
                full[arrays["seen"]] = arrays[name]
                arrays[name] = full
            return cls(**{field.name: arrays[field.name] for field in fields(cls)})
        except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile):
            return None


class AttentionReader:
    """Listens to a model's attention layers and adds up what they give to pairs of words.

    Args:
        model: the model it listens to.
        pairs: classes of the pairs.
        documents: number of probed documents.
        start: sums to go on from.
    """

    def __init__(self, model: LoadedModel, pairs: TopicPairs, documents: int, start: AttentionSums | None = None):
        self._model = model
        self._device = model.device
        self._words = pairs.words
        levels = np.arange(len(pairs.sizes))
        # [W, seeds * K]: whether a word carries a topic, and [codes, seeds * 2 K]: whether a pair shares one.
        carries = (pairs.first[:, :, None] <= levels).transpose(1, 0, 2).reshape(len(pairs), -1)
        self._carries = self._tensor(carries.astype(np.float32))
        self._same = self._tensor(pairs.same.astype(np.float32))
        self._first = self._tensor(pairs.first.astype(np.int64))
        self._code = self._tensor(pairs.code)
        self._levels = len(levels)
        triangle, columns = len(pairs.code), pairs.columns
        if start is None:
            groups, far = min(documents, _DOCUMENT_GROUPS), min(documents, _DISTANCE_GROUPS)
            start = AttentionSums(
                layers=np.zeros((model.layers, model.heads, columns)),
                documents=np.zeros((groups, columns)),
                document_pairs=np.zeros((groups, columns), dtype=np.int64),
                table=np.zeros(triangle, dtype=np.float32),
                table_pairs=np.zeros(triangle, dtype=np.int32),
                distances=np.zeros((far, DISTANCE_BINS, columns)),
                distance_pairs=np.zeros((far, DISTANCE_BINS, columns), dtype=np.int64),
                vectors=np.zeros((len(pairs), model.width)),
                directions=np.zeros((len(pairs), model.width)),
                occurrences=np.zeros(len(pairs), dtype=np.int64),
                word_vectors=np.zeros((0, 0)),
                batches=np.zeros(1, dtype=np.int64),
            )
        self._sums = {field.name: self._tensor(getattr(start, field.name)) for field in fields(start)}

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)

    def sums(self) -> AttentionSums:
        """What has been added up so far (on the CPU it shares the reader's memory)."""
        arrays = {name: tensor.cpu().numpy() for name, tensor in self._sums.items()}
        # Taken only here, so that they need no memory beside the pass.
        return AttentionSums(**arrays | {"word_vectors": word_vectors(self._model, self._words)})

    @torch.inference_mode()
    def read(self, batch: Batch) -> None:
        """Run the model on a batch and add what its layers give to the pairs of words in it."""
        self._begin(batch)
        if self._known.any():
            self._model.listen(batch.input_ids, batch.attention_mask, self._add, self._add_embeddings)
            self._end(batch)
        self._sums["batches"] += 1

    def _begin(self, batch: Batch) -> None:
        stack = self._model.stack
        self._batch = batch
        # A token whose place a decoder's shift moves beyond the passage is not read.
        self._known = (batch.words >= 0) & (batch.rows + stack.query_shift < batch.lengths[:, None])
        self._queries = torch.where(self._known, batch.rows + stack.query_shift, 0)
        self._keys = torch.where(self._known, batch.rows + stack.key_shift, 0)
        if self._model.causal:
            self._debias = (self._queries + 1)[:, :, None] / NORMAL_LENGTH
        else:
            self._debias = batch.lengths[:, None, None] / NORMAL_LENGTH
        words = batch.words.clamp(min=0)
        high, low = torch.maximum(words[:, :, None], words[:, None]), torch.minimum(words[:, :, None], words[:, None])
        # Where a pair of different words stands in a packed triangle.
        self._places = high * (high - 1) // 2 + low
        same_word = high == low
        code = self._code[torch.where(same_word, 0, self._places)].masked_fill_(same_word, _ONE_SURFACE)
        known = self._known[:, :, None] & self._known[:, None, :]
        one_surface = known & (code == _ONE_SURFACE)
        self._counted = known & ~one_surface
        if self._model.causal:
            self._counted &= self._keys[:, None, :] < self._queries[:, :, None]
        # [batch, rows, seeds * K], and [pairs, seeds * 2 K] for the few pairs that may be same-topic: the debias where
        # the pair is in the class.
        self._rows = self._carries[words] * self._known[:, :, None]
        self._debiased_rows = self._rows * self._debias
        self._one_surface = _Places(one_surface)
        self._alike = _Places(self._counted & (code > _ONE_SURFACE))
        self._states = self._same[self._alike.of(code).long()]
        self._debiased_states = self._states * self._alike.of(self._debias.expand(code.shape))[:, None]
        self._attention = torch.zeros(code.shape, device=self._device)

    def _add_embeddings(self, hidden: torch.Tensor) -> None:
        words = self._batch.words[self._known]
        places = self._queries[:, :, None].expand(-1, -1, hidden.shape[-1])
        found = hidden.to(self._device).gather(1, places)[self._known].double()
        self._sums["vectors"].index_add_(0, words, found)
        self._sums["directions"].index_add_(0, words, torch.nn.functional.normalize(found, dim=-1))
        self._sums["occurrences"].index_add_(0, words, torch.ones_like(words))

    def _add(self, layer: int, call: Call | Map) -> None:
        """Add one layer's attention."""
        size, rows = self._queries.shape
        step = max(1, _SCORES // (call.heads * rows * self._batch.input_ids.shape[1]))
        for first in range(0, size, step):
            part = slice(first, first + step)
            attention = call.between(part, self._queries[part], self._keys[part]).to(self._device)
            attention[self._one_surface.index(part)] = 0
            carrying = torch.matmul(attention, self._rows[part, None])
            carrying = torch.einsum("bhrk,brk->hk", carrying, self._debiased_rows[part])
            same = attention[self._alike.index(part)].T @ self._debiased_states[self._alike.within(part)]
            self._sums["layers"][layer] += self._columns(carrying, same)
            self._attention[part] += attention.sum(1)

    def _end(self, batch: Batch) -> None:
        mean = self._attention * self._debias / (self._model.layers * self._model.heads)
        self._add_by_document_and_distance(batch, mean)
        places = self._places[self._counted]
        self._sums["table"].index_add_(0, places, mean[self._counted])
        self._sums["table_pairs"].index_add_(0, places, torch.ones_like(places, dtype=torch.int32))

    def _add_by_document_and_distance(self, batch: Batch, mean: torch.Tensor) -> None:
        """Sums and counts by passage and distance."""
        apart = (batch.rows[:, :, None] - batch.rows[:, None, :]).abs().clamp(min=1)
        bins = torch.frexp(apart.float()).exponent.sub(1).clamp(max=DISTANCE_BINS - 1)
        place = torch.arange(len(mean), device=self._device)[:, None, None] * DISTANCE_BINS + bins
        first = self._first[:, batch.words.clamp(min=0)]
        level = torch.maximum(first[:, :, :, None], first[:, :, None, :])[:, self._counted]
        place_of_counted, place_of_alike = place[self._counted], self._alike.of(place)
        size, levels = len(mean) * DISTANCE_BINS, self._levels
        for kind, values in (("s", mean), ("_pairs", torch.ones_like(mean))):
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
            found = self._columns(carrying, same.double()).view(len(mean), DISTANCE_BINS, -1)
            for name, of_passage in (("document", found.sum(1)), ("distance", found)):
                sums = self._sums[name + kind]
                sums.index_add_(0, batch.documents % len(sums), of_passage.to(sums.dtype))

    def _columns(self, carrying: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        """Put [..., seeds * K] and [..., seeds * 2 K] in the order of `TopicPairs`."""
        size, levels = len(carrying), self._levels
        return torch.cat([carrying.view(size, -1, levels), same.view(size, -1, 2 * levels)], dim=2).flatten(1)


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


def measure_attention(
    model: LoadedModel,
    batch_maker: BatchMaker,
    batches: Sequence[np.ndarray],
    pairs: TopicPairs,
    *,
    start: AttentionSums | None = None,
    after_batch: Callable[[AttentionReader, int], None] | None = None,
) -> AttentionSums:
    """Read a model's attention over all batches, in one forward pass each.

    Args:
        model: the model.
        batch_maker: of the probed passages.
        batches: indices of passages.
        pairs: classes of the pairs.
        start: sums of the first batches, to go on from.
        after_batch: called with the reader and the number of batches read.
    """
    reader = AttentionReader(model, pairs, len(batch_maker.probed_documents), start)
    done = int(start.batches[0]) if start is not None else 0
    for number, chosen in enumerate(batches[done:], start=done + 1):
        reader.read(batch_maker(chosen))
        if after_batch:
            after_batch(reader, number)
    return reader.sums()


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
