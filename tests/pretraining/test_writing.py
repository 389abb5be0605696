"""A tokenizer keeps what a language's words cannot do without."""

import pytest

from corpora.text import clean
from probe.pretraining.tokenizers import train_tokenizer
from probe.pretraining.writing import Writing, writing_of

# Sentences of our own, each with what stripping accents, cleaning or English small letters would spoil.
TEXTS = {
    "hi": "नदी के किनारे बच्चे खेलते हैं और किसान खेतों में काम करते हैं। शक्‌ति और विद्या ज़रूरी हैं।",
    "th": "น้ำ ใน แม่น้ำ ไหล เร็ว และ เด็ก เล่น ที่ ริม ฝั่ง กำลัง ทำ อาหาร",
    "vi": "Của cải của người nông dân là ruộng lúa, còn trẻ em thì thả diều trên bờ sông.",
    "tr": "Işık İstanbul'un üstüne düşünce çocuklar kıyıda oynar, ISI artar ve İNCİR olgunlaşır.",
    "fa": "کودکان می‌خواهند کنار رودخانه بازی کنند و کتاب‌ها را می‌خوانند.",
    "ar": "يلعبُ الأطفالُ قربَ النهر ويقرأُ المعلِّمُ كتابًا قديمًا عن البحر.",
    "he": "הַיְלָדִים משחקים ליד הנהר והמורה קורא ספר ישן על הים.",
    "bn": "নদীর ধারে শিশুরা খেলা করে এবং কৃষকরা মাঠে কাজ করেন। বিদ্যুৎ ও বাংলা ভাষা।",
    "ko": "아이들은 강가에서 놀고 농부들은 밭에서 일하며 선생님은 오래된 책을 읽는다.",
    "ja": "子供たちは川のそばで遊び、先生は古い本を読む。ガラスのコップでお茶を飲んだ。",
    "zh": "孩子们在河边玩耍，农民在田里工作，老师读一本关于大海的旧书。",
    "ru": "Дети играют у реки, ещё йод и ёлка; учитель читает старую книгу о море.",
    "el": "Τα παιδιά παίζουν δίπλα στο ποτάμι και ο δάσκαλος διαβάζει ένα παλιό βιβλίο.",
    "es": "Los niños están más allá del río; el año pasado leí más en español.",
}
SMALL = {"tr": str.maketrans({"I": "ı", "İ": "i"})}


def _bare(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("family", ["bert", "albert", "roberta"])
@pytest.mark.parametrize("language", TEXTS)
def test_words_survive_encode_and_decode(language, family):
    text = clean(TEXTS[language])[0]
    texts = [text] * 20
    tokenizer = train_tokenizer(family, texts, 600, writing=writing_of(language, texts))
    small = text if family == "roberta" else text.translate(SMALL.get(language, {})).lower()
    decoded = tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True)
    assert _bare(decoded) == _bare(small)
    if language in ("ja", "zh"):
        return
    encoding = tokenizer([small], add_special_tokens=False).encodings[0]
    # Each word, punctuation aside, is one word to the tokenizer: no vowel sign or joiner breaks it.
    for word in small.replace("'", " ").split():
        word = word.strip("।.,;")
        at = small.index(word)
        assert len({encoding.char_to_word(place) for place in range(at, at + len(word))} - {None}) == 1, word


def test_the_language_decides_the_text_overrules_a_wrong_one_and_a_flag_overrules_both():
    english, hindi = ["The café is old."], [TEXTS["hi"]]
    assert writing_of("en", english) == Writing(strip_accents=True)
    assert not writing_of("fr", english).strip_accents and not writing_of("vi-VN", english).strip_accents
    assert not writing_of("en", hindi).strip_accents
    assert writing_of("en", hindi, True).strip_accents and not writing_of("en", english, False).strip_accents
    assert writing_of("tr-TR", english).turkish_case
    assert [writing_of("en", [TEXTS[one]]).many_letters for one in ("zh", "ja", "ko", "hi", "ru")] == [True] * 3 + [
        False
    ] * 2
    assert writing_of("en", []) == Writing(strip_accents=False)
