"""Which tokens are words.

A word is a token that may carry a topic: it alone spells one whole word of the text, it holds a letter, and it
is no special token, no stop word and no single Latin letter. Whether a token spells a whole word depends on
where it stands (`music` in "music" and in "musical"), so that part is decided per occurrence. Words of several tokens
follow the same rules (`word_spans`, and `probe.text.words`).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from probe.errors import ProbeError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_METASPACE = "▁"
_BROKEN = "�"
_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_HIRAGANA = re.compile("[\u3041-\u3096\u30fc]+")
_TURKISH_CAPITALS = str.maketrans({"i": "İ", "ı": "I"})
# Arrays are as long as the highest id; the largest vocabularies hold some 300,000 tokens.
_MOST_IDS = 10_000_000
BEGINS, NONE, CONTINUES = 0, -1, -2
"""What stands at each token: the beginning of a word, no word, or more of the word that begins before it."""


class Surfaces(Protocol):
    """Words by number: tokens by id, or the words of a corpus (`probe.text.words.Words`)."""

    @property
    def surfaces(self) -> Sequence[str]:
        """What each is without a marker, case-folded; equal surfaces are the same word."""


@dataclass(frozen=True)
class Vocabulary:
    """What a tokenizer's entries say by themselves, indexed by token id.

    Attributes:
        tokens: [size] the entries as the tokenizer writes them.
        surfaces: [size] the entries without the tokenizer's marker, case-folded.
        may_be_word: [size] bool; the entry holds a letter and is no special token, stop word or single Latin
            letter.
        has_text: [size] bool; the entry holds a letter, a digit or a mark (a vowel sign), or bytes that may be part of
            one.
        starts_word: [size] bool; the entry begins with SentencePiece's space marker.
        fingerprint: hash of the tokenizer's own definition and of the stop words.
        special: ids of special tokens.
        stop_words: case-folded, as the tokenizer writes them, too.
    """

    tokens: list[str]
    surfaces: list[str]
    may_be_word: np.ndarray
    has_text: np.ndarray
    starts_word: np.ndarray
    fingerprint: str
    special: frozenset[int] = frozenset()
    stop_words: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def is_blank(self) -> np.ndarray:
        """[size] bool; the entry is white space (a line break, for a tokenizer that does not split at it)."""
        return np.array([not surface for surface in self.surfaces], dtype=bool)

    def can_be_word(self, surface: str) -> bool:
        """Whether a surface holds a letter and is no stop word or single Latin letter."""
        return _can_be_word(surface, self.stop_words)


def build_vocabulary(tokenizer: PreTrainedTokenizerFast, stop_words: Collection[str]) -> Vocabulary:
    """Read a fast tokenizer's entries.

    Args:
        tokenizer: a fast tokenizer.
        stop_words: case-folded words that never carry a topic.

    Raises:
        ProbeError: the tokenizer is slow, so it cannot say which tokens make up a word.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ProbeError(
            f"{type(tokenizer).__name__} is a slow tokenizer and cannot tell which tokens spell one word "
            "(word_ids): use a model with a fast tokenizer (a tokenizer.json)."
        )
    tokens = _entries(tokenizer)
    special = frozenset(tokenizer.all_special_ids)
    continuation = _continuation(tokenizer)
    surfaces = [_surface(tokenizer, [token], continuation) for token in tokens]
    stopped = stop_forms(tokenizer, stop_words)
    may_be_word = [index not in special and _can_be_word(surface, stopped) for index, surface in enumerate(surfaces)]
    # Forms that are in no list count only where the tokenizer has them.
    other_forms = sorted({one for one in surfaces if is_stop_word(one, stopped)}.difference(stop_words))
    definition = tokenizer.backend_tokenizer.to_str() + "\n".join([*sorted(stop_words), *other_forms])
    return Vocabulary(
        tokens=tokens,
        surfaces=surfaces,
        may_be_word=np.array(may_be_word, dtype=bool),
        has_text=np.array([_has_text(surface) for surface in surfaces], dtype=bool),
        starts_word=np.array([token.startswith(_METASPACE) for token in tokens], dtype=bool),
        fingerprint=hashlib.sha256(definition.encode()).hexdigest()[:32],
        special=special,
        stop_words=stopped,
    )


