"""Attention and cosine similarity of the pairs of words that co-occur most (paper, section 8.2, Table 2)."""

from __future__ import annotations

import numpy as np

from probe.measures.embeddings import word_similarities
from probe.measures.pairs import triangle_index
from probe.measures.protocol import Measure, PassSums, Probed, TopMeans, mean


class Cooccurrence(Measure):
    """Means of the N = k (k - 1) / 2 pairs that co-occur most, from the sums of attention and embeddings."""

    name = "cooccurrence"

    def top_means(self, sums: PassSums, probed: Probed, theta: float, words_per_topic: int) -> TopMeans:
        """The means of the first pairs of `probed.top`."""
        size = min(words_per_topic * (words_per_topic - 1) // 2, len(probed.top))
        first, second = (
            np.searchsorted(probed.pairs.words, words[:size]) for words in (probed.top.first, probed.top.second)
        )
        place = triangle_index(first, second)
        table, table_pairs = (sums.of["attention"][name] for name in ("table", "table_pairs"))
        cosine = word_similarities(sums.of["embeddings"]["word_vectors"]).cosine[first, second]
        attention = mean(float(table[place].sum(dtype=np.float64)), int(table_pairs[place].sum()))
        return TopMeans(theta, size, attention, mean(float(cosine.sum()), size))
