"""On planted data with a known ratio, the 95 % interval holds it 90 to 99 % of 200 times."""

import numpy as np

from probe.measures.pairs import pack_triangle
from probe.statistics.bootstrap import TopicSplit, draw_weights, resample_documents, resample_topics
from probe.statistics.estimate import interval
from probe.statistics.matching import matched_by_topic, resample_matched

TIMES = 200
DRAWS = 300


def _share_held(held: list[bool]) -> float:
    assert len(held) == TIMES
    return sum(held) / TIMES


def test_document_bootstrap_of_attention():
    random = np.random.default_rng(11)
    held = []
    for _ in range(TIMES):
        # Documents differ in how many pairs they hold and in how much attention a pair of theirs gets.
        pairs = random.poisson(random.gamma(2, (4, 30), size=(100, 2)))
        level = random.gamma(4, 1 / 4, size=(100, 1))
        sums = pairs * level * np.array([1.5, 1.0]) * random.gamma(9, 1 / 9, size=(100, 2))
        means = resample_documents(sums, pairs, draw_weights(len(sums), DRAWS, 0))
        low, high = interval(means[:, 0] / means[:, 1])
        held.append(low <= 1.5 <= high)
    assert 0.90 <= _share_held(held) <= 0.99


def _planted_vectors(random: np.random.Generator, topics: int = 60, words: int = 8, width: int = 20):
    """Vectors m + u_topic + e_word with |m|^2 = 1 and E|u|^2 = 0.5: the ratio of dot products is 1.5."""
    mean = np.zeros(width)
    mean[0] = 1
    spread = random.gamma(4, 1 / 4, size=(topics, 1))
    topic = random.normal(size=(topics, width)) * np.sqrt(0.5 * spread / width)
    noise = random.normal(size=(topics * words, width)) * 0.2
    member = np.kron(np.eye(topics, dtype=bool), np.ones((1, words), dtype=bool))
    return mean + np.repeat(topic, words, axis=0) + noise, member


def test_topic_bootstrap_of_embeddings():
    random = np.random.default_rng(12)
    held = []
    for _ in range(TIMES):
        vectors, member = _planted_vectors(random)
        counted = ~np.eye(len(vectors), dtype=bool)
        same, different = resample_topics(
            TopicSplit(member, counted).sums(vectors @ vectors.T),
            TopicSplit(member, counted).sums(counted.astype(np.float32)),
            draw_weights(len(member), DRAWS, 0),
        )
        low, high = interval(same / different)
        held.append(low <= 1.5 <= high)
    assert 0.90 <= _share_held(held) <= 0.99


def test_topic_bootstrap_of_matched_pairs():
    """All of the effect of a stratum is planted in both classes; what the topic adds is a factor of 1.5."""
    random = np.random.default_rng(13)
    held = []
    for _ in range(TIMES):
        topics, words = 40, 8
        topic = np.repeat(np.arange(topics), words)
        same = topic[:, None] == topic
        # Same-topic pairs are more often in the high stratum, where every value is three times as large.
        strata = pack_triangle((random.random(same.shape) < np.where(same, 0.6, 0.1)).astype(np.int64))
        level = random.gamma(6, 1 / 6, size=topics)
        values = np.where(same, 1.5 * level[topic][:, None], 1.0) * random.gamma(2, 1 / 2, size=same.shape)
        packed = pack_triangle(values) * (1 + 2 * strata)
        cubes = matched_by_topic(packed, np.ones(len(packed)), strata, topic, topics)
        means = resample_matched(*cubes, draw_weights(topics, DRAWS, 0)).means()
        low, high = interval(means[0] / means[1])
        held.append(low <= 1.5 <= high)
    assert 0.90 <= _share_held(held) <= 0.99
