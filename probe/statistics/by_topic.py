"""What each topic adds to an effect: the same sums over pairs, split by topic.

Single assignment, where every word has one topic: a same-topic pair belongs to the topic of its words, and a
different-topic pair to the topics of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probe.statistics.estimate import divide


@dataclass(frozen=True)
class TopicEffects:
    """A quantity by topic.

    Attributes:
        words: [topics] words of each.
        same: [topics] mean over its same-topic pairs; NaN where it has none.
        different: [topics] mean over the different-topic pairs with one word in it; NaN where there are none.
        same_pairs, different_pairs: [topics] how many values they are made of.
        share: [topics] share of the effect: the excess of its same-topic pairs over the different-topic mean of all
            topics, as a share of that of all same-topic pairs. Shares add up to 1, and may be negative; NaN where the
            effect itself is not above 0.
    """

    words: np.ndarray
    same: np.ndarray
    different: np.ndarray
    same_pairs: np.ndarray
    different_pairs: np.ndarray
    share: np.ndarray


def topic_effects(sums: np.ndarray, pairs: np.ndarray, member: np.ndarray) -> TopicEffects:
    """Split a quantity by topic.

    Args:
        sums, pairs: packed triangles over W words: the sum of each pair, and how many values it is of.
        member: [topics, W] bool, one topic a word.
    """
    topics, topic = len(member), member.argmax(axis=0)
    high, low = np.tril_indices(len(topic), -1)
    first, second = topic[high], topic[low]
    alike = first == second

    def split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = values.astype(float)
        same = np.bincount(first[alike], values[alike], topics)
        apart = values[~alike]
        different = np.bincount(first[~alike], apart, topics) + np.bincount(second[~alike], apart, topics)
        return same, different

    (same, different), (same_pairs, different_pairs) = split(sums), split(pairs)
    # Every different-topic pair stands in two topics.
    elsewhere = float(divide(different.sum(), different_pairs.sum()))
    excess = same - same_pairs * elsewhere
    total = float(excess.sum())
    return TopicEffects(
        words=member.sum(axis=1),
        same=divide(same, same_pairs),
        different=divide(different, different_pairs),
        same_pairs=same_pairs.astype(np.int64),
        different_pairs=different_pairs.astype(np.int64),
        share=excess / total if total > 0 else np.full(topics, np.nan),
    )


def topic_effects_literal(values: np.ndarray, counts: np.ndarray, topic: Sequence[int], topics: int) -> TopicEffects:
    """`topic_effects`, one pair at a time, from the definition.

    Args:
        values, counts: [W, W] symmetric.
        topic: [W] the topic of each word.
        topics: how many there are.
    """
    words = np.array([sum(one == t for one in topic) for t in range(topics)])
    sums, numbers = np.zeros((2, topics)), np.zeros((2, topics))
    for i in range(len(topic)):
        for j in range(i):
            for t in {topic[i], topic[j]}:
                kind = 0 if topic[i] == topic[j] else 1
                sums[kind, t] += values[i, j]
                numbers[kind, t] += counts[i, j]
    all_different = [(values[i, j], counts[i, j]) for i in range(len(topic)) for j in range(i) if topic[i] != topic[j]]
    below = sum(count for _, count in all_different)
    elsewhere = sum(value for value, _ in all_different) / below if below else np.nan
    excess = [sums[0, t] - numbers[0, t] * elsewhere for t in range(topics)]
    share = [one / sum(excess) if sum(excess) > 0 else np.nan for one in excess]
    means = [[sums[k, t] / numbers[k, t] if numbers[k, t] else np.nan for t in range(topics)] for k in range(2)]
    return TopicEffects(
        words, np.array(means[0]), np.array(means[1]), numbers[0].astype(int), numbers[1].astype(int), np.array(share)
    )
