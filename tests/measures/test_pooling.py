"""Words of several tokens are pooled as their definition says, whatever batch they stand in."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.measures.batches import BatchMaker
from probe.measures.embeddings import mean_rows
from probe.measures.pooling import Pooling, pool_attention_literal
from probe.text.passages import Passages, SpecialTokens
from probe.text.tokens import Tokens


@st.composite
def corpora(draw):
    """Passages of one document, cut without regard to words, and words of up to four tokens."""
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    numbers = []
    while len(numbers) < sum(lengths):
        word = draw(st.integers(-1, 5))
        numbers += [word] + [-2] * (draw(st.integers(0, 3)) if word >= 0 else 0)
    numbers = np.array(numbers[: sum(lengths)], dtype=np.int32)
    stops = np.cumsum(lengths)
    tokens = Tokens(np.arange(len(numbers)), numbers >= 0, np.array([0, len(numbers)]), np.zeros(1, int), numbers)
    return tokens, Passages(stops - lengths, stops, np.zeros(len(lengths), int))


LABELLED = np.array([1, 2, 4])


def _words_literal(tokens, start, stop, before):
    """(place among the labelled, positions) of the labelled words that lie in a passage as a whole."""
    found = []
    for place in range(start, stop):
        number = tokens.numbers[place]
        if number in LABELLED:
            last = place + 1
            while last < len(tokens.numbers) and tokens.numbers[last] == -2:
                last += 1
            if last <= stop:
                positions = [position - start + before for position in range(place, last)]
                found.append((int(np.searchsorted(LABELLED, number)), positions))
    return found


@settings(max_examples=100, deadline=None)
@given(corpora(), st.integers(0, 1), st.integers(0, 2**32 - 1))
def test_pooled_attention_and_vectors_equal_the_literal_reference(corpus, before, seed):
    tokens, passages = corpus
    specials = SpecialTokens((11,) * before, (12,), 13)
    maker = BatchMaker(tokens, passages, specials, LABELLED, 6)
    everything = np.arange(len(passages))
    batch, alone = maker(everything), maker.alone()(everything)
    expected = [
        _words_literal(tokens, start, stop, before) for start, stop in zip(passages.start, passages.stop, strict=True)
    ]
    several = any(len(positions) > 1 for words in expected for _, positions in words)
    assert (batch.pieces is not None) == several
    for row, words in enumerate(expected):
        known = batch.words[row] >= 0
        assert batch.words[row][known].tolist() == [word for word, _ in words]
        assert batch.rows[row][known].tolist() == [positions[0] for _, positions in words]
    for name in ("words", "rows"):
        assert torch.equal(getattr(batch, name), getattr(alone, name))
    if not several:
        return
    assert torch.equal(batch.pieces.rows, alone.pieces.rows) and torch.equal(batch.pieces.of, alone.pieces.of)
    length, random = batch.input_ids.shape[1], torch.Generator().manual_seed(seed)
    maps = torch.rand((len(passages), 2, length, length), generator=random)
    hidden = torch.rand((len(passages), length, 3), generator=random)
    pooling = Pooling.of(batch, batch.pieces, 0, 0)
    between = torch.stack(
        [maps[row][:, q][:, :, k] for row, (q, k) in enumerate(zip(*[pooling.queries] * 2, strict=True))]
    )
    found = pooling.attention(between, slice(None))
    vectors = pooling.vectors(torch.stack([hidden[row, at] for row, at in enumerate(pooling.queries)]))
    for row, words in enumerate(expected):
        positions = [one for _, one in words]
        literal = pool_attention_literal(maps[row].numpy(), positions, positions)
        np.testing.assert_allclose(found[row, :, : len(words), : len(words)], literal, rtol=1e-5)
        for place, one in enumerate(positions):
            np.testing.assert_allclose(vectors[row, place], hidden[row, one].numpy().mean(axis=0), rtol=1e-5)


def test_uniform_attention_gives_each_word_a_share_for_each_of_its_tokens():
    """Why: what a word spreads over the passage adds up to 1, however its neighbours are cut."""
    numbers = np.array([1, -2, -2, 2, 4, -2], dtype=np.int32)
    tokens = Tokens(np.arange(6), numbers >= 0, np.array([0, 6]), np.zeros(1, int), numbers)
    batch = BatchMaker(tokens, Passages(*np.array([[0], [6], [0]])), SpecialTokens((), (), 0), LABELLED, 6)(
        np.arange(1)
    )
    pooling = Pooling.of(batch, batch.pieces, 0, 0)
    found = pooling.attention(torch.full((1, 1, 6, 6), 1 / 6), slice(None))
    np.testing.assert_allclose(found[0, 0], np.tile([3 / 6, 1 / 6, 2 / 6], (3, 1)), rtol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 4), max_size=6), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_mean_rows_equal_a_loop(lengths, width, seed):
    rows = np.random.default_rng(seed).normal(size=(sum(lengths), width))
    expected, rest = [], rows
    for length in lengths:
        expected.append(sum(rest[:length]) / length)
        rest = rest[length:]
    found = mean_rows(rows, np.array(lengths, dtype=np.int64))
    assert found.shape == (len(lengths), width)
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), rtol=1e-12, atol=1e-12)


def test_words_of_one_token_are_their_own_rows():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_array_equal(mean_rows(rows, np.ones(5, dtype=np.int64)), rows)
    assert pool_attention_literal(np.eye(2)[None], [[0], [1]], [[0], [1]]).tolist() == [[[1, 0], [0, 1]]]
    with pytest.raises(ZeroDivisionError):
        pool_attention_literal(np.eye(2)[None], [[]], [[0]])