def stop_forms(tokenizer: PreTrainedTokenizerFast, stop_words: Collection[str]) -> frozenset[str]:
    """Stop words as they stand in a list, and as a tokenizer writes them.

    A tokenizer may strip accents (`cua` for the Vietnamese `của`), compose, or change case. Capitals are passed
    through it as well, those of Turkish, too: the capital of `i` is `İ`, whose small letter has a dot more.

    Args:
        tokenizer: a fast tokenizer.
        stop_words: case-folded words.

    Returns:
        Case-folded forms.
    """
    normalizer = tokenizer.backend_tokenizer.normalizer
    forms: set[str] = set()
    for word in stop_words:
        capitals = word.translate(_TURKISH_CAPITALS).upper()
        for written in (word, capitals[:1] + word[1:], capitals):
            forms.add(written.casefold())
            if normalizer is not None:
                forms.add(normalizer.normalize_str(written).strip(_METASPACE + " ").casefold())
    forms.discard("")
    return frozenset(forms)


def is_stop_word(surface: str, forms: Collection[str]) -> bool:
    """Whether a surface is a stop word in a form that lists do not have.

    Lists of Greek stop words are written without accents, and texts with them. Japanese particles and endings follow
    each other without a space: a run of hiragana that is one stop word after another (`には`, `である`) is one.

    Args:
        surface: case-folded.
        forms: from `stop_forms`.
    """
    if surface in forms:
        return True
    if _GREEK.search(surface):
        bare = "".join(letter for letter in unicodedata.normalize("NFD", surface) if not unicodedata.combining(letter))
        return bare in forms
    if not _HIRAGANA.fullmatch(surface):
        return False
    reached = {0}
    for end in range(1, len(surface) + 1):
        if any(surface[start:end] in forms for start in reached):
            reached.add(end)
    return len(surface) in reached


def _entries(tokenizer: PreTrainedTokenizerFast) -> list[str]:
    """The entries by token id; empty where an id is left out."""
    size = max(len(tokenizer), 1 + max(tokenizer.get_vocab().values(), default=-1))
    if size > _MOST_IDS:
        raise ProbeError(
            f"The tokenizer {tokenizer.name_or_path} has a token with the id {size - 1}, beyond {_MOST_IDS:,}: use an "
            "intact tokenizer.json."
        )
    return [token or "" for token in tokenizer.convert_ids_to_tokens(range(size))]


def surface_of(tokenizer: PreTrainedTokenizerFast, tokens: Sequence[str]) -> str:
    """What the tokens of one word spell together, without the tokenizer's marker, case-folded."""
    return _surface(tokenizer, tokens, _continuation(tokenizer))


def _continuation(tokenizer: PreTrainedTokenizerFast) -> str:
    return getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None) or ""


def _surface(tokenizer: PreTrainedTokenizerFast, tokens: Sequence[str], continuation: str) -> str:
    bare = [tokens[0].removeprefix(continuation), *tokens[1:]]
    return tokenizer.convert_tokens_to_string(bare).strip().casefold()


def _has_text(surface: str) -> bool:
    # A vowel sign of Hindi or Thai is no letter to Python, and yet part of a word.
    return _BROKEN in surface or any(one.isalnum() or unicodedata.category(one)[0] == "M" for one in surface)


def _can_be_word(surface: str, stop_words: frozenset[str]) -> bool:
    if _BROKEN in surface or not any(map(str.isalpha, surface)):
        return False
    if len(surface) == 1 and "LATIN" in unicodedata.name(surface, ""):
        return False
    return not is_stop_word(surface, stop_words)


