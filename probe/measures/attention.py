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
from probe.measures.pairs import DIFFERENT, SAME, TopicPairs
from probe.models.eager import Map
from probe.models.interface import Call
from probe.models.loaded import LoadedModel

NORMAL_LENGTH = 100
DISTANCE_BINS = 10
_GROUPS = 512
# Numbers in the scores that are held at a time: some passages' at once, so that they stay in the processor's cache.
_SCORES = 1 << 21


@dataclass
class AttentionSums:
    """Sufficient statistics of one pass of a model over the passages.

    Columns alternate same-topic and different-topic for each of C assignments. W is the number of labelled words.

    Attributes:
        layers: [layers, heads, 2 C] debiased attention.
        documents: [documents, 2 C] debiased attention, averaged over heads and layers.
        document_pairs: [documents, 2 C] number of ordered pairs.
        table: [W (W - 1) / 2] debiased attention of each unordered pair of words (both directions), averaged over
            heads and layers.
        table_pairs: [W (W - 1) / 2] number of ordered pairs.
        distances: [groups, bins, 2 C] the same attention by distance in the passage; bin b holds distances from 2 ** b
            to 2 ** (b + 1) - 1, the last all larger ones. Documents fall into at most 512 groups, in turn.
        distance_pairs: [groups, bins, 2 C] number of ordered pairs.
        vectors: [W, width] sum of the embedding layer's output over occurrences of each word.
        directions: [W, width] sum of the same outputs, each of unit length.
        occurrences: [W] number of occurrences in the probed passages.
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
    batches: np.ndarray

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
    """

    def __init__(self, model: LoadedModel, pairs: TopicPairs, documents: int, start: AttentionSums | None = None):
        self._model = model
        self._device = next(model.module.parameters()).device
        self._code = torch.from_numpy(pairs.code).to(self._device)
        # The row after the last stands for pairs that are not asked for.
        classes = np.concatenate([pairs.classes, np.zeros_like(pairs.classes[:1])])
        self._classes = torch.from_numpy(classes.astype(np.float32)).to(self._device)
        self._surface = torch.from_numpy(pairs.surface.astype(np.int64)).to(self._device)
        size, columns = len(pairs), pairs.classes.shape[1]
        triangle = size * (size - 1) // 2
        if start is None:
            start = AttentionSums(
                layers=np.zeros((model.layers, model.heads, columns)),
                documents=np.zeros((documents, columns)),
                document_pairs=np.zeros((documents, columns), dtype=np.int64),
                table=np.zeros(triangle, dtype=np.float32),
                table_pairs=np.zeros(triangle, dtype=np.int32),
                distances=np.zeros((min(documents, _GROUPS), DISTANCE_BINS, columns)),
                distance_pairs=np.zeros((min(documents, _GROUPS), DISTANCE_BINS, columns), dtype=np.int64),
                vectors=np.zeros((size, 0)),
                directions=np.zeros((size, 0)),
                occurrences=np.zeros(size, dtype=np.int64),
                batches=np.zeros(1, dtype=np.int64),
            )
        self._sums = {
            field.name: torch.from_numpy(getattr(start, field.name)).to(self._device) for field in fields(start)
        }

    def sums(self) -> AttentionSums:
        """What has been added up so far (on the CPU it shares the reader's memory)."""
        return AttentionSums(**{name: tensor.cpu().numpy() for name, tensor in self._sums.items()})

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
        words = batch.words.clamp(min=0)
        self._pair_known = self._known[:, :, None] & self._known[:, None, :]
        if self._model.causal:
            self._pair_known &= self._keys[:, None, :] < self._queries[:, :, None]
            self._debias = (self._queries + 1)[:, :, None] / NORMAL_LENGTH
        else:
            self._debias = batch.lengths[:, None, None] / NORMAL_LENGTH
        code = self._code[words[:, :, None], words[:, None, :]].long()
        self._pair_code = torch.where(self._pair_known, code, len(self._classes) - 1)
        # [batch, rows * rows, 2 C]: the debias where the pair is in the class.
        weights = torch.nn.functional.embedding(self._pair_code, self._classes).mul_(self._debias[..., None])
        self._weights = weights.flatten(1, 2)
        self._attention = torch.zeros(code.shape, device=self._device)

    def _add_embeddings(self, hidden: torch.Tensor) -> None:
        width = hidden.shape[-1]
        if not self._sums["vectors"].shape[1]:
            for name in ("vectors", "directions"):
                self._sums[name] = torch.zeros(
                    len(self._sums["occurrences"]), width, dtype=torch.float64, device=self._device
                )
        words = self._batch.words[self._known]
        found = hidden.gather(1, self._queries[:, :, None].expand(-1, -1, width))[self._known].double()
        self._sums["vectors"].index_add_(0, words, found)
        self._sums["directions"].index_add_(0, words, torch.nn.functional.normalize(found, dim=-1))
        self._sums["occurrences"].index_add_(0, words, torch.ones_like(words))

    def _add(self, layer: int, call: Call | Map) -> None:
        """Add one layer's attention."""
        size, rows = self._queries.shape
        step = max(1, _SCORES // (call.heads * rows * self._batch.input_ids.shape[1]))
        for first in range(0, size, step):
            part = slice(first, first + step)
            attention = call.between(part, self._queries[part], self._keys[part])
            self._sums["layers"][layer] += torch.bmm(attention.flatten(2), self._weights[part]).sum(0)
            self._attention[part] += attention.sum(1)

    def _end(self, batch: Batch) -> None:
        mean = self._attention * self._debias / (self._model.layers * self._model.heads)
        self._add_by_document_and_distance(batch, mean)
        self._add_by_words(batch, mean)

    def _add_by_document_and_distance(self, batch: Batch, mean: torch.Tensor) -> None:
        """Sums and counts by passage, distance and code of the pair, then by class."""
        apart = (batch.rows[:, :, None] - batch.rows[:, None, :]).abs().clamp(min=1)
        bins = torch.frexp(apart.float()).exponent.sub(1).clamp(max=DISTANCE_BINS - 1)
        passage = torch.arange(len(mean), device=self._device)[:, None, None]
        place = ((passage * DISTANCE_BINS + bins) * len(self._classes) + self._pair_code).flatten()
        shape = (len(mean), DISTANCE_BINS, len(self._classes))
        classes, group = self._classes.double(), batch.documents % len(self._sums["distances"])
        for kind, values in (("s", mean.double()), ("_pairs", torch.ones_like(mean, dtype=torch.float64))):
            by_code = torch.bincount(place, weights=values.flatten(), minlength=shape[0] * shape[1] * shape[2])
            by_class = by_code.view(shape) @ classes
            name = "document" + kind
            self._sums[name].index_add_(0, batch.documents, by_class.sum(1).to(self._sums[name].dtype))
            name = "distance" + kind
            self._sums[name].index_add_(0, group, by_class.to(self._sums[name].dtype))

    def _add_by_words(self, batch: Batch, mean: torch.Tensor) -> None:
        """Both directions of every pair of places at once, into the table of pairs of words."""
        one, other = torch.triu_indices(*mean.shape[1:], offset=1, device=self._device)
        surface = self._surface[batch.words.clamp(min=0)]
        number = self._pair_known[:, one, other].int() + self._pair_known[:, other, one].int()
        counted = (number > 0) & (surface[:, one] != surface[:, other])
        value = torch.where(self._pair_known, mean, 0.0)
        value = (value[:, one, other] + value[:, other, one])[counted]
        first, second = batch.words[:, one][counted], batch.words[:, other][counted]
        high, low = torch.maximum(first, second), torch.minimum(first, second)
        place = high * (high - 1) // 2 + low
        self._sums["table"].index_add_(0, place, value)
        self._sums["table_pairs"].index_add_(0, place, number[counted])


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
