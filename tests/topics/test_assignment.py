"""The ambiguity filter keeps floor(theta n) + 1 words a topic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.topics.assignment import assign_topics, words_per_topic


def test_k_is_the_papers_for_its_vocabulary():
    assert [words_per_topic(theta, 29_250) for theta in (0.0005, 0.001, 0.002)] == [15, 30, 59]
    assert [k * (k - 1) // 2 for k in (15, 30, 59)] == [105, 435, 1711]


def test_k_is_exact_where_floats_are_not():
    # 0.0007 * 30_000 is 20.999999999999996 in floating point.
    assert words_per_topic(0.0007, 30_000) == 22
    assert words_per_topic(0.29, 100) == 30


@pytest.mark.parametrize("theta", [0, 1, 2, -0.1, float("nan")])
def test_theta_out_of_range_is_refused(theta):
    with pytest.raises(ProbeError, match="--theta"):
        words_per_topic(theta, 100)


@given(st.integers(2, 6), st.integers(10, 40), st.integers(0, 2**32 - 1), st.floats(0.01, 0.5))
def test_single_keeps_a_word_where_it_is_likeliest_and_multiple_everywhere(topics, n, seed, theta):
    topic_word = np.random.default_rng(seed).dirichlet(np.ones(n), size=topics)
    k = words_per_topic(theta, n)
    multiple = assign_topics(topic_word, theta, "multiple")
    single = assign_topics(topic_word, theta, "single")
    assert multiple.words_per_topic == k
    np.testing.assert_array_equal(single.words, multiple.words)
    for column, word in enumerate(multiple.words):
        keeping = [
            t
            for t in range(topics)
            if word in sorted(range(n), key=lambda w: -topic_word[t, w])[:k]
            and topic_word[t, word] > 2 * topic_word[t].min()
        ]
        assert np.flatnonzero(multiple.member[:, column]).tolist() == keeping
        best = max(keeping, key=lambda t: topic_word[t, word])
        assert np.flatnonzero(single.member[:, column]).tolist() == [best]


def test_a_topic_keeps_no_word_that_it_was_never_given():
    counts = np.full((3, 50), 0.01)
    counts[0, :10], counts[1, 10:14] = 5, 5  # the third topic was left empty
    topic_word = counts / counts.sum(axis=1, keepdims=True)
    found = assign_topics(topic_word, 0.1, "multiple")
    assert found.words_per_topic == 6
    assert found.member.sum(axis=1).tolist() == [6, 4, 0]
    assert found.words.tolist() == [0, 1, 2, 3, 4, 5, 10, 11, 12, 13]