def whole_words(ids: np.ndarray, word_ids: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """Which occurrences spell one whole word of the text and may carry a topic.

    An occurrence counts when its word (in `word_ids()` of a fast tokenizer) has exactly one token once tokens
    without a letter, digit or mark are set aside. A token that begins with SentencePiece's space marker begins a word,
    and so does what follows white space, even where the tokenizer does not split its text into words (Llama 2).

    Args:
        ids: [tokens] token ids of one text.
        word_ids: [tokens] the index of the word each token belongs to; -1 for none.
        vocabulary: of the same tokenizer.

    Returns:
        [tokens] bool.
    """
    word = _grouped(ids, word_ids, vocabulary)
    has_text = vocabulary.has_text[ids]
    alone = np.bincount(word, weights=has_text)[word] == 1
    return alone & has_text & (word_ids >= 0) & vocabulary.may_be_word[ids]


def word_spans(ids: np.ndarray, word_ids: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """Where words of however many tokens begin and go on.

    Tokens are grouped as for `whole_words`; those without a letter or digit at either end of a group are set aside.

    Args:
        ids, word_ids, vocabulary: as for `whole_words`.

    Returns:
        [tokens] int8: BEGINS, CONTINUES or NONE.
    """
    word = _grouped(ids, word_ids, vocabulary)
    with_text = np.flatnonzero(vocabulary.has_text[ids] & (word_ids >= 0))
    first = np.full(word[-1] + 1 if len(word) else 0, len(ids))
    last = np.full_like(first, -1)
    np.minimum.at(first, word[with_text], with_text)
    np.maximum.at(last, word[with_text], with_text)
    here, first, last = np.arange(len(ids)), first[word], last[word]
    marks = np.where((here > first) & (here <= last), CONTINUES, NONE)
    return np.where(here == first, BEGINS, marks).astype(np.int8)


def _grouped(ids: np.ndarray, word_ids: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """[tokens] int64 number of each token's word in its text."""
    begins = np.ones(len(ids), dtype=bool)
    begins[1:] = (np.diff(word_ids) != 0) | vocabulary.starts_word[ids[1:]] | vocabulary.is_blank[ids[:-1]]
    return np.cumsum(begins) - 1


def whole_words_literal(ids: Sequence[int], word_ids: Sequence[int], vocabulary: Vocabulary) -> list[bool]:
    """`whole_words`, one occurrence at a time."""
    result = []
    for here, token in enumerate(ids):
        with_text = _with_text_literal(here, ids, word_ids, vocabulary)
        result.append(with_text == [here] and word_ids[here] >= 0 and bool(vocabulary.may_be_word[token]))
    return result


def word_spans_literal(ids: Sequence[int], word_ids: Sequence[int], vocabulary: Vocabulary) -> list[int]:
    """`word_spans`, one token at a time."""
    result = []
    for here in range(len(ids)):
        with_text = _with_text_literal(here, ids, word_ids, vocabulary)
        if word_ids[here] < 0 or not with_text or not with_text[0] <= here <= with_text[-1]:
            result.append(NONE)
        else:
            result.append(BEGINS if here == with_text[0] else CONTINUES)
    return result


def _with_text_literal(here: int, ids: Sequence[int], word_ids: Sequence[int], vocabulary: Vocabulary) -> list[int]:
    """The places with text in the word around a place."""

    def begins(place: int) -> bool:
        return (
            place == 0
            or word_ids[place] != word_ids[place - 1]
            or bool(vocabulary.starts_word[ids[place]])
            or not vocabulary.surfaces[ids[place - 1]]
        )

    first = here
    while not begins(first):
        first -= 1
    last = here + 1
    while last < len(ids) and not begins(last):
        last += 1
    return [place for place in range(first, last) if vocabulary.has_text[ids[place]]]
