"""Text files: many documents in one, one document a file, or WikiText's format."""

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from corpora.compression import open_bytes
from corpora.document import Document
from corpora.errors import CorpusError
from corpora.source import Options, row_id
from corpora.text import LONGEST_DOCUMENT, bad_bytes, cut
from corpora.wikitext import articles, starts_wikitext

LONGEST_LINE = 1 << 26
"""Characters after which a line is taken for garbage instead of being read into memory."""

LOOKED_AT = 10_000_000
"""Characters at the start of a text file that tell whether blank lines part its documents."""


def open_text(path: Path, encoding: str) -> io.TextIOWrapper:
    """Opens a text file, decompressed; for bad bytes see `corpora.text.bad_bytes`."""
    stream = open_bytes(path)
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)
    if encoding == "utf-8":
        head = buffered.peek(4)[:4]
        encoding = "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    return io.TextIOWrapper(buffered, encoding=encoding, errors=bad_bytes(encoding))


def lines(path: Path, encoding: str) -> Iterator[str]:
    """The lines of a text file, each with its ``\\n``.

    Raises:
        CorpusError: A line is longer than any text.
    """
    with open_text(path, encoding) as stream:
        number = 0
        while line := stream.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                raise CorpusError(f"{path}: line {number} is longer than {LONGEST_LINE:,} characters; is it text?")
            yield line


def read_file(path: Path, name: str, options: Options) -> Iterator[Document]:
    """A text file among others: one document, titled by its name, or the articles of WikiText's format."""
    if _is_wikitext(path, options.encoding):
        yield from _read_wikitext(path, name, options)
    else:
        yield from _read_whole(path, name, options)


def read_file_alone(path: Path, name: str, options: Options) -> Iterator[Document]:
    """A text file by itself: blank lines part its documents; every line is one where no line is blank."""
    if _is_wikitext(path, options.encoding):
        yield from _read_wikitext(path, name, options)
    else:
        yield from _read_blocks(path, name, options)


def _is_wikitext(path: Path, encoding: str) -> bool:
    return starts_wikitext(next((line for line in lines(path, encoding) if line.strip()), ""))


def _read_wikitext(path: Path, name: str, options: Options) -> Iterator[Document]:
    for number, title, text in articles(lines(path, options.encoding)):
        yield Document(row_id(name, number), title, text)


def _read_whole(path: Path, name: str, options: Options) -> Iterator[Document]:
    """In parts as it is read, where it is very long, so that memory holds one part."""
    title = Path(name).name.partition(".")[0]
    with open_text(path, options.encoding) as stream:
        rest = ""
        part = 1
        while more := stream.read(LONGEST_DOCUMENT + 1 - len(rest)):
            rest += more
            if len(rest) > LONGEST_DOCUMENT:
                end = cut(rest, LONGEST_DOCUMENT)
                yield Document(row_id(name, part), title, rest[:end])
                part += 1
                rest = rest[end:]
        yield Document(row_id(name, part), title, rest)


def _read_blocks(path: Path, name: str, options: Options) -> Iterator[Document]:
    by_line = not _has_blank_line(path, options.encoding)
    block: list[str] = []
    started = length = 0
    for number, line in enumerate(lines(path, options.encoding), start=1):
        blank = not line.strip()
        if block and (blank or by_line or length > LONGEST_DOCUMENT):
            yield Document(row_id(name, started), "", "".join(block))
            block = []
        if not blank:
            started, length = (started, length) if block else (number, 0)
            block.append(line)
            length += len(line)
    if block:
        yield Document(row_id(name, started), "", "".join(block))


def _has_blank_line(path: Path, encoding: str) -> bool:
    """Whether a blank line stands between two that are not, near the start."""
    text_seen = blank_seen = False
    read = 0
    for line in lines(path, encoding):
        read += len(line)
        if read > LOOKED_AT:
            break
        if line.strip():
            if blank_seen:
                return True
            text_seen = True
        else:
            blank_seen = text_seen
    return False
