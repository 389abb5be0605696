"""Similarities over all pairs equal a double loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.measures.embeddings import (
    occurrence_similarities,
    similarity_sums,
    similarity_sums_literal,
    word_similarities,
)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_sums_equal_the_literal_reference(words, width, seed):
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(words, width)) + 0.5
    states = np.triu(random.integers(0, 3, size=(words, words)), 1)
    states = (states + states.T).astype(np.uint8)
    found = word_similarities(vectors)
    for values, cosine in ((found.cosine, True), (found.dot, False)):
        sums, counts = similarity_sums(values, states)
        expected, expected_counts = similarity_sums_literal(vectors, states, cosine)
        np.testing.assert_allclose(sums, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(counts, expected_counts)


def test_layer_similarity_is_the_mean_over_pairs_of_occurrences():
    random = np.random.default_rng(0)
    occurrences = [random.normal(size=(count, 5)) + 1 for count in (3, 1, 4)]
    unit = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in occurrences]
    found = occurrence_similarities(
        np.array([one.sum(axis=0) for one in occurrences] + [np.zeros(5)]),
        np.array([one.sum(axis=0) for one in unit] + [np.zeros(5)]),
        np.array([3, 1, 4, 0]),
    )
    assert found.known.tolist() == [True, True, True, False]
    for i in range(3):
        for j in range(3):
            assert found.cosine[i, j] == pytest.approx(np.mean([a @ b for a in unit[i] for b in unit[j]]), rel=1e-5)
            assert found.dot[i, j] == pytest.approx(
                np.mean([a @ b for a in occurrences[i] for b in occurrences[j]]), rel=1e-5
            )
