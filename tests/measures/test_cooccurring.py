"""The pairs that co-occur most are found exactly, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from probe.measures import cooccurring
from probe.measures.cooccurring import (
    pointwise_mutual_information,
    top_cooccurring,
    top_cooccurring_literal,
)
from probe.text.bags import Bags
from probe.text.vocabulary import Vocabulary


def _vocabulary(size, surfaces=None):
    flags = np.ones(size, dtype=bool)
    return Vocabulary([], surfaces or [f"s{i}" for i in range(size)], flags, flags, ~flags, "")


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 12), st.integers(1, 15), st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_top_pairs_equal_the_literal_reference(n, passages, size, seed):
    random = np.random.default_rng(seed)
    counts = random.poisson(random.gamma(0.5, 1, size=n), size=(passages, n))
    words = np.sort(random.choice(50, n, replace=False)).astype(np.int32)
    vocabulary = _vocabulary(50, [f"s{i // 2}" for i in range(50)])
    bags = Bags(csr_matrix(counts), words)
    before, cooccurring._FIRST_WORDS = cooccurring._FIRST_WORDS, 3
    try:
        found = top_cooccurring(bags, vocabulary, size)
    finally:
        cooccurring._FIRST_WORDS = before
    assert list(zip(found.first, found.second, found.passages, strict=True)) == top_cooccurring_literal(
        bags, vocabulary, size
    )


def test_pmi_of_independent_words_is_zero_and_of_strangers_minus_infinity():
    counts = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
    pmi = pointwise_mutual_information(Bags(csr_matrix(counts), np.arange(3)), np.arange(3))
    assert pmi[0, 1] == pytest.approx(0)
    assert pmi[0, 2] == -np.inf
