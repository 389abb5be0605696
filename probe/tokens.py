"""A corpus as token ids, on disk.

Tokens are written as they come and read through a memory map, so memory does not grow with the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from probe.errors import ProbeError
from probe.vocabulary import Vocabulary, whole_words

if TYPE_CHECKING:
    from corpora import Document
    from transformers import PreTrainedTokenizerFast

_BATCH_DOCUMENTS = 128
_BATCH_CHARACTERS = 2_000_000


@dataclass(frozen=True)
class Tokens:
    """The token ids of a corpus, document after document, without special tokens.

    Attributes:
        ids: [tokens] int32.
        is_word: [tokens] bool; this occurrence is a word (see `probe.vocabulary`).
        offsets: [documents + 1] int64; document d holds tokens offsets[d] to offsets[d + 1].
    """

    ids: np.ndarray
    is_word: np.ndarray
    offsets: np.ndarray

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.offsets) - 1

    @classmethod
    def load(cls, folder: Path) -> Tokens:
        """Map the tokens that `tokenize` wrote into a folder."""
        return cls(
            ids=np.memmap(folder / "ids.i4", dtype=np.int32, mode="r"),
            is_word=np.memmap(folder / "is_word.b1", dtype=bool, mode="r"),
            offsets=np.fromfile(folder / "offsets.i8", dtype=np.int64),
        )


def tokenize(
    documents: Iterable[Document],
    tokenizer: PreTrainedTokenizerFast,
    vocabulary: Vocabulary,
    folder: Path,
    progress: Callable[[int], None] | None = None,
) -> Tokens:
    """Tokenize documents into a folder.

    Args:
        documents: in corpus order; a document without tokens is kept, empty.
        tokenizer: a fast tokenizer.
        vocabulary: of the same tokenizer.
        folder: receives `ids.i4`, `is_word.b1`, `offsets.i8`.
        progress: called with the number of documents done so far.

    Raises:
        ProbeError: no document holds a token.
    """
    offsets = [0]
    with (folder / "ids.i4").open("wb") as ids_file, (folder / "is_word.b1").open("wb") as word_file:
        for texts in _batches(documents):
            # verbose=False: documents longer than the model's limit are cut into passages later.
            encodings = tokenizer(texts, add_special_tokens=False, verbose=False).encodings
            for encoding in encodings:
                ids = np.array(encoding.ids, dtype=np.int32)
                word_ids = np.array([-1 if word is None else word for word in encoding.word_ids], dtype=np.int64)
                ids_file.write(ids.tobytes())
                word_file.write(whole_words(ids, word_ids, vocabulary).tobytes())
                offsets.append(offsets[-1] + len(ids))
            if progress:
                progress(len(offsets) - 1)
    if offsets[-1] == 0:
        raise ProbeError("No document holds a token: check the corpus's text field and encoding.")
    np.array(offsets, dtype=np.int64).tofile(folder / "offsets.i8")
    return Tokens.load(folder)


def _batches(documents: Iterable[Document]) -> Iterator[list[str]]:
    texts = (document.text for document in documents)
    while batch := list(islice(texts, 1)):
        size = len(batch[0])
        while size < _BATCH_CHARACTERS and len(batch) < _BATCH_DOCUMENTS and (more := list(islice(texts, 1))):
            batch += more
            size += len(more[0])
        yield batch
