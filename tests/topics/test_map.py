"""Topics on a map: shares that a mixture has, distances as defined, places that keep them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.topics.map import positions, topic_distances, topic_distances_literal, topic_shares


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 10_000))
def test_distances_equal_the_literal_reference(topics, words, seed):
    topic_word = np.random.default_rng(seed).dirichlet(np.full(words, 0.5), size=topics)
    np.testing.assert_allclose(topic_distances(topic_word), topic_distances_literal(topic_word), atol=1e-6)


def test_the_shares_of_a_known_mixture_are_found():
    random = np.random.default_rng(0)
    topic_word, share = random.dirichlet(np.full(200, 0.05), size=5), np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    counts = random.multinomial(100_000, share @ topic_word)
    np.testing.assert_allclose(topic_shares(topic_word, counts), share, atol=0.02)
    assert topic_shares(topic_word, np.zeros(200)).sum() == 1


def test_a_plane_keeps_the_distances_of_points_that_lie_on_one():
    points = np.random.default_rng(1).normal(size=(8, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    places = positions(distances)
    np.testing.assert_allclose(np.linalg.norm(places[:, None] - places, axis=2), distances, atol=1e-9)
    assert (places[np.abs(places).argmax(axis=0), [0, 1]] > 0).all()


def test_one_topic_and_topics_without_words_have_places():
    assert positions(topic_distances(np.ones((1, 3)))).shape == (1, 2)
    assert np.isfinite(positions(topic_distances(np.array([[0.0, 0], [1, 0], [0, 2]])))).all()
