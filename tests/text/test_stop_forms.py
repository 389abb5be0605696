"""Stop words are known in the form in which a tokenizer writes them."""

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from corpora.stop_words import stop_words
from probe.text.vocabulary import build_vocabulary, is_stop_word, stop_forms

NORMALIZERS = {
    "uncased": normalizers.BertNormalizer(lowercase=True),
    "cased": normalizers.BertNormalizer(lowercase=False, strip_accents=False),
    "unigram": normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]),
    "decomposed": normalizers.NFD(),
    "llama": normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
    "none": None,
}
# Words of a sentence that are stop words, and one that is none, as they may stand in a text.
SENTENCES = {
    "vi": ("của không Những được với", "nước"),
    "tr": ("için İçin İÇİN çünkü Çünkü ÇÜNKÜ nasıl Nasıl NASIL", "ışık"),
    "fr": ("été été ÉTÉ même à Où où", "forêt"),
    "es": ("más también Él está QUÉ", "montaña"),
    "de": ("für über Über daß DASS könnte", "flüsse"),
    "el": ("ώστε αλλά από Από", "θάλασσα"),
    "pl": ("być się też już", "źródło"),
    "hi": ("में और है", "नदी"),
    "fa": ("می از که", "رودخانه"),
    "ru": ("ещё Ещё который", "йод"),
}


def _tokenizer(kind: str, words: list[str]) -> PreTrainedTokenizerFast:
    normalizer = NORMALIZERS[kind]
    entries = dict.fromkeys(normalizer.normalize_str(word) if normalizer else word for word in words)
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(["[UNK]", *entries])}, "[UNK]"))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")


@pytest.mark.parametrize("kind", NORMALIZERS)
@pytest.mark.parametrize("language", SENTENCES)
def test_no_stop_word_carries_a_topic_whatever_the_tokenizer_does_to_it(kind, language):
    stopped, word = SENTENCES[language]
    vocabulary = build_vocabulary(_tokenizer(kind, [*stopped.split(), word]), stop_words(language).words)
    left = [vocabulary.surfaces[index] for index in range(len(vocabulary)) if vocabulary.may_be_word[index]]
    normalizer = NORMALIZERS[kind]
    assert left == [(normalizer.normalize_str(word).strip("▁") if normalizer else word).casefold()]


def test_a_run_of_japanese_particles_is_a_stop_word_and_a_word_in_hiragana_is_none():
    forms = stop_words("ja").words
    assert all(is_stop_word(run, forms) for run in ("に", "には", "である", "されている"))
    assert not any(is_stop_word(word, forms) for word in ("さくら", "うさぎ", "日", "ガラス", ""))


def test_both_forms_are_taken():
    forms = stop_forms(_tokenizer("uncased", ["a"]), {"için", "été"})
    assert {"için", "icin", "été", "ete", "i̇çin"} <= forms


def test_where_no_form_is_in_the_vocabulary_the_fingerprint_is_as_before():
    tokenizer = _tokenizer("uncased", ["music", "the"])
    assert (
        build_vocabulary(tokenizer, {"the"}).fingerprint
        == build_vocabulary(tokenizer, {"the"}).fingerprint
        != build_vocabulary(tokenizer, {"thé"}).fingerprint
    )
