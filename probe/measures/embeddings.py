"""Similarity of embeddings of words of one topic and words of different topics (paper, section 6.2).

Over all pairs of different words that carry topics: mean cosine similarity and mean dot product. Two sites: `word`,
the rows of the input embedding matrix W^E; `layer`, the output of the embedding layer, where the similarity of two
words is averaged over all pairs of their occurrences in the probed passages. (The cosine of two averaged vectors would
grow with the words' frequency: averaging removes what position and neighbours add, so at random weights frequent words
come out more alike, and a topic of frequent words looks like topic structure.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from probe.measures.pairs import DIFFERENT, SAME

if TYPE_CHECKING:
    from probe.models.loaded import LoadedModel


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


def word_vectors(model: LoadedModel, words: np.ndarray) -> np.ndarray:
    """Rows of the input embedding matrix W^E.

    Args:
        model: the model.
        words: [W] token ids.

    Returns:
        [W, width] float64.
    """
    import torch

    weight = model.module.get_input_embeddings().weight
    with torch.inference_mode():
        return weight[torch.from_numpy(words.astype(np.int64)).to(weight.device)].double().cpu().numpy()


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
