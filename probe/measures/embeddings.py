"""Similarity of embeddings of words of one topic and words of different topics (paper, section 6.2).

Over all pairs of different words that carry topics: mean cosine similarity and mean dot product. Two sites: `word`,
the rows of the input embedding matrix W^E; `layer`, the output of the embedding layer, where the similarity of two
words is averaged over all pairs of their occurrences in the probed passages. (The cosine of two averaged vectors would
grow with the words' frequency: averaging removes what position and neighbours add, so at random weights frequent words
come out more alike, and a topic of frequent words looks like topic structure.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from probe.measures.pairs import DIFFERENT, NEITHER, SAME, Labelled, TopicPairs, pack_triangle, pair_states
from probe.measures.protocol import ByTopic, Measure, Occurrences, PassSums, Probed, Quantity, Reader, Sums, mean
from probe.text.words import Spelled

if TYPE_CHECKING:
    from probe.models.loaded import LoadedModel


_CENTERED = "centering on the mean of the labelled words makes the different-topic mean about zero"


class Embeddings(Measure):
    """Cosine similarity and dot product at both sites.

    Its sums, for W words:
        vectors: [W, width] sum of the embedding layer's output over occurrences of each word.
        directions: [W, width] sum of the same outputs, each of unit length.
        word_vectors: [W, width of W^E] rows of the input embedding matrix, from the weights alone; of a word of several
            tokens the mean of their rows.
    """

    name = "embeddings"
    reads = frozenset({"embeddings"})

    def zeros(self, model: LoadedModel, probed: Probed) -> Sums:
        """No vectors yet."""
        return {name: np.zeros((len(probed.pairs), model.width)) for name in ("vectors", "directions")}

    def reader(self, model: LoadedModel, probed: Probed, sums: dict[str, torch.Tensor]) -> Reader:
        """Adds up the vectors of every word."""
        del model, probed
        return _EmbeddingReader(sums)

    def of_weights(self, model: LoadedModel, probed: Probed) -> Sums:
        """The rows of W^E."""
        return {"word_vectors": word_vectors(model, probed.pairs.words, probed.spelled)}

    def quantities(self, sums: PassSums, probed: Probed, labelled: Sequence[Labelled]) -> Iterator[list[Quantity]]:
        """Cosine and dot product at both sites; a centered cosine where every word has one topic."""
        mine = sums.of[self.name]
        word = word_similarities(mine["word_vectors"])
        layer = occurrence_similarities(mine["vectors"], mine["directions"], sums.occurrences)
        for one in labelled:
            block = np.ix_(one.position, one.position)
            at_word = {"cosine": word.cosine[block], "dot": word.dot[block]}
            if one.assignment.kind == "single":
                vectors = mine["word_vectors"][one.position]
                at_word["cosine_centered"] = word_similarities(vectors - vectors.mean(axis=0)).cosine
            at_layer = {"cosine": layer.cosine[block], "dot": layer.dot[block]}
            yield [
                *similarity_quantities("word", at_word, word.known[one.position], probed.pairs, one),
                *similarity_quantities("layer", at_layer, layer.known[one.position], probed.pairs, one),
            ]


class _EmbeddingReader(Reader):
    def begin(self, occurrences: Occurrences) -> None:
        self._here = occurrences

    def embeddings(self, hidden: torch.Tensor) -> None:
        words = self._here.batch.words[self._here.known]
        found = self._here.vectors(hidden).double()
        self.sums["vectors"].index_add_(0, words, found)
        self.sums["directions"].index_add_(0, words, torch.nn.functional.normalize(found, dim=-1))


def similarity_quantities(
    site: str, similarities: Mapping[str, np.ndarray], known: np.ndarray, pairs: TopicPairs, labelled: Labelled
) -> list[Quantity]:
    """Numbers of one site that share their pairs.

    Args:
        site: as `measures.csv` names it.
        similarities: [words, words] similarity of the assignment's words, by measure.
        known: [words] bool; False for words without a vector.
        pairs: classes of the pairs.
        labelled: the assignment.
    """
    states = pair_states(labelled.assignment, pairs.surface[labelled.position])
    states[~known] = NEITHER
    states[:, ~known] = NEITHER
    counted = states != NEITHER
    ones = counted.astype(np.float32)
    packed_pairs = pack_triangle(ones)
    quantities = []
    for measure, similarity in similarities.items():
        values = similarity * ones
        totals, counts = similarity_sums(values, states)
        quantities.append(
            Quantity(
                measure,
                site,
                mean(totals[0], counts[0]),
                mean(totals[1], counts[1]),
                int(counts[0]),
                int(counts[1]),
                ByTopic(values, counted),
                pack_triangle(values),
                packed_pairs,
                pmi_matched=(measure, site) == ("cosine", "word"),
                no_ratio=_CENTERED if measure == "cosine_centered" else "",
            )
        )
    return quantities


@dataclass(frozen=True)
class Similarities:
    """Similarity of every pair of words at one site.

    Attributes:
        cosine, dot: [words, words] float32, symmetric.
        known: [words] bool; False where a word has no vector (it does not occur in the probed passages).
    """

    cosine: np.ndarray
    dot: np.ndarray
    known: np.ndarray


def word_similarities(vectors: np.ndarray) -> Similarities:
    """Cosine similarity and dot product of all pairs of word vectors.

    Args:
        vectors: [words, width].
    """
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    return Similarities(_gram(unit), _gram(vectors), np.ones(len(vectors), dtype=bool))


def occurrence_similarities(vectors: np.ndarray, directions: np.ndarray, occurrences: np.ndarray) -> Similarities:
    """Similarity of all pairs of words, averaged over all pairs of their occurrences.

    The mean over pairs of occurrences is the product of the means.

    Args:
        vectors: [words, width] sum of each word's vectors.
        directions: [words, width] sum of each word's unit vectors.
        occurrences: [words] how many there are.
    """
    known = occurrences > 0
    count = np.maximum(occurrences, 1)[:, None]
    return Similarities(_gram(directions / count), _gram(vectors / count), known)


def _gram(vectors: np.ndarray) -> np.ndarray:
    return (vectors @ vectors.T).astype(np.float32)


def word_vectors(model: LoadedModel, words: np.ndarray, spelled: Spelled | None = None) -> np.ndarray:
    """Rows of the input embedding matrix W^E.

    Args:
        model: the model.
        words: [W] token ids; not used where the words are `spelled`.
        spelled: words of several tokens, whose rows are averaged.

    Returns:
        [W, width] float64.
    """
    weight = model.module.get_input_embeddings().weight
    ids = words if spelled is None else spelled.pieces
    with torch.inference_mode():
        rows = weight[torch.from_numpy(ids.astype(np.int64)).to(weight.device)].double().cpu().numpy()
    return rows if spelled is None else mean_rows(rows, spelled.lengths)


def mean_rows(rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Means of consecutive rows.

    Args:
        rows: [pieces, width].
        lengths: [W] how many rows each mean is of, 1 at least.
    """
    if not len(lengths):
        return np.zeros((0, rows.shape[1]))
    return np.add.reduceat(rows, np.cumsum(lengths) - lengths) / lengths[:, None]


