import pytest

from probe.errors import ProbeError
from probe.pretraining.architectures import FAMILIES
from probe.pretraining.tokenizers import train_tokenizer
from probe.text.passages import special_tokens

KINDS = {"bert": "WordPiece", "electra": "WordPiece", "albert": "Unigram", "bart": "BPE", "roberta": "BPE"}
SENTENCE = "The War of 1984, in the north."


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_has_its_own_kind_with_its_own_special_tokens(tokenizers, family):
    tokenizer = tokenizers[family]
    assert type(tokenizer.backend_tokenizer.model).__name__ == KINDS[family]
    assert len(tokenizer) <= 600
    specials = special_tokens(tokenizer)
    assert specials.before == (tokenizer.cls_token_id,) and specials.after == (tokenizer.sep_token_id,)
    assert specials.padding == tokenizer.pad_token_id
    cased = family in ("bart", "roberta")
    text = tokenizer.decode(tokenizer(SENTENCE)["input_ids"], skip_special_tokens=True).replace(" ", "")
    assert text == (SENTENCE if cased else SENTENCE.lower()).replace(" ", "")


def test_a_byte_level_tokenizer_is_the_same_whenever_it_is_trained(texts, tokenizers):
    again = train_tokenizer("roberta", texts, 600, 128)
    assert again.backend_tokenizer.to_str() == tokenizers["bart"].backend_tokenizer.to_str()


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_rare_characters_do_not_fill_the_vocabulary(texts, family):
    rare = "".join(chr(0x4E00 + number) for number in range(1000))
    tokenizer = train_tokenizer(family, [*texts, rare], 600)
    known = set("".join(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)))
    assert len(known) <= 128 + len("#▁") and set("etaoin") <= known


def test_no_piece_of_albert_crosses_from_letters_to_punctuation_or_digits(tokenizers):
    for token in tokenizers["albert"].get_vocab():
        kinds = {"letter" if c.isalpha() else "digit" if c.isdigit() else "other" for c in token.lstrip("▁")}
        assert len(kinds) <= 1 or token in tokenizers["albert"].all_special_tokens


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_a_corpus_without_text_is_refused(family):
    with pytest.raises(ProbeError, match="give more text"):
        train_tokenizer(family, [""], 600)
