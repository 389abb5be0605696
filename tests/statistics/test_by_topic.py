"""An effect split by topic: equal to the pair-by-pair reference, and adding up to the whole."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.statistics.bootstrap import pack_triangle
from probe.statistics.by_topic import topic_effects, topic_effects_literal


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(1, 4), st.integers(0, 10_000))
def test_it_equals_the_literal_reference(words, topics, seed):
    random = np.random.default_rng(seed)
    topic = random.integers(topics, size=words)
    values, counts = random.normal(1, 1, (words, words)), random.integers(0, 3, (words, words))
    values, counts = values + values.T, counts + counts.T
    member = np.arange(topics)[:, None] == topic
    found = topic_effects(pack_triangle(values), pack_triangle(counts), member)
    expected = topic_effects_literal(values, counts, topic.tolist(), topics)
    for name in vars(expected):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name)


def test_shares_add_up_to_one_and_a_topic_like_the_others_adds_nothing():
    topic = np.repeat([0, 1, 2], 4)
    values = np.where(topic[:, None] == topic, np.array([3.0, 1.0, 2.0])[topic], 1.0)
    ones = np.ones_like(values)
    member = np.arange(3)[:, None] == topic
    found = topic_effects(pack_triangle(values), pack_triangle(ones), member)
    np.testing.assert_allclose(found.share, [2 / 3, 0, 1 / 3])
    np.testing.assert_allclose(found.same, [3, 1, 2])
    assert np.isnan(topic_effects(pack_triangle(-values), pack_triangle(ones), member).share).all()
