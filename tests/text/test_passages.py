"""Documents are cut into passages without loss, and packed without waste."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.models.loading import load_tokenizer
from probe.models.sources import find_model
from probe.text.passages import cut_passages, pack, padding_share, sample_passages, special_tokens
from probe.text.tokens import Tokens


def _tokens(lengths):
    total = sum(lengths)
    return Tokens(
        ids=np.arange(total, dtype=np.int32),
        is_word=np.ones(total, dtype=bool),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        whole=np.arange(len(lengths)),
    )


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(4, 20))
def test_passages_cover_every_token_once_and_no_two_documents(lengths, max_length):
    tokens = _tokens(lengths)
    passages = cut_passages(tokens, max_length, 2)
    covered = [i for start, stop in zip(passages.start, passages.stop, strict=True) for i in range(start, stop)]
    assert covered == list(range(sum(lengths)))
    assert (passages.stop - passages.start <= max_length - 2).all()
    owner = np.repeat(np.arange(len(lengths)), lengths)
    for start, stop, document in zip(passages.start, passages.stop, passages.document, strict=True):
        assert (owner[start:stop] == document).all()


@given(st.lists(st.integers(1, 128), min_size=1, max_size=200), st.integers(1, 2048))
def test_packing_keeps_every_passage_within_the_budget(lengths, budget):
    lengths = np.array(lengths)
    batches = pack(lengths, budget)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= budget


def test_packing_pads_less_than_three_in_a_hundred():
    lengths = np.random.default_rng(0).integers(5, 129, size=2000)
    assert padding_share(lengths, pack(lengths, 4096)) < 0.03


def test_a_sample_is_seeded_and_kept_in_order():
    passages = cut_passages(_tokens([100] * 10), 12, 2)
    first, again, other = (sample_passages(passages, 20, seed) for seed in (1, 1, 2))
    assert first.start.tolist() == again.start.tolist() != other.start.tolist()
    assert (np.diff(first.start) > 0).all()
    assert len(sample_passages(passages, 10**6, 0)) == len(passages)


@pytest.mark.parametrize(("family", "before", "after"), [("bert", "[CLS]", "[SEP]"), ("roberta", "<s>", "</s>")])
def test_special_tokens_are_found(tiny_models, family, before, after):
    tokenizer = load_tokenizer(find_model(str(tiny_models(family))))
    found = special_tokens(tokenizer)
    assert tokenizer.convert_ids_to_tokens([*found.before, *found.after]) == [before, after]
    assert found.padding == tokenizer.pad_token_id


def test_a_length_without_room_for_text_is_refused():
    with pytest.raises(ProbeError, match="--max-length 3 leaves room"):
        cut_passages(_tokens([5]), 3, 2)
