"""Which tokens are words, for each kind of tokenizer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from probe.errors import ProbeError
from probe.models.loading import load_tokenizer
from probe.models.sources import find_model
from probe.text.vocabulary import (
    BEGINS,
    CONTINUES,
    Vocabulary,
    build_vocabulary,
    whole_words,
    whole_words_literal,
    word_spans,
    word_spans_literal,
)


def _words(tokenizer, text, stop_words=()):
    vocabulary = build_vocabulary(tokenizer, stop_words)
    encoding = tokenizer([text], add_special_tokens=False).encodings[0]
    ids = np.array(encoding.ids)
    found = whole_words(ids, np.array([-1 if w is None else w for w in encoding.word_ids]), vocabulary)
    return [vocabulary.surfaces[token] for token in ids[found]]


@pytest.mark.parametrize("family", ["bert", "albert", "roberta", "llama"])
def test_a_word_is_a_token_that_spells_one_whole_word(tiny_models, family):
    tokenizer = load_tokenizer(find_model(str(tiny_models(family))))
    found = _words(tokenizer, "The state ( state ) , states , state. x 1862 zqxj state", {"the"})
    # "The" is a stop word, "x" a single letter, "1862" holds no letter, "zqxj" takes several tokens.
    assert found.count("state") == 4
    assert not set(found) & {"the", "x", "1862", "zqxj"}


def test_punctuation_beside_a_sentencepiece_word_does_not_split_it(tiny_models):
    tokenizer = load_tokenizer(find_model(str(tiny_models("albert"))))
    tokens = tokenizer.tokenize("the state.")
    assert tokens[-1] == "." and not tokens[-1].startswith("▁")
    assert "state" in _words(tokenizer, "the state.")


def test_a_tokenizer_that_never_splits_its_text_has_words_by_their_marker_and_by_line(tiny_models):
    """Llama 2's kind: `word_ids()` says that the whole text is one word."""
    tokenizer = load_tokenizer(find_model(str(tiny_models("llama"))))
    text = "state war\nstate\n\nwar, state."
    encoding = tokenizer([text], add_special_tokens=False).encodings[0]
    assert set(encoding.word_ids) == {0}
    # The first word of a line has no marker, and in so small a vocabulary takes two tokens.
    assert _words(tokenizer, text) == ["state", "war", "state"]


@pytest.mark.parametrize("family", ["roberta", "llama"])
def test_a_word_with_a_letter_in_bytes_is_no_word(tiny_models, family):
    tokenizer = load_tokenizer(find_model(str(tiny_models(family))))
    assert _words(tokenizer, " war warø war") == ["war", "war"]


def test_byte_level_tokens_with_and_without_space_have_one_surface(tiny_models):
    vocabulary = build_vocabulary(load_tokenizer(find_model(str(tiny_models("roberta")))), ())
    places = [i for i, surface in enumerate(vocabulary.surfaces) if surface == "the"]
    assert {vocabulary.tokens[i] for i in places} >= {"The", "Ġthe"}


def test_minilm_words_hold_no_fragment_stop_word_or_single_letter():
    tokenizer = load_tokenizer(find_model("minilm"))
    found = _words(tokenizer, "Don't music's musicality war-time é 東 x² [MASK]", {"don", "s", "t"})
    assert "music" in found and "war" in found and "time" in found
    assert not {"don", "s", "t", "é", "e"} & set(found)


def test_a_slow_tokenizer_is_refused_with_the_reason():
    class Slow:
        is_fast = False

    with pytest.raises(ProbeError, match=r"slow tokenizer.*word_ids"):
        build_vocabulary(Slow(), ())


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_words_of_one_token_and_of_several_equal_the_literal_references(data):
    size = 8
    flags = st.lists(st.booleans(), min_size=size, max_size=size)
    vocabulary = Vocabulary(
        tokens=[str(i) for i in range(size)],
        surfaces=[data.draw(st.sampled_from(["", "x"])) for _ in range(size)],
        may_be_word=np.array(data.draw(flags)),
        has_text=np.array(data.draw(flags)),
        starts_word=np.array(data.draw(flags)),
        fingerprint="",
    )
    ids = data.draw(st.lists(st.integers(0, size - 1), max_size=30))
    steps = data.draw(st.lists(st.integers(0, 1), min_size=len(ids), max_size=len(ids)))
    word_ids = np.cumsum(steps, dtype=np.int64) - 1
    found = whole_words(np.array(ids, dtype=np.int64), word_ids, vocabulary)
    assert found.tolist() == whole_words_literal(ids, word_ids.tolist(), vocabulary)
    spans = word_spans(np.array(ids, dtype=np.int64), word_ids, vocabulary)
    assert spans.tolist() == word_spans_literal(ids, word_ids.tolist(), vocabulary)
    # What is a word of one token is one of however many.
    assert (spans[found] == BEGINS).all() and not (spans[1:][found[:-1]] == CONTINUES).any()


def test_a_vowel_sign_alone_is_part_of_its_word():
    pieces = ["[UNK]", "नद", "##ी", "घर", "."]
    tokenizer = Tokenizer(models.WordPiece({piece: place for place, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    assert _words(PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]"), "नदी घर.") == ["घर"]
