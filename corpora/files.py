"""Files of text: plain, JSON lines, folders of them."""

import codecs
import hashlib
import io
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.compression import ARCHIVES, ENDINGS, inner_ending, open_bytes
from corpora.document import Document
from corpora.errors import CorpusError
from corpora.report import ReadingReport
from corpora.source import hash_file, row_id
from corpora.text import LONGEST_DOCUMENT, MARK_BAD_BYTES, cut
from corpora.wikipedia import ARTICLES, read_dump

LONGEST_LINE = 1 << 28
"""Characters after which a line is taken for garbage instead of being read into memory."""


@dataclass(frozen=True)
class Options:
    """How files are read.

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


def open_text(path: Path, encoding: str) -> io.TextIOWrapper:
    """Opens a text file, decompressed; bad bytes come out as `corpora.text.NOT_TEXT`."""
    stream = open_bytes(path)
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)
    if codecs.lookup(encoding).name == "utf-8":
        head = buffered.peek(4)[:4]
        encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return io.TextIOWrapper(buffered, encoding=encoding, errors=MARK_BAD_BYTES)


def lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a text file, with their ends.

    Raises:
        CorpusError: A line is longer than any text.
    """
    with open_text(path, encoding) as stream:
        number = 0
        while line := stream.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                raise CorpusError(
                    f"{path}: line {number} is longer than {LONGEST_LINE:,} characters; is it text?"
                )
            yield line


def field_document(row: Any, where: str, identity: str, options: Options) -> Document:
    """A document out of a row with named fields.

    Raises:
        CorpusError: The row has no such fields, or they hold no text.
    """
    if not isinstance(row, dict):
        raise CorpusError(
            f"{where} holds {type(row).__name__}, not an object with a field {options.text_field!r}"
        )
    if options.text_field not in row:
        fields = ", ".join(repr(name) for name in list(row)[:8]) or "none"
        raise CorpusError(
            f"{where} has no field {options.text_field!r} (its fields: {fields}); name the right one with "
            "--text-field"
        )
    text = row[options.text_field]
    title = row.get(options.title_field)
    if text is None:
        text = ""
    if not isinstance(text, str):
        raise CorpusError(
            f"{where}: the field {options.text_field!r} holds {type(text).__name__}, not text; name the "
            "right one with --text-field"
        )
    return Document(identity, "" if title is None else str(title), text)


def read_jsonl(path: Path, name: str, options: Options) -> Iterator[Document]:
    """One JSON object a line; blank lines are passed over."""
    for number, line in enumerate(lines(path, options.encoding), start=1):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{where} is not JSON ({error}); mend or remove that line") from None
        yield field_document(row, where, row_id(name, number), options)


def read_whole(path: Path, name: str, options: Options) -> Iterator[Document]:
    """A text file as one document, titled by its name; in parts as it is read, where it is very long."""
    title = Path(name).name.partition(".")[0]
    with open_text(path, options.encoding) as stream:
        rest = ""
        part = 0
        while more := stream.read(LONGEST_DOCUMENT + 1 - len(rest)):
            rest += more
            if len(rest) > LONGEST_DOCUMENT:
                end = cut(rest, LONGEST_DOCUMENT)
                part += 1
                yield Document(row_id(name, part), title, rest[:end])
                rest = rest[end:]
        yield Document(row_id(name, part + 1), title, rest)


def read_paragraphs(path: Path, name: str, options: Options) -> Iterator[Document]:
    """A text file by itself: blank lines part its documents, or every line is one where no line is blank."""
    by_line = not _has_blank_line(path, options.encoding)
    block: list[str] = []
    number = 0
    for line in lines(path, options.encoding):
        if line.strip():
            block.append(line)
            if not by_line:
                continue
        if block:
            number += 1
            yield Document(row_id(name, number), "", "".join(block))
            block = []
    if block:
        yield Document(row_id(name, number + 1), "", "".join(block))


def _has_blank_line(path: Path, encoding: str) -> bool:
    text_seen = blank_seen = False
    for line in lines(path, encoding):
        if line.strip():
            if blank_seen:
                return True
            text_seen = True
        else:
            blank_seen = text_seen
    return False


Reader = Callable[[Path, str, Options], Iterator[Document]]

READERS: dict[str, Reader] = {".jsonl": read_jsonl, ".ndjson": read_jsonl, ".txt": read_whole}
DUMP = ".xml"


def readable_endings() -> str:
    """The endings that can be read, for messages."""
    return f"{', '.join([*READERS, DUMP])} (each also with {', '.join(ENDINGS)})"


def check_ending(path: Path) -> None:
    """Refuses a file that no reader is for.

    Raises:
        CorpusError: An archive, or an unknown ending.
    """
    unpack = ARCHIVES.get(path.suffix.lower()) or ARCHIVES.get(inner_ending(path))
    if unpack:
        raise CorpusError(
            f"{path} is an archive, which is not opened here; unpack it first: {unpack} {path.name}"
        )
    if inner_ending(path) not in READERS and inner_ending(path) != DUMP:
        raise CorpusError(f"{path} has an ending that is not known; what can be read: {readable_endings()}")


class FileSource:
    """One file, or several in the order of their names.

    Args:
        paths: The files.
        root: Folder that ids are relative to.
        alone: Whether this is one file the user named: a `.txt` then holds many documents, not one.
        options: How to read them.
    """

    def __init__(self, paths: list[Path], root: Path, alone: bool, options: Options) -> None:
        self.paths = paths
        self._root = root
        self._alone = alone
        self._options = options

    def documents(self, report: ReadingReport) -> Iterator[Document]:
        """Every file's documents; a compressed file that breaks off is refused, a broken dump cut short."""
        for path in self.paths:
            name = path.relative_to(self._root).as_posix()
            try:
                ending = inner_ending(path)
                if ending == DUMP:
                    yield from read_dump(path, report, self._options.namespaces)
                elif ending == ".txt" and self._alone:
                    yield from read_paragraphs(path, name, self._options)
                else:
                    yield from READERS[ending](path, name, self._options)
            except (OSError, EOFError, lzma.LZMAError, zlib.error, UnicodeError) as error:
                raise CorpusError(f"{path} cannot be read to its end ({error}); check the file") from None

    def fingerprint(self) -> str:
        """Hash of the files' names, bytes and the way they are read."""
        parts = [repr(self._options), str(self._alone)]
        for path in self.paths:
            parts += [path.relative_to(self._root).as_posix(), hash_file(path)]
        return hashlib.blake2b("\0".join(parts).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def folder_files(folder: Path) -> list[Path]:
    """The readable files of a folder and its folders, by name; hidden ones and linked folders are left out.

    Raises:
        CorpusError: There are none.
    """
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(place) / name for name in names if not name.startswith(".")]
    readable = sorted(path for path in found if inner_ending(path) in READERS or inner_ending(path) == DUMP)
    if not readable:
        raise CorpusError(f"{folder} holds no file that can be read; what can be: {readable_endings()}")
    return readable