def similarity_sums(similarity: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts over unordered pairs.

    Args:
        similarity: [words, words], symmetric.
        states: [words, words] the class of each pair, symmetric.

    Returns:
        [2] sums and [2] counts: same-topic, different-topic.
    """
    masks = [states == state for state in (SAME, DIFFERENT)]
    # Every unordered pair stands twice in a symmetric matrix.
    sums = [similarity.sum(where=mask, dtype=np.float64) / 2 for mask in masks]
    return np.array(sums), np.array([np.count_nonzero(mask) // 2 for mask in masks])


def similarity_sums_literal(vectors: np.ndarray, states: np.ndarray, cosine: bool) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts over unordered pairs, pair by pair, from the definition.

    Args:
        vectors: [words, width].
        states: [words, words] the class of each pair.
        cosine: cosine similarity; otherwise the dot product.
    """
    sums, counts = np.zeros(2), np.zeros(2, dtype=np.int64)
    for i in range(len(vectors)):
        for j in range(i + 1, len(vectors)):
            for column, state in enumerate((SAME, DIFFERENT)):
                if states[i, j] == state:
                    value = float(sum(a * b for a, b in zip(vectors[i], vectors[j], strict=True)))
                    if cosine:
                        value /= float(np.sqrt((vectors[i] ** 2).sum()) * np.sqrt((vectors[j] ** 2).sum()))
                    sums[column] += value
                    counts[column] += 1
    return sums, counts
