"""What a corpus is read from."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from corpora.document import PART, Document
from corpora.errors import CorpusError
from corpora.report import ReadingReport

READER_VERSION = 1
"""Raised when a reader comes to give other documents for the same bytes: older caches are then not used."""


class Source(Protocol):
    """Gives the documents as they stand, uncleaned; the same ones in the same order every time."""

    def documents(self, report: ReadingReport) -> Iterator[Document]:
        """Reads from the start; tells the report what was skipped and noticed."""
        ...

    def fingerprint(self) -> str:
        """Changes when what would be read changes; cheap next to reading."""
        ...


def row_id(name: str, number: int) -> str:
    """Id of the document in a row of a file."""
    return f"{name.replace(PART, '%23')}:{number}"


def hash_file(path: Path) -> str:
    """Hash of a file's bytes as they lie on disk.

    Raises:
        CorpusError: The file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror or error}); check the path") from None
