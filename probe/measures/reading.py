"""One forward pass of a model over the passages, which all measures read together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from probe.measures.batches import Batch, BatchMaker
from probe.measures.pooling import Pooling
from probe.measures.protocol import Measure, Occurrences, PassSums, Probed
from probe.models.eager import Map
from probe.models.interface import Call
from probe.models.loaded import LoadedModel, Stack


class PassReader:
    """Runs a model on batches, and lets every measure that reads something add to its sums.

    Args:
        model: the model.
        measures: that are read for.
        probed: what is known before the pass.
        start: sums of the same measures to go on from.
    """

    def __init__(self, model: LoadedModel, measures: Sequence[Measure], probed: Probed, start: PassSums | None = None):
        self._model = model
        self._batches = start.batches if start else 0
        occurrences = start.occurrences if start else np.zeros(len(probed.pairs), dtype=np.int64)
        self._occurrences = torch.from_numpy(occurrences).to(model.device)
        self._readers = {}
        for measure in measures:
            if measure.reads:
                sums = start.of[measure.name] if start else measure.zeros(model, probed)
                tensors = {name: torch.from_numpy(array).to(model.device) for name, array in sums.items()}
                self._readers[measure.name] = measure.reader(model, probed, tensors)
        reads = {source for measure in measures for source in measure.reads}
        self._hear_attention = "attention" in reads
        self._hear_embeddings = "embeddings" in reads

    def sums(self) -> PassSums:
        """What has been added up so far (on the CPU it shares the reader's memory)."""
        of = {
            measure: {name: tensor.cpu().numpy() for name, tensor in reader.sums.items()}
            for measure, reader in self._readers.items()
        }
        shape = self._model.layers, self._model.heads
        return PassSums(self._batches, *shape, self._occurrences.cpu().numpy(), of)

    @torch.inference_mode()
    def read(self, batch: Batch) -> None:
        """Run the model on a batch."""
        occurrences = find_occurrences(batch, self._model.stack)
        if occurrences.known.any():
            words = batch.words[occurrences.known]
            self._occurrences.index_add_(0, words, torch.ones_like(words))
            for reader in self._readers.values():
                reader.begin(occurrences)
            self._model.listen(
                batch.input_ids,
                batch.attention_mask,
                self._attention if self._hear_attention else _ignore,
                self._embeddings if self._hear_embeddings else None,
            )
            for reader in self._readers.values():
                reader.end()
        self._batches += 1

    def _attention(self, layer: int, call: Call | Map) -> None:
        for reader in self._readers.values():
            reader.attention(layer, call)

    def _embeddings(self, hidden: torch.Tensor) -> None:
        for reader in self._readers.values():
            reader.embeddings(hidden)


def find_occurrences(batch: Batch, stack: Stack) -> Occurrences:
    """Where a stack puts the queries and keys of a batch's words."""
    pieces, last = batch.pieces, batch.rows
    if pieces is not None:
        last = last.scatter_reduce(1, pieces.of.clamp(min=0), pieces.rows, "amax")
    # A word with a token whose place a decoder's shift moves beyond the passage is not read.
    known = (batch.words >= 0) & (last + stack.query_shift < batch.lengths[:, None])
    queries = torch.where(known, batch.rows + stack.query_shift, 0)
    keys = torch.where(known, batch.rows + stack.key_shift, 0)
    pooling = Pooling.of(batch, pieces, stack.query_shift, stack.key_shift) if pieces else None
    return Occurrences(batch, known, queries, keys, pooling)


def _ignore(layer: int, call: Call | Map) -> None:
    del layer, call


def read_passages(
    model: LoadedModel,
    batch_maker: BatchMaker,
    batches: Sequence[np.ndarray],
    measures: Sequence[Measure],
    probed: Probed,
    *,
    start: PassSums | None = None,
    after_batch: Callable[[PassReader, int], None] | None = None,
    add: Callable[[np.ndarray], None] | None = None,
) -> PassSums:
    """Read all batches, in one forward pass each.

    Args:
        model: the model.
        batch_maker: of the probed passages.
        batches: indices of passages.
        measures: that are read for.
        probed: what is known before the pass.
        start: sums of the first batches, to go on from.
        after_batch: called with the reader and the number of batches read.
        add: adds an array up over the processes that share the pass, in place.
    """
    reader = PassReader(model, measures, probed, start)
    done = start.batches if start else 0
    for number, chosen in enumerate(batches[done:], start=done + 1):
        reader.read(batch_maker(chosen))
        if after_batch:
            after_batch(reader, number)
    sums = reader.sums()
    if add:
        for array in (sums.occurrences, *(array for arrays in sums.of.values() for array in arrays.values())):
            add(array)
    # Taken only here, so that they need no memory beside the pass.
    sums.of = {one.name: {**sums.of[one.name], **one.of_weights(model, probed)} for one in measures if one.reads}
    return sums
