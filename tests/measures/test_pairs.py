"""Every pair of words is in the class its definition says, at every number of words per topic."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.measures.pairs import (
    DIFFERENT,
    NEITHER,
    SAME,
    pair_states,
    pair_states_literal,
    topic_pairs,
    triangle_index,
)
from probe.text.vocabulary import Vocabulary
from probe.topics.assignment import KINDS, Assignment, assign_topics


def _vocabulary(surfaces):
    size = len(surfaces)
    flags = np.ones(size, dtype=bool)
    return Vocabulary([f"t{i}" for i in range(size)], list(surfaces), flags, flags, ~flags, "")


@st.composite
def topic_words(draw, n):
    topics = draw(st.integers(1, 4))
    counts = draw(st.lists(st.lists(st.integers(0, 6), min_size=n, max_size=n), min_size=topics, max_size=topics))
    likelihoods = np.array(counts) + 0.1
    return likelihoods / likelihoods.sum(axis=1, keepdims=True)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_classes_equal_the_literal_reference_at_every_size(data):
    n = data.draw(st.integers(2, 12))
    surfaces = data.draw(st.lists(st.sampled_from("abcdefgh"), min_size=n, max_size=n))
    several = data.draw(st.lists(topic_words(n), min_size=1, max_size=3))
    sizes = data.draw(st.lists(st.integers(1, n), min_size=1, max_size=4))
    more = data.draw(st.sets(st.integers(0, n - 1)))
    pairs = topic_pairs(several, sizes, np.arange(n), _vocabulary(surfaces), more)
    for seed, topic_word in enumerate(several):
        for size in sizes:
            for kind in KINDS:
                # floor(theta n) + 1 is `size`.
                assignment = assign_topics(topic_word, (size - 0.5) / n, kind, seed)
                assert assignment.words_per_topic == size
                position = np.searchsorted(pairs.words, assignment.words)
                np.testing.assert_array_equal(pairs.words[position], assignment.words)
                literal = pair_states_literal(assignment.member, pairs.surface[position])
                np.testing.assert_array_equal(pair_states(assignment, pairs.surface[position]), literal)
                expected = np.zeros((len(pairs), len(pairs)), dtype=int)
                expected[np.ix_(position, position)] = literal
                high, low = np.tril_indices(len(pairs), -1)
                same, different = _found(pairs, high, low, assignment).T
                np.testing.assert_array_equal(same, expected[high, low] == SAME)
                np.testing.assert_array_equal(different, expected[high, low] == DIFFERENT)


def _found(pairs, high, low, assignment):
    """Whether each pair is same-topic and different-topic, of what the reader adds up."""
    levels = len(pairs.sizes)
    code = pairs.code[triangle_index(high, low)]
    columns = []
    for seed, first in enumerate(pairs.first):
        carries = np.maximum(first[high], first[low])[:, None] <= np.arange(levels)
        columns += [carries & (code != 1)[:, None], pairs.same[code][:, 2 * levels * seed : 2 * levels * (seed + 1)]]
    return pairs.classes(np.concatenate(columns, axis=1).astype(int), assignment)


def test_two_tokens_of_one_surface_are_never_different_words():
    member = np.array([[True, True, False], [False, False, True]])
    assignment = Assignment(0.1, "single", 0, 3, 2, np.arange(3), member)
    states = pair_states(assignment, np.array([0, 0, 1]))
    assert states[0, 1] == NEITHER and states[0, 0] == NEITHER and states[0, 2] == DIFFERENT
