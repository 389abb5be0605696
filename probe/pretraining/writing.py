"""How a language is written, as far as a tokenizer must know it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from corpora.languages import base_language

_LOOKED_AT = 200_000
_DOCUMENTS = 200
# Latin script whose words stay apart without accents. In French, Spanish, Vietnamese and most others they do not (ete,
# mas, cua); in other scripts accents are vowel signs, tone marks (Hindi, Thai) or parts of letters.
_NOTHING_LOST = {"en", "id", "ms", "sw", "la", "so", "zu", "st"}
_TURKIC = {"tr", "az"}
_MANY = 0.2
_THOUSANDS_OF_LETTERS = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA", "ETHIOPIC", "YI")


@dataclass(frozen=True)
class Writing:
    """What decides a tokenizer besides its kind.

    Attributes:
        strip_accents: accents are taken off; where not, combining marks belong to their words.
        turkish_case: the small letters of I and \u0130 are \u0131 and i.
        many_letters: the script has thousands of letters or syllables.
    """

    strip_accents: bool = True
    turkish_case: bool = False
    many_letters: bool = False


def writing_of(language: str, texts: Iterable[str], strip_accents: bool | None = None) -> Writing:
    """How texts are written.

    Args:
        language: what the corpus says it is (ISO 639). Text that is mostly not in Latin script keeps its accents
            whatever it says.
        texts: the corpus; its start is looked at.
        strip_accents: overrules the language.
    """
    start, left = Counter[str](), _LOOKED_AT
    for text in islice(texts, _DOCUMENTS):
        start.update(text[:left])
        left -= len(text)
        if left <= 0:
            break
    scripts = Counter[str]()
    for letter, count in start.items():
        if letter.isalpha():
            scripts[unicodedata.name(letter, "").partition(" ")[0]] += count
    letters = scripts.total() or 1
    base = base_language(language)
    if strip_accents is None:
        strip_accents = base in _NOTHING_LOST and scripts["LATIN"] > letters / 2
    many = sum(scripts[name] for name in _THOUSANDS_OF_LETTERS) > _MANY * letters
    return Writing(strip_accents, base in _TURKIC, many)
