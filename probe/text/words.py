"""Words of however many tokens: a dictionary of surfaces, made of the corpus.

A word is what the tokenizer's `word_ids` groups, without the tokens at its ends that hold neither letter nor digit. Its
surface is what its tokens spell together, case-folded, without punctuation at its ends; the rules that say which tokens
may carry a topic say it of surfaces. What punctuation divides (`don't`, `e.g`, where the tokenizer does not) may carry
one only if a part may. Several spellings of one surface (`Music`, `music`) are one word.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from probe.text.vocabulary import BEGINS, CONTINUES, NONE, Vocabulary, surface_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

MIN_COUNT = 5
"""A word that the corpus holds less often is left out, as in word2vec (Mikolov et al., 2013)."""
MARKS = "marks.i1"
"""The file of `tokenize` that says where words begin and go on; `number_words` replaces it."""
_BLOCK_TOKENS = 1 << 22
_DICTIONARY = "words.json"


@dataclass(frozen=True)
class Spelled:
    """Words as the tokenizer spells them.

    Attributes:
        pieces: token ids, word after word.
        lengths: [words] number of tokens of each.
    """

    pieces: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True)
class Words:
    """The words of a corpus by number.

    Attributes:
        surfaces: [words] case-folded.
        tokens: [words] the tokens of each word's most frequent spelling, with a space between.
        pieces: token ids of the same spellings, word after word.
        offsets: [words + 1] int64; word w has the tokens pieces[offsets[w]] to pieces[offsets[w + 1]].
    """

    surfaces: Sequence[str]
    tokens: Sequence[str]
    pieces: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.surfaces)

    @classmethod
    def of_tokens(cls, vocabulary: Vocabulary) -> Words:
        """Every token as a word of its own, numbered by its id."""
        size = len(vocabulary)
        return cls(vocabulary.surfaces, vocabulary.tokens, np.arange(size), np.arange(size + 1))

    @classmethod
    def load(cls, folder: Path, vocabulary: Vocabulary) -> Words:
        """The words of tokens that are kept in a folder: whole ones where `number_words` has been there."""
        path = folder / _DICTIONARY
        if not path.is_file():
            return cls.of_tokens(vocabulary)
        kept = json.loads(path.read_text(encoding="utf-8"))
        offsets = np.concatenate([[0], np.cumsum([len(spelling) for spelling in kept["pieces"]], dtype=np.int64)])
        pieces = np.array([piece for spelling in kept["pieces"] for piece in spelling], dtype=np.int64)
        tokens = [" ".join(vocabulary.tokens[piece] for piece in spelling) for spelling in kept["pieces"]]
        return cls(kept["surfaces"], tokens, pieces, offsets)

    def spelled(self, numbers: np.ndarray) -> Spelled:
        """Some words as the tokenizer spells them."""
        lengths = np.diff(self.offsets)[numbers]
        first = np.cumsum(lengths) - lengths
        within = np.arange(lengths.sum()) - np.repeat(first, lengths)
        return Spelled(self.pieces[np.repeat(self.offsets[numbers], lengths) + within], lengths)


def number_words(folder: Path, tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary) -> None:
    """Make the dictionary of a tokenized corpus, and give every occurrence of a word its number.

    Words are numbered by their surfaces in code point order. Memory grows with the number of distinct spellings.

    Args:
        folder: holds `ids.i4` and the marks of `probe.text.vocabulary.word_spans`; receives `words.i4` and `is_word.b1`
            (see `probe.text.tokens.Tokens`) and the dictionary.
        tokenizer, vocabulary: as the corpus was tokenized with.
    """
    ids = np.memmap(folder / "ids.i4", dtype=np.int32, mode="r")
    marks = np.memmap(folder / MARKS, dtype=np.int8, mode="r")
    # A spelling of one token has its id as number; those of several tokens come after.
    several: dict[bytes, int] = {}
    counts = np.zeros(len(vocabulary), dtype=np.int64)
    with (folder / "words.i4").open("wb") as file:
        for block in _blocks(marks):
            numbers = _spellings(ids[block], marks[block], several, len(vocabulary))
            here = np.bincount(numbers[numbers >= 0], minlength=len(counts))
            here[: len(counts)] += counts
            counts = here
            file.write(numbers.data)
    spellings = [*((token,) for token in range(len(vocabulary))), *(_tokens_of(key) for key in several)]
    words = _dictionary(spellings, counts, tokenizer, vocabulary)
    number_of = np.full(len(spellings), NONE, dtype=np.int32)
    for number, (_, kept) in enumerate(words):
        number_of[kept] = number
    numbers = np.memmap(folder / "words.i4", dtype=np.int32, mode="r+")
    with (folder / "is_word.b1").open("wb") as file:
        for block in _blocks(marks):
            part = numbers[block]
            numbers[block] = np.where(part >= 0, number_of[part], part)
            file.write((numbers[block] >= 0).data)
    numbers.flush()
    dictionary = {"surfaces": [surface for surface, _ in words], "pieces": [spellings[kept[0]] for _, kept in words]}
    (folder / _DICTIONARY).write_text(json.dumps(dictionary), encoding="utf-8")
    (folder / MARKS).unlink()


def _blocks(marks: np.ndarray) -> Iterator[slice]:
    """Parts of the corpus that split no word."""
    first = 0
    while first < len(marks):
        last = min(first + _BLOCK_TOKENS, len(marks))
        while last < len(marks) and marks[last] == CONTINUES:
            last += 1
        yield slice(first, last)
        first = last


def _spellings(ids: np.ndarray, marks: np.ndarray, several: dict[bytes, int], size: int) -> np.ndarray:
    """[tokens] int32 the number of the spelling that begins at each token; NONE or CONTINUES elsewhere."""
    numbers = np.where(marks == BEGINS, ids, marks).astype(np.int32)
    starts = np.flatnonzero(marks != CONTINUES)
    stops = np.append(starts[1:], len(marks))
    long = (stops - starts > 1) & (marks[starts] == BEGINS)
    text, width = ids.tobytes(), ids.itemsize
    numbers[starts[long]] = [
        several.setdefault(text[width * start : width * stop], size + len(several))
        for start, stop in zip(starts[long].tolist(), stops[long].tolist(), strict=True)
    ]
    return numbers


def _tokens_of(key: bytes) -> tuple[int, ...]:
    return tuple(np.frombuffer(key, dtype=np.int32).tolist())


def _dictionary(
    spellings: Sequence[tuple[int, ...]], counts: np.ndarray, tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary
) -> list[tuple[str, list[int]]]:
    """The surfaces that are words, sorted, and the spellings of each, the most frequent first."""
    of: dict[str, list[int]] = {}
    for spelling in np.flatnonzero(counts).tolist():
        surface = _word(spellings[spelling], tokenizer, vocabulary)
        if surface:
            of.setdefault(surface, []).append(spelling)
    frequent = {surface: kept for surface, kept in of.items() if counts[kept].sum() >= MIN_COUNT}
    return [
        (surface, sorted(kept, key=lambda one: (-counts[one], spellings[one])))
        for surface, kept in sorted(frequent.items())
    ]


def _word(spelling: Sequence[int], tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary) -> str:
    """The surface of a spelling; empty where it may not carry a topic."""
    if not vocabulary.special.isdisjoint(spelling):
        return ""
    if len(spelling) == 1:
        surface = vocabulary.surfaces[spelling[0]]
    else:
        surface = surface_of(tokenizer, [vocabulary.tokens[piece] for piece in spelling])
    parts = "".join(" " if unicodedata.category(one)[0] in "PS" else one for one in surface).split()
    if not any(map(vocabulary.can_be_word, parts)):
        return ""
    bare = surface[surface.index(parts[0]) : surface.rindex(parts[-1]) + len(parts[-1])]
    return bare if vocabulary.can_be_word(surface) and vocabulary.can_be_word(bare) else ""


def count_words_literal(
    texts: Collection[Sequence[tuple[int, ...]]], tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary
) -> list[tuple[str, tuple[int, ...]]]:
    """Surface and most frequent spelling of the words of a corpus, in the order of their numbers, from the definition.

    Args:
        texts: of each document the spellings of its words, from `word_spans_literal`.
        tokenizer, vocabulary: as the corpus was tokenized with.
    """
    spellings: dict[str, list[tuple[int, ...]]] = {}
    for text in texts:
        for spelling in text:
            spellings.setdefault(_word(spelling, tokenizer, vocabulary), []).append(spelling)
    found = []
    for surface, mine in sorted(spellings.items()):
        if surface and len(mine) >= MIN_COUNT:
            found.append((surface, min(set(mine), key=lambda one: (-mine.count(one), one))))
    return found
