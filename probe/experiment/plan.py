"""Stage three: which passages are probed, and which pairs of words are tracked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probe.errors import ProbeError
from probe.experiment.context import Context
from probe.experiment.topics import Topics
from probe.measures.batches import BatchMaker
from probe.measures.cooccurring import top_cooccurring
from probe.measures.pairs import topic_pairs
from probe.measures.protocol import Probed
from probe.text.passages import cut_passages, held_out, pack, sample_passages
from probe.topics.theta import THETAS, words_per_topic

# Every number of words per topic up to this one is summed, so that a changed theta needs no new pass.
_EVERY_SIZE_TO = 256


@dataclass(frozen=True)
class Plan:
    """What a pass reads.

    Attributes:
        batch_maker: of the probed passages.
        batches: indices of passages.
        probed: the tracked words and their pairs.
        largest_id: of any token of the corpus.
    """

    batch_maker: BatchMaker
    batches: list[np.ndarray]
    probed: Probed
    largest_id: int


def asked_sizes(thetas: Sequence[float], n: int) -> list[int]:
    """The numbers of words per topic, k, that a pass is made for: those that are asked for, and all up to 256.

    They reach at least to the widest theta of the paper, so that what is kept serves all of them.

    Args:
        thetas: that are asked for.
        n: size of the LDA dictionary.
    """
    asked = {words_per_topic(theta, n) for theta in thetas}
    widest = max(*asked, words_per_topic(max(THETAS), n))
    return sorted(asked | set(range(1, min(widest, _EVERY_SIZE_TO) + 1)))


def plan_pass(topics: Topics, sizes: Sequence[int], context: Context) -> Plan:
    """Choose the passages, and classify the pairs of words.

    Args:
        topics: of the corpus.
        sizes: numbers of words per topic.
        context: of the run.

    Raises:
        ProbeError: the passages come from one document.
    """
    settings, text = context.settings, topics.text
    passages = cut_passages(text.tokens, settings.max_length, len(text.specials))
    if settings.held_out:
        passages = passages[held_out(passages)]
    passages = sample_passages(passages, settings.passages, settings.seed)
    documents = len(np.unique(passages.document))
    if documents < 2:
        raise ProbeError(
            f"The {len(passages)} probed passages come from one document, and intervals are drawn over documents: "
            "raise --passages or give more documents."
        )
    top = top_cooccurring(topics.bags, text.words, sizes[-1] * (sizes[-1] - 1) // 2)
    more_words = {*top.first.tolist(), *top.second.tolist()}
    pairs = topic_pairs(topics.topic_word, sizes, topics.bags.words, text.words, more_words)
    batch_maker = BatchMaker(text.tokens, passages, text.specials, pairs.words, len(text.words))
    batches = pack(batch_maker.lengths, settings.batch_tokens)
    probed = Probed(pairs, top, documents, text.words.spelled(pairs.words))
    return Plan(batch_maker, batches, probed, int(text.tokens.ids.max()))
