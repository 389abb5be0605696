"""Files: one, a folder of them, those a pattern finds, standard input."""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from corpora.columns import read_arrow, read_parquet
from corpora.compression import ARCHIVES, ENDINGS, inner_ending, open_bytes
from corpora.document import Document
from corpora.errors import CorpusError
from corpora.plain import open_text, read_file, read_file_alone
from corpora.report import ReadingReport
from corpora.rows import read_json, read_jsonl, read_separated
from corpora.source import Options, hash_file, unreadable
from corpora.wikipedia import read_dump

Reader = Callable[[Path, str, Options], Iterator[Document]]

TEXT = (".txt", ".tokens", ".raw")
"""Plain text; the last two are what the files of WikiText end in."""

READERS: dict[str, Reader] = {
    **dict.fromkeys(TEXT, read_file),
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_separated,
    ".tsv": read_separated,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
}
DUMP = ".xml"
COLUMNS = (".parquet", ".arrow", ".feather")
"""Compressed inside, not as a whole."""

SHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
"""Endings of spreadsheets, which are not read."""


def ending_of(path: Path) -> str | None:
    """The ending whose reader reads this file, or None."""
    ending = inner_ending(path)
    if ending in COLUMNS and ending != path.suffix.lower():
        return None
    return ending if ending in READERS or ending == DUMP else None


def readable_endings() -> str:
    """The endings that can be read, for messages."""
    plain = [ending for ending in (*READERS, DUMP) if ending not in COLUMNS]
    return f"{', '.join(plain)} (each also with {', '.join(ENDINGS)}), {', '.join(COLUMNS)}"


def check_ending(path: Path) -> None:
    """Refuses a file that no reader is for.

    Raises:
        CorpusError: An archive, or an unknown ending.
    """
    unpack = ARCHIVES.get(path.suffix.lower()) or ARCHIVES.get(inner_ending(path))
    if unpack:
        raise CorpusError(f"{path} is an archive, which is not opened here; unpack it first ({unpack} {path.name}).")
    if inner_ending(path) in SHEETS:
        raise CorpusError(f"{path} is a spreadsheet, which is not read; save its sheet as CSV (UTF-8) and give that.")
    if ending_of(path) is None:
        raise CorpusError(f"{path} has an ending that is not known; what can be read: {readable_endings()}.")


class FileSource:
    """One file, or several in the order of their names.

    Args:
        paths: The files.
        root: Folder that ids are relative to.
        alone: Whether this is one file the user named: a text file then holds many documents, not one.
        options: How to read them.
    """

    def __init__(self, paths: list[Path], root: Path, alone: bool, options: Options) -> None:
        self.paths = paths
        self._root = root
        self._alone = alone
        self._options = options
        self._states: dict[Path, tuple[int, int]] = {}

    def documents(self, report: ReadingReport) -> Iterator[Document]:
        """Every file's documents; a compressed file that breaks off is refused, a broken dump cut short."""
        for path in self.paths:
            name = "" if self._alone else path.relative_to(self._root).as_posix()
            self._check_unchanged(path)
            try:
                yield from self._read(path, name, report)
            except (OSError, UnicodeError) as error:
                raise unreadable(path, error) from None
            self._check_unchanged(path)

    def _check_unchanged(self, path: Path) -> None:
        """Refuses a file that is not what it was when it was first read or hashed."""
        try:
            found = path.stat()
        except OSError as error:
            raise unreadable(path, error) from None
        state = (found.st_size, found.st_mtime_ns)
        if self._states.setdefault(path, state) != state:
            raise CorpusError(f"{path} changed while it was in use; start again when nothing writes to it.")

    def _read(self, path: Path, name: str, report: ReadingReport) -> Iterator[Document]:
        ending = inner_ending(path)
        if ending == DUMP:
            return read_dump(path, name, report, self._options.namespaces)
        if self._alone and ending in TEXT:
            return read_file_alone(path, name, self._options)
        return READERS[ending](path, name, self._options)

    def fingerprint(self) -> str:
        """Hash of the files' names, bytes and the way they are read."""
        parts = [repr(self._options), str(self._alone)]
        for path in self.paths:
            self._check_unchanged(path)
            parts += [path.relative_to(self._root).as_posix(), hash_file(path)]
            self._check_unchanged(path)
        return hashlib.blake2b("\0".join(parts).encode(errors="surrogateescape"), digest_size=16).hexdigest()


