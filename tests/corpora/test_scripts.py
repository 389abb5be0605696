"""What docs/corpora.md says of scripts without spaces: what tokenizers take for words in them."""

import pytest
from tokenizers import normalizers, pre_tokenizers

TEXTS = {
    "Japanese": "日本は島国である。",
    "Chinese": "水星是金屬。",
    "Thai": "กรุงเทพเป็นเมือง",
    "German": "Es ist ein Metall.",
}
BERT = {
    "Japanese": ["日", "本", "は", "島", "国", "である", "。"],
    "Chinese": ["水", "星", "是", "金", "屬", "。"],
    "Thai": ["กรุงเทพเป็นเมือง"],
    "German": ["Es", "ist", "ein", "Metall", "."],
}
BYTE_LEVEL = {
    "Japanese": ["日本は島国である", "。"],
    "Chinese": ["水星是金屬", "。"],
    "Thai": ["กร", "ุ", "งเทพเป", "็", "นเม", "ื", "อง"],
    "German": ["Es", " ist", " ein", " Metall", "."],
}
SENTENCEPIECE = {
    "Japanese": ["▁日本は島国である。"],
    "Chinese": ["▁水星是金屬。"],
    "Thai": ["▁กรุงเทพเป็นเมือง"],
    "German": ["▁Es", "▁ist", "▁ein", "▁Metall."],
}


@pytest.mark.parametrize("language", TEXTS)
def test_what_is_a_word(language: str) -> None:
    text = TEXTS[language]
    normal = normalizers.BertNormalizer(lowercase=False).normalize_str(text)
    assert [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normal)] == BERT[language]
    spans = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    assert [text[start:end] for _, (start, end) in spans] == BYTE_LEVEL[language]
    assert [word for word, _ in pre_tokenizers.Metaspace().pre_tokenize_str(text)] == SENTENCEPIECE[language]
