"""Similarity of embeddings of words of one topic and words of different topics (paper, section 6.2).

Over all pairs of different words that carry topics: mean cosine similarity and mean dot product. Two sites: `word`,
the rows of the input embedding matrix W^E; `layer`, the output of the embedding layer averaged over a word's
occurrences in the probed passages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe.measures.pairs import DIFFERENT, SAME
from probe.models.loading import LoadedModel


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


def similarities(vectors: np.ndarray) -> Similarities:
    """Cosine similarity and dot product of all pairs.

    Args:
        vectors: [words, width]; a word without a vector has a row of NaN.
    """
    known = np.isfinite(vectors).all(axis=1)
    filled = np.where(known[:, None], vectors, 0.0)
    norms = np.linalg.norm(filled, axis=1, keepdims=True)
    unit = np.divide(filled, norms, out=np.zeros_like(filled), where=norms > 0)
    return Similarities((unit @ unit.T).astype(np.float32), (filled @ filled.T).astype(np.float32), known)


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


def layer_vectors(sums: np.ndarray, occurrences: np.ndarray) -> np.ndarray:
    """Mean output of the embedding layer for each word.

    Args:
        sums: [W, width] sums over occurrences.
        occurrences: [W] counts.

    Returns:
        [W, width]; NaN for a word that does not occur.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(occurrences[:, None] > 0, sums / occurrences[:, None], np.nan)


def similarity_sums(similarity: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts over unordered pairs.

    Args:
        similarity: [words, words], symmetric.
        states: [words, words] the class of each pair.

    Returns:
        [2] sums and [2] counts: same-topic, different-topic.
    """
    masks = [np.triu(states == state, 1) for state in (SAME, DIFFERENT)]
    sums = [similarity[mask].sum(dtype=np.float64) for mask in masks]
    return np.array(sums), np.array([mask.sum() for mask in masks])


def similarity_sums_literal(
    vectors: np.ndarray, states: np.ndarray, cosine: bool
) -> tuple[np.ndarray, np.ndarray]:
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