def open_file(path: Path, options: Options) -> FileSource:
    """A file the user named.

    Raises:
        CorpusError: It is empty, an archive, no regular file, or of an unknown kind.
    """
    check_ending(path)
    if not path.is_file():
        raise CorpusError(
            f"{path} is no regular file and cannot be read twice; pipe it in (cat {path} | probe run --corpus -)."
        )
    if path.stat().st_size == 0:
        raise CorpusError(f"{path} is empty; give a file with text.")
    return FileSource([path], path.parent, alone=True, options=options)


def open_folder(folder: Path, options: Options) -> FileSource:
    """The readable files of a folder and its folders, by name; hidden ones and linked folders are left out.

    Raises:
        CorpusError: There are none.
    """
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place) / name for name in names if not name.startswith(".")]
    readable = sorted(path for path in found if ending_of(path) and path.is_file())
    if not readable:
        raise CorpusError(f"{folder} holds no file that can be read; what can be: {readable_endings()}.")
    return FileSource(readable, folder, alone=False, options=options)


def matches(pattern: str) -> list[Path]:
    """The files a pattern finds (``*``, ``?``, ``[a-z]``, ``**`` for any depth), by name."""
    path = Path(pattern)
    try:
        return sorted(found for found in Path(path.anchor).glob(str(path.relative_to(path.anchor))) if found.is_file())
    except (OSError, ValueError):  # ValueError: no pattern, such as "a**b"
        return []


def open_pattern(paths: list[Path], options: Options) -> FileSource:
    """The files found by a pattern.

    Raises:
        CorpusError: One of them is an archive, or of an unknown kind.
    """
    for path in paths:
        check_ending(path)
    root = Path(os.path.commonpath([path.parent for path in paths]))
    return FileSource(paths, root, alone=False, options=options)


class StandardInput(FileSource):
    """What is piped in, kept in a temporary file so that it can be read more than once.

    What it holds is told by its first bytes: a MediaWiki dump, JSON lines, JSON, separated values whose first
    line names the field of the text, Parquet, Arrow, else plain text; compressed or not.

    Raises:
        CorpusError: Nothing is piped in.
    """

    def __init__(self, options: Options) -> None:
        if sys.stdin.isatty():
            raise CorpusError(
                "Nothing is piped into standard input; give a file, or pipe text in (cat FILE | probe run --corpus -)."
            )
        self._folder = tempfile.TemporaryDirectory(prefix="corpus-")
        folder = Path(self._folder.name)
        spool = folder / "spool"
        try:
            with spool.open("wb") as stream:
                shutil.copyfileobj(sys.stdin.buffer, stream)
        except OSError as error:
            raise unreadable(spool, error) from None
        if spool.stat().st_size == 0:
            raise CorpusError("Standard input is empty; pipe text in (cat FILE | probe run --corpus -).")
        path = spool.rename(folder / f"stdin{_kind(spool, options)}")
        super().__init__([path], folder, alone=True, options=options)


def _kind(path: Path, options: Options) -> str:
    """Ending that fits what a file holds."""
    with open_bytes(path) as stream:
        head = stream.read(6) or b""
    if head.startswith((b"7z\xbc\xaf", b"PK\x03\x04")):
        raise CorpusError("Standard input holds an archive, which is not opened here; unpack it first.")
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return ".arrow"
    with open_text(path, options.encoding) as stream:
        start = stream.read(1 << 16).lstrip()
    first = start.partition("\n")[0]
    if start.startswith("[") or (start.startswith("{") and not _is_json(first)):
        return ".json"
    if start.startswith("{"):
        return ".jsonl"
    if start.startswith(("<mediawiki", "<?xml")):
        return DUMP
    for separator, ending in (("\t", ".tsv"), (",", ".csv")):
        names = [name.strip(' "') for name in first.split(separator)]
        if len(names) > 1 and options.text_field in names:
            return ending
    return ".txt"


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
