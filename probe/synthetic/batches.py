"""Masked documents as counts and distinct queries, a batch a step, for all seeds at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from probe.errors import ProbeError
from probe.synthetic.runs import Training
from probe.synthetic.topic_model import Documents, MaskedDocuments, Masking, mask_documents
from probe.synthetic.transformer import Architecture, Batch

CHUNK = 25
"""Batches that are masked and counted at once."""


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
                    masked = take_masked(static[seed], chosen)
                else:
                    masked = mask_documents(documents.take(chosen), masking, stream)
                chunks.append(_queries(masked, architecture))
            for first in range(0, len(chunks[0].counts) - size + 1, size):
                yield _stack([chunk.cut(first, first + size) for chunk in chunks])


def take_masked(masked: MaskedDocuments, chosen: NDArray[np.int64]) -> MaskedDocuments:
    """The chosen documents, with their masks."""
    original = masked.original
    tokens = Documents(masked.tokens, original.lengths, original.vocabulary).take(chosen).tokens
    flags = Documents(masked.predicted.astype(np.int64), original.lengths, original.vocabulary).take(chosen)
    return MaskedDocuments(original.take(chosen), tokens, flags.tokens.astype(bool))
