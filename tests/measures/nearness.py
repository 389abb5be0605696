"""A measure of somebody's own, as docs/extending.md shows it: how near two words stand at the embedding layer."""

import numpy as np
import torch

from probe.measures.embeddings import similarity_quantities
from probe.measures.protocol import Measure, Reader


class Nearness(Measure):
    """1 / (1 + the distance between the mean vectors of two words)."""

    name = "nearness"
    reads = frozenset({"embeddings"})

    def zeros(self, model, probed):
        return {"total": np.zeros((len(probed.pairs), model.width))}

    def reader(self, model, probed, sums):
        return NearnessReader(sums)

    def quantities(self, sums, probed, labelled):
        known = sums.occurrences > 0
        means = sums.of[self.name]["total"] / np.maximum(sums.occurrences, 1)[:, None]
        near = nearness(means)
        for one in labelled:
            block = near[np.ix_(one.position, one.position)]
            yield similarity_quantities("layer", {self.name: block}, known[one.position], probed.pairs, one)


class NearnessReader(Reader):
    def begin(self, occurrences):
        self.here = occurrences

    def embeddings(self, hidden):
        words = self.here.batch.words[self.here.known]
        self.sums["total"].index_add_(0, words, self.here.vectors(hidden).double())


def nearness(means):
    """[words, words] float32."""
    means = torch.from_numpy(means)
    return (1 / (1 + torch.cdist(means, means))).float().numpy()


def nearness_literal(means):
    """`nearness`, pair by pair."""
    return [[1 / (1 + sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) ** 0.5) for v in means] for u in means]
