"""Batches: padding, labelled positions, and the debias where a row is causal."""

import dataclasses
import itertools

import numpy as np
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.measures.batches import BatchMaker
from probe.measures.pairs import topic_pairs
from probe.models.loading import load_model
from probe.models.sources import find_model
from probe.statistics.bootstrap import draw_weights, resample_documents
from probe.statistics.estimate import interval
from probe.text.passages import Passages, SpecialTokens, cut_passages
from probe.text.tokens import Tokens
from probe.text.vocabulary import Vocabulary
from probe.topics.assignment import assign_topics
from tests.measures.eager import read


def test_causal_attention_at_random_weights_gives_one_with_the_debias_of_each_row_alone(tmp_path):
    """Documents whose lead keeps to one topic: words of one topic stand early, in rows that see few keys.

    Random weights are not quite uniform, and the same for all documents: a few models miss 1 by more than the
    documents vary, none by a thousandth.
    """
    random = np.random.default_rng(0)
    topic_of_word = np.arange(100) % 10
    documents = []
    for topic in random.integers(10, size=60):
        lead, length = random.integers(4, 33), random.integers(40, 65)
        words = random.integers(100, size=length)
        of_topic = random.random(length) < np.where(np.arange(length) < lead, 0.8, 0.05)
        words[of_topic] = random.choice(np.flatnonzero(topic_of_word == topic), size=of_topic.sum())
        documents.append(words)
    offsets = np.cumsum([0, *map(len, documents)])
    ids = np.concatenate(documents).astype(np.int32)
    tokens = Tokens(ids, np.ones(len(ids), dtype=bool), offsets, np.arange(len(documents)))
    member = topic_of_word == np.arange(10)[:, None]
    flags = np.ones(100, dtype=bool)
    vocabulary = Vocabulary([], [f"w{i}" for i in range(100)], flags, flags, ~flags, "")
    topic_word = np.where(member, 0.1, 1e-9)
    assignment = assign_topics(topic_word, 0.095, "single")
    assert assignment.words_per_topic == 10 and len(assignment.words) == 100
    pairs = topic_pairs([topic_word], [10], np.arange(100), vocabulary)
    maker = BatchMaker(tokens, cut_passages(tokens, 64, 0), SpecialTokens((), (), 0), pairs.words, 100)
    batches = np.array_split(np.arange(len(documents)), 4)
    config = transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=2, vocab_size=100, n_positions=64, bos_token_id=0, eos_token_id=0
    )
    config.save_pretrained(tmp_path)
    source = find_model(str(tmp_path))

    def ratio_interval(model):
        sums = read(model, maker, batches, pairs)
        parts = [pairs.classes(part, assignment) for part in (sums.documents, sums.document_pairs)]
        same, different = resample_documents(*parts, draw_weights(len(parts[0]), 500, 0)).T
        return interval(same / different)

    holds_one = 0
    for seed in range(5):
        model = load_model(source, "random", random_state=seed)
        low, high = ratio_interval(model)
        assert 0.999 < low < high < 1.001
        holds_one += low < 1 < high
        low, high = ratio_interval(dataclasses.replace(model, causal=False))
        assert low > 1.4
    assert holds_one >= 3


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_padding_side_and_labelled_positions_of_a_batch(data):
    """Batches are padded on the right, whatever the tokenizer does, and name every labelled word once."""
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    ids = np.array(data.draw(st.lists(st.integers(0, 9), min_size=sum(lengths), max_size=sum(lengths))), dtype=np.int32)
    is_word = np.array(data.draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids))))
    offsets = np.cumsum([0, *lengths])
    labelled = np.array([2, 3, 7])
    tokens = Tokens(ids, is_word, offsets, np.arange(len(lengths)))
    passages = Passages(offsets[:-1], offsets[1:], np.arange(len(lengths)))
    batch = BatchMaker(tokens, passages, SpecialTokens((11,), (12,), 13), labelled, 10)(np.arange(len(lengths)))
    for row, (start, stop) in enumerate(itertools.pairwise(offsets)):
        text = [11, *ids[start:stop], 12]
        assert batch.input_ids[row].tolist() == text + [13] * (batch.input_ids.shape[1] - len(text))
        assert batch.attention_mask[row].tolist() == [1] * len(text) + [0] * (batch.input_ids.shape[1] - len(text))
        expected = [
            (1 + place, int(np.searchsorted(labelled, token)))
            for place, token in enumerate(ids[start:stop])
            if is_word[start + place] and token in labelled
        ]
        found = [(r, w) for r, w in zip(batch.rows[row].tolist(), batch.words[row].tolist(), strict=True) if w >= 0]
        assert found == expected
