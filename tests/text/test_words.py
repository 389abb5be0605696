"""Words of several tokens: their dictionary, and which occurrences there are."""

import json

import numpy as np
import pytest

from corpora import open_corpus
from probe.errors import ProbeError
from probe.models.loading import load_tokenizer
from probe.models.sources import find_model
from probe.text import tokens as tokens_module
from probe.text import words as words_module
from probe.text.bags import bags_of_words
from probe.text.tokens import Tokens, send_tokens, tokenize
from probe.text.vocabulary import build_vocabulary, word_spans_literal
from probe.text.words import MIN_COUNT, Words, count_words_literal

STOP_WORDS = {"the", "of", "and", "it", "don", "t", "s"}


def _whole(tokenizer, corpus, folder, ranks=None):
    vocabulary = build_vocabulary(tokenizer, STOP_WORDS)
    folder.mkdir(exist_ok=True)
    tokens = tokenize(open_corpus(str(corpus)), tokenizer, vocabulary, folder, ranks=ranks, several=True)
    return tokens, Words.load(folder, vocabulary), vocabulary


def _spellings_literal(ids, word_ids, vocabulary):
    """Where each word of a text begins, and its tokens."""
    found = []
    for place, mark in enumerate(word_spans_literal(ids, word_ids, vocabulary)):
        if mark == 0:
            found.append((place, [ids[place]]))
        elif mark == -2:
            found[-1][1].append(ids[place])
    return [(place, tuple(spelling)) for place, spelling in found]


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "llama"])
def test_the_dictionary_and_every_occurrence_equal_the_literal_reference(
    tiny_models, small_corpus, tmp_path, family, monkeypatch
):
    monkeypatch.setattr(words_module, "_BLOCK_TOKENS", 100)
    tokenizer = load_tokenizer(find_model(str(tiny_models(family))))
    short = tmp_path / "short.jsonl"
    lines = [{"text": document.text[:800]} for document in open_corpus(str(small_corpus))]
    short.write_text("\n".join(map(json.dumps, lines)))
    tokens, words, vocabulary = _whole(tokenizer, short, tmp_path / "tokens")
    texts = []
    for line in lines:
        encoding = tokenizer([line["text"]], add_special_tokens=False).encodings[0]
        word_ids = [-1 if word is None else word for word in encoding.word_ids]
        texts.append(_spellings_literal(encoding.ids, word_ids, vocabulary))
    expected = count_words_literal([[spelling for _, spelling in text] for text in texts], tokenizer, vocabulary)
    spelled = words.spelled(np.arange(len(words)))
    pieces = [tuple(one.tolist()) for one in np.split(spelled.pieces, np.cumsum(spelled.lengths)[:-1])]
    assert list(zip(words.surfaces, pieces, strict=True)) == expected
    assert max(spelled.lengths) > 1 and not STOP_WORDS & set(words.surfaces)
    number = {surface: place for place, surface in enumerate(words.surfaces)}
    found = tokens.words(0, len(tokens.ids))
    places = {
        tokens.offsets[document] + place: number[surface]
        for document, text in enumerate(texts)
        for place, spelling in text
        if (surface := words_module._word(spelling, tokenizer, vocabulary)) in number
    }
    assert dict(zip(np.flatnonzero(found >= 0), found[found >= 0], strict=True)) == places
    np.testing.assert_array_equal(np.flatnonzero(tokens.is_word), sorted(places))
    # What the topic model reads: every word at least as often as it must occur.
    bags = bags_of_words(tokens, tokens.offsets)
    np.testing.assert_array_equal(bags.words, np.arange(len(words)))
    counts = np.asarray(bags.counts.sum(axis=0)).ravel()
    assert counts.min() >= MIN_COUNT and counts.sum() == len(places)


@pytest.mark.parametrize("family", ["bert", "roberta", "albert"])
def test_surfaces_join_pieces_and_follow_the_rules_of_words(tiny_models, tmp_path, family):
    tokenizer = load_tokenizer(find_model(str(tiny_models(family))))
    text = "Zyxomma zyxomma (zyxomma), zyxomma! The zyxomma. It's q q q q q q 1862 1862 1862 1862 1862 don't Don't "
    lines = [{"text": text + "vwx-kjq."}, {"text": text * 4}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    _, words, _ = _whole(tokenizer, tmp_path / "corpus.jsonl", tmp_path / "tokens")
    # "vwx-kjq" is too rare, "don't" and "it's" are made of stop words, "q" is a letter, "1862" holds none.
    assert words.surfaces == ["zyxomma"]
    assert len(words.tokens[0].split()) > 1


def test_several_spellings_are_one_word_and_the_most_frequent_is_kept(tiny_models, tmp_path):
    tokenizer = load_tokenizer(find_model(str(tiny_models("roberta"))))
    (tmp_path / "corpus.jsonl").write_text(
        "\n".join(map(json.dumps, [{"text": "Zyxomma zyxomma"}, {"text": "a ZYXOMMA" + " zyxomma" * 3}]))
    )
    tokens, words, _ = _whole(tokenizer, tmp_path / "corpus.jsonl", tmp_path / "tokens")
    assert words.surfaces == ["zyxomma"] and tokens.is_word.sum() == 6
    # A marker that stands alone holds no letter, and is set aside.
    assert words.tokens[0].split() == [token for token in tokenizer.tokenize(" zyxomma") if token != "Ġ"]


def test_a_word_that_a_part_cuts_in_two_is_no_word_there():
    numbers = np.array([-2, 4, -1, 5, -2, -2, 6, 7], dtype=np.int32)
    tokens = Tokens(np.arange(8), numbers >= 0, np.array([0, 8]), np.zeros(1), numbers)
    assert tokens.complete_words(0, 8).tolist() == [-1, 4, -1, 5, -2, -2, 6, 7]
    assert tokens.complete_words(1, 5).tolist() == [4, -1, -1, -1]
    assert tokens.complete_words(4, 7).tolist() == [-1, -1, 6]
    assert tokens.complete_words(4, 6).tolist() == [-1, -1]


class _TwoRanks:
    """Two ranks in one process: what rank 1 has sent, rank 0 receives."""

    size = 2

    def __init__(self):
        self.rank, self.sent = 1, []

    def send(self, value):
        self.sent.append(value)

    def receive(self, rank):
        return self.sent.pop(0)


def test_two_ranks_make_the_files_of_one(tiny_models, small_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(tokens_module, "_BATCH_DOCUMENTS", 2)
    tokenizer = load_tokenizer(find_model(str(tiny_models("bert"))))
    _, _, vocabulary = _whole(tokenizer, small_corpus, tmp_path / "one")
    ranks = _TwoRanks()
    send_tokens(open_corpus(str(small_corpus)), tokenizer, vocabulary, ranks, several=True)
    assert ranks.sent
    ranks.rank = 0
    _whole(tokenizer, small_corpus, tmp_path / "two", ranks)
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert names == {"ids.i4", "is_word.b1", "words.i4", "words.json", "offsets.i8", "whole.i8"}
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_a_corpus_whose_words_are_all_rare_is_refused(tiny_models, tmp_path):
    tokenizer = load_tokenizer(find_model(str(tiny_models("bert"))))
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, [{"text": "state war"}, {"text": "state"}])))
    tokens, words, _ = _whole(tokenizer, tmp_path / "corpus.jsonl", tmp_path / "tokens")
    assert not len(words)
    with pytest.raises(ProbeError, match="occur fewer than 5 times"):
        bags_of_words(tokens, tokens.offsets)
