"""A corpus as token ids, on disk.

Tokens are written as they come and read through a memory map, so memory does not grow with the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from probe.errors import ProbeError, refusing
from probe.text.vocabulary import CONTINUES, NONE, Vocabulary, whole_words, word_spans
from probe.text.words import MARKS, number_words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from corpora import Document

_BATCH_DOCUMENTS = 128
_BATCH_CHARACTERS = 2_000_000


class Sharing(Protocol):
    """The processes that tokenize a corpus together (see `probe.experiment.ranks.Ranks`)."""

    @property
    def rank(self) -> int:
        """Number of this process, from 0."""

    @property
    def size(self) -> int:
        """How many processes there are."""

    def send(self, value: Any) -> None:
        """Send something to rank 0."""

    def receive(self, rank: int) -> Any:
        """What another rank sends to this one."""


@dataclass(frozen=True)
class Tokens:
    """The token ids of a corpus, document after document, without special tokens.

    Attributes:
        ids: [tokens] int32.
        is_word: [tokens] bool; a word begins here (see `probe.text.vocabulary`).
        offsets: [documents + 1] int64; document d holds tokens offsets[d] to offsets[d + 1].
        whole: [documents] int64; equal for the parts of one very long document.
        numbers: [tokens] int32; of words of several tokens, what `words` gives (see `probe.text.words`). None where
            every word is one token, whose number is its id.
    """

    ids: np.ndarray
    is_word: np.ndarray
    offsets: np.ndarray
    whole: np.ndarray
    numbers: np.ndarray | None = None

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.offsets) - 1

    def words(self, start: int, stop: int) -> np.ndarray:
        """The words of a part of the corpus.

        Returns:
            [stop - start] int32: the number of the word that begins at each token; CONTINUES for its further tokens,
            NONE for other tokens. Tokens that go on with a NONE belong to no word.
        """
        if self.numbers is None:
            return np.where(self.is_word[start:stop], self.ids[start:stop], np.int32(NONE))
        return np.asarray(self.numbers[start:stop])

    def complete_words(self, start: int, stop: int) -> np.ndarray:
        """`words` without those that the ends of the part cut in two."""
        words = self.words(start, stop)
        if self.numbers is None or not len(words):
            return words
        words, begun = words.copy(), np.flatnonzero(words != CONTINUES)
        words[: begun[0] if len(begun) else None] = NONE
        if len(begun) and stop < len(self.ids) and self.numbers[stop] == CONTINUES:
            words[begun[-1] :] = NONE
        return words

    @classmethod
    def load(cls, folder: Path) -> Tokens:
        """Map the tokens that `tokenize` wrote into a folder."""
        numbers = folder / "words.i4"
        return cls(
            ids=np.memmap(folder / "ids.i4", dtype=np.int32, mode="r"),
            is_word=np.memmap(folder / "is_word.b1", dtype=bool, mode="r"),
            offsets=np.fromfile(folder / "offsets.i8", dtype=np.int64),
            whole=np.fromfile(folder / "whole.i8", dtype=np.int64),
            numbers=np.memmap(numbers, dtype=np.int32, mode="r") if numbers.is_file() else None,
        )


def tokenize(
    documents: Iterable[Document],
    tokenizer: PreTrainedTokenizerFast,
    vocabulary: Vocabulary,
    folder: Path,
    progress: Callable[[int], None] | None = None,
    ranks: Sharing | None = None,
    *,
    several: bool = False,
) -> Tokens:
    """Tokenize documents into a folder.

    Args:
        documents: in corpus order; a document without tokens is kept, empty.
        tokenizer: a fast tokenizer.
        vocabulary: of the same tokenizer.
        folder: receives `ids.i4`, `is_word.b1`, `offsets.i8`, `whole.i8`; for words of several tokens
            `words.i4` and their dictionary, too.
        progress: called with the number of documents done so far.
        ranks: of a run whose other ranks `send_tokens`; None for one process.
        several: a word may have several tokens.

    Raises:
        ProbeError: no document holds a token.
    """
    offsets = [0]
    whole: list[int] = []
    last: str | None = None
    found = MARKS if several else "is_word.b1"
    with (folder / "ids.i4").open("wb") as ids_file, (folder / found).open("wb") as word_file:
        for number, batch in enumerate(_batches(documents)):
            rank = number % ranks.size if ranks else 0
            encoded = ranks.receive(rank) if ranks and rank else _encoded(batch, tokenizer, vocabulary, several)
            ids_file.write(encoded.ids.tobytes())
            word_file.write(encoded.words.tobytes())
            for document, length in zip(batch, encoded.lengths, strict=True):
                offsets.append(offsets[-1] + length)
                whole.append(whole[-1] if document.whole == last else len(whole))
                last = document.whole
            if progress:
                progress(len(offsets) - 1)
    if offsets[-1] == 0:
        raise ProbeError("No document holds a token: check the corpus's text field and encoding.")
    # Not by tofile, which does not tell of a full disk.
    (folder / "offsets.i8").write_bytes(np.array(offsets, dtype=np.int64).data)
    (folder / "whole.i8").write_bytes(np.array(whole, dtype=np.int64).data)
    if several:
        number_words(folder, tokenizer, vocabulary)
    return Tokens.load(folder)


def send_tokens(
    documents: Iterable[Document],
    tokenizer: PreTrainedTokenizerFast,
    vocabulary: Vocabulary,
    ranks: Sharing,
    *,
    several: bool = False,
) -> None:
    """Tokenize this rank's share of the documents for rank 0, which must `tokenize` the same.

    Args:
        documents, tokenizer, vocabulary, several: as rank 0 has them.
        ranks: of the run.
    """
    for number, batch in enumerate(_batches(documents)):
        if number % ranks.size == ranks.rank:
            ranks.send(_encoded(batch, tokenizer, vocabulary, several))


@dataclass(frozen=True)
class _Encoded:
    """Documents as tokens: [tokens] ids, [tokens] flags or marks of words, and how many tokens each has."""

    ids: np.ndarray
    words: np.ndarray
    lengths: list[int]


def _encoded(
    batch: list[Document], tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary, several: bool
) -> _Encoded:
    # verbose=False: documents longer than the model's limit are cut into passages later.
    texts = [document.text for document in batch]
    with refusing(f"The tokenizer {tokenizer.name_or_path} fails on the corpus", "use an intact tokenizer.json"):
        encodings = tokenizer(texts, add_special_tokens=False, verbose=False).encodings
    find = word_spans if several else whole_words
    ids, words = [], []
    for encoding in encodings:
        ids.append(np.array(encoding.ids, dtype=np.int32))
        word_ids = np.array([-1 if word is None else word for word in encoding.word_ids], dtype=np.int64)
        words.append(find(ids[-1], word_ids, vocabulary))
    return _Encoded(np.concatenate(ids), np.concatenate(words), [len(part) for part in ids])


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if len(batch) == _BATCH_DOCUMENTS or size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
