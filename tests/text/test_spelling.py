"""Tokens as text: nothing is lost, and every word stands where its span says."""

import pytest

from probe.models.loading import load_tokenizer
from probe.models.sources import find_model
from probe.text.spelling import spell

TEXTS = ["Music, art and WAR.", "日本 and العربية 😀 here", "naïve café"]


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "gpt2", "llama"])
def test_spans_spell_the_words(family, tiny_models):
    tokenizer = load_tokenizer(find_model(str(tiny_models(family))))
    for written in TEXTS:
        ids = tokenizer(written, add_special_tokens=False)["input_ids"]
        text, spans = spell(ids, tokenizer)
        assert text == tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        assert len(spans) == len(ids)
        assert all(0 <= start <= end <= len(text) for start, end in spans)
        assert [start for start, _ in spans] == sorted(start for start, _ in spans)
        # What the tokens spell one after the other is the text but for white space.
        together = "".join(text[start:end] for start, end in spans)
        assert "".join(together.split()) == "".join(text.split())
        if family == "gpt2":
            assert text == written
