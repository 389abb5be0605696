"""Every pair of words is in the class its definition says."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.measures.pairs import DIFFERENT, NEITHER, SAME, pair_states, pair_states_literal, topic_pairs
from probe.topics import Assignment
from probe.vocabulary import Vocabulary


def _vocabulary(surfaces):
    size = len(surfaces)
    flags = np.ones(size, dtype=bool)
    return Vocabulary([f"t{i}" for i in range(size)], list(surfaces), flags, flags, ~flags, "")


@st.composite
def assignments(draw, n):
    chosen = np.array(sorted(draw(st.sets(st.integers(0, n - 1), min_size=1))))
    topics = draw(st.integers(1, 4))
    member = np.array(
        [[draw(st.booleans()) for _ in chosen] for _ in range(topics)]
        + [[True] * len(chosen)][: draw(st.integers(0, 1))]
    )
    kept = member.any(axis=0)
    return Assignment(0.1, "multiple", 0, n, 1, chosen[kept], member[:, kept])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_classes_equal_the_literal_reference_for_every_assignment(data):
    n = data.draw(st.integers(2, 12))
    surfaces = data.draw(st.lists(st.sampled_from("abcdefgh"), min_size=n, max_size=n))
    several = data.draw(st.lists(assignments(n), min_size=1, max_size=6))
    assume(any(len(assignment.words) > 1 for assignment in several))
    pairs = topic_pairs(several, np.arange(n), _vocabulary(surfaces))
    for column, (assignment, position) in enumerate(zip(several, pairs.position, strict=True)):
        np.testing.assert_array_equal(pairs.words[position], assignment.words)
        literal = pair_states_literal(assignment.member, pairs.surface[position])
        np.testing.assert_array_equal(pair_states(assignment, pairs.surface[position]), literal)
        expected = np.zeros((len(pairs), len(pairs)), dtype=int)
        expected[np.ix_(position, position)] = literal
        classes = pairs.classes[pairs.code]
        np.testing.assert_array_equal(classes[..., 2 * column], expected == SAME)
        np.testing.assert_array_equal(classes[..., 2 * column + 1], expected == DIFFERENT)


def test_two_tokens_of_one_surface_are_never_different_words():
    member = np.array([[True, True, False], [False, False, True]])
    assignment = Assignment(0.1, "single", 0, 3, 2, np.arange(3), member)
    pairs = topic_pairs([assignment], np.arange(3), _vocabulary(["music", "music", "war"]))
    states = pair_states(assignment, pairs.surface)
    assert states[0, 1] == NEITHER and states[0, 0] == NEITHER and states[0, 2] == DIFFERENT


def test_no_two_words_with_a_topic_is_refused_with_the_way_out():
    nothing = Assignment(0.1, "single", 0, 3, 1, np.arange(1), np.ones((1, 1), dtype=bool))
    with pytest.raises(ProbeError, match="No two words carry a topic"):
        topic_pairs([nothing], np.arange(3), _vocabulary("abc"))
