"""What a corpus is read from, and what every reader shares."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from corpora.document import PART, Document
from corpora.errors import CorpusError
from corpora.report import ReadingReport

READER_VERSION = 2
"""Raised when a reader comes to give other documents for the same bytes: older caches are then not used."""

ARTICLES = "0"
"""Key of the namespace that holds a wiki's articles."""


@dataclass(frozen=True)
class Options:
    """How a source is read.

    Attributes:
        text_field: Field that holds the text.
        title_field: Field that holds the title, if there is one.
        encoding: Of text files; a byte order mark overrules UTF-8.
        namespaces: Keys of the namespaces to read of a MediaWiki dump.
    """

    text_field: str = "text"
    title_field: str = "title"
    encoding: str = "utf-8"
    namespaces: tuple[str, ...] = (ARTICLES,)


class Source(Protocol):
    """Gives the documents as they stand, uncleaned; the same ones in the same order every time."""

    def documents(self, report: ReadingReport) -> Iterator[Document]:
        """Reads from the start; tells the report what was skipped and noticed."""
        ...

    def fingerprint(self) -> str | None:
        """Changes when what would be read changes; cheap next to reading. None where only reading tells."""
        ...


def row_id(name: str, number: int) -> str:
    """Id of a document: its number in its file, after the file's name where there are several files."""
    return f"{name.replace(PART, '%23')}:{number}" if name else str(number)


def row_document(row: Any, where: str, identity: str, options: Options) -> Document:
    """A document out of a row with named fields.

    Raises:
        CorpusError: The row has no such fields, or they hold no text.
    """
    field = options.text_field
    if not isinstance(row, dict):
        raise CorpusError(
            f"{where} holds {type(row).__name__}, not an object with a field {field!r}; give a file of objects."
        )
    if field not in row:
        raise missing_field(where, field, list(row))
    text = row[field]
    title = row.get(options.title_field)
    if text is None:
        text = ""
    if not isinstance(text, str):
        raise CorpusError(
            f"{where}: the field {field!r} holds {type(text).__name__}, no text; name another with --text-field."
        )
    return Document(identity, "" if title is None else str(title), text)


def missing_field(where: str, field: str, fields: list[Any]) -> CorpusError:
    """What to say where the field of the text is not there."""
    there = ", ".join(repr(name)[:40] for name in fields[:8]) or "none"
    return CorpusError(f"{where} has no field {field!r} (its fields: {there}); name the right one with --text-field.")


def unreadable(path: Path, error: Exception) -> CorpusError:
    """What to say where a file cannot be opened or read on."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return CorpusError(f"{path} cannot be read ({reason}); check the file.")


def hash_file(path: Path) -> str:
    """Hash of a file's bytes as they lie on disk.

    Raises:
        CorpusError: The file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None
