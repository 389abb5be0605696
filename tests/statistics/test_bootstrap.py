"""Intervals, nulls and what is withheld."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.measures.pairs import pack_triangle, shared_topics
from probe.statistics.bootstrap import TopicSplit, draw_weights, resample_documents, resample_topics
from probe.statistics.estimate import Estimate, interval, p_value
from probe.statistics.matching import matched_by_topic, resample_matched
from probe.statistics.permutation import permutation_null, permutation_null_literal, permutations


@settings(max_examples=50, deadline=None)
@given(st.integers(4, 9), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_null_equals_the_literal_reference(words, topics, seed):
    random = np.random.default_rng(seed)
    member = np.zeros((topics, words), dtype=bool)
    member[random.integers(topics, size=words), np.arange(words)] = True
    sums, pairs = (
        _symmetric(random.random((words, words))),
        _symmetric(random.integers(1, 4, (words, words))),
    )
    for strata in (None, random.integers(0, 2, size=words)):
        orders = list(permutations(words, strata, 20, seed))
        found = permutation_null([pack_triangle(sums)], [pack_triangle(pairs)], member, orders)
        expected = permutation_null_literal(sums, pairs, member, orders)
        np.testing.assert_allclose([mean[0] for mean in found], expected, rtol=1e-4)
        if strata is not None:
            assert all((strata[order] == strata).all() for order in orders)


def _symmetric(matrix):
    return matrix + matrix.T


@settings(max_examples=50, deadline=None)
@given(st.integers(4, 12), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_sums_by_topic_add_up_to_all_pairs_once(words, topics, seed):
    random = np.random.default_rng(seed)
    member = random.random((topics, words)) < 0.5
    member[random.integers(topics, size=words), np.arange(words)] = True
    counted = ~np.eye(words, dtype=bool)
    values = _symmetric(random.random((words, words)))
    shared = shared_topics(member)
    found = TopicSplit(member, counted).sums(values)
    assert found.same.sum() == pytest.approx(values[counted & (shared > 0)].sum() / 2, rel=1e-4)
    assert found.different.sum() == pytest.approx(values[counted & (shared == 0)].sum() / 2, rel=1e-4)


def test_bootstrap_over_documents_has_the_spread_of_fresh_samples():
    random = np.random.default_rng(1)
    fresh = [random.gamma(2, size=(300, 1)).mean() for _ in range(400)]
    draws = resample_documents(random.gamma(2, size=(300, 1)), np.ones((300, 1)), draw_weights(300, 2000, 0))
    assert draws.std() == pytest.approx(np.std(fresh), rel=0.2)


def test_bootstrap_over_topics_draws_topics_and_not_pairs():
    # All spread lies between topics: 10 topics of 20 words each, every pair of a topic alike.
    member = np.kron(np.eye(10, dtype=bool), np.ones((1, 20), dtype=bool))
    level = np.repeat(np.arange(10.0), 20)
    values = np.minimum(level[:, None], level) + 1
    counted = ~np.eye(200, dtype=bool)
    same, _ = resample_topics(
        TopicSplit(member, counted).sums(values),
        TopicSplit(member, counted).sums(np.ones_like(values)),
        draw_weights(10, 2000, 0),
    )
    assert same.std() == pytest.approx(np.arange(10).std() / np.sqrt(10), rel=0.1)


def _estimate(different, deviation):
    random = np.random.default_rng(0)
    return Estimate(
        same=1.0,
        different=different,
        same_pairs=5,
        different_pairs=5,
        same_draws=random.normal(1, 0.1, 1000),
        different_draws=random.normal(different, deviation, 1000),
    )


def test_a_ratio_over_a_mean_near_zero_is_withheld_with_the_reason():
    assert _estimate(1.0, 0.1).ratio == 1.0
    for estimate in (_estimate(0.0, 0.1), _estimate(0.1, 0.1), _estimate(-0.25, 0.1)):
        assert np.isnan(estimate.ratio)
        assert "not clearly away from zero" in estimate.withheld


def test_p_value_counts_the_observed_and_interval_the_central_share():
    assert p_value(2.0, np.linspace(0, 1, 99)) == 0.01
    assert p_value(-1.0, np.linspace(0, 1, 99)) == 1.0
    assert interval(np.arange(1001.0)) == pytest.approx((25.0, 975.0))


def test_matching_compares_within_strata_and_leaves_out_the_unmatched():
    topic = np.array([0, 0, 1, 1, 2])
    pairs = {(1, 0): (0, 6.0), (2, 0): (0, 2.0), (2, 1): (0, 4.0), (3, 0): (1, 9.0), (3, 2): (2, 50.0)}
    values, strata, counts = np.zeros(10), np.zeros(10, dtype=int), np.zeros(10)
    for (i, j), (stratum, value) in pairs.items():
        place = i * (i - 1) // 2 + j
        values[place], strata[place], counts[place] = value, stratum, 1
    matched = resample_matched(*matched_by_topic(values, counts, strata, topic, 3), np.ones((1, 3)))
    same, different = matched.means()
    # The pair (3, 2) is same-topic, but nothing in its stratum is different-topic.
    assert (same[0], different[0]) == (6.0, 3.0)
    assert matched.matched_share[0] == 0.5


def test_pairs_of_one_document_give_no_interval_and_no_ratio():
    sums, pairs = np.array([[3.0, 2.0], [0.0, 0.0], [0.0, 1.0]]), np.array([[2, 2], [0, 0], [0, 1]])
    draws = resample_documents(sums, pairs, draw_weights(len(sums), 50, 0))
    assert np.isnan(draws[:, 0]).all()
    assert np.isfinite(draws[:, 1]).any()
    estimate = Estimate(1.5, 1.0, 2, 3, draws[:, 0], draws[:, 1])
    assert np.isnan(estimate.ratio)
    assert "lie in one document" in estimate.withheld
