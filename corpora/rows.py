"""Files of rows with named fields: JSON lines, JSON, comma- and tab-separated values."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from corpora.document import Document
from corpora.errors import CorpusError
from corpora.plain import LONGEST_LINE, lines, open_text
from corpora.source import Options, missing_field, row_document, row_id

_SPACE = " \t\n\r"
_CHUNK = 1 << 18
_DECODER = json.JSONDecoder()


def read_jsonl(path: Path, name: str, options: Options) -> Iterator[Document]:
    """One JSON object a line; blank lines are passed over."""
    for number, line in enumerate(lines(path, options.encoding), start=1):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{where} is not JSON ({error}); mend or remove that line.") from None
        yield row_document(row, where, row_id(name, number), options)


def read_json(path: Path, name: str, options: Options) -> Iterator[Document]:
    """An array of JSON objects, or objects one after another, without reading the file as a whole."""
    for number, row in enumerate(_values(path, options.encoding), start=1):
        yield row_document(row, f"{path}: record {number}", row_id(name, number), options)


def _values(path: Path, encoding: str) -> Iterator[Any]:
    """The values of a top-level array, or those that follow each other on the top level."""
    with open_text(path, encoding) as stream:
        window = _Window(stream)
        in_array = window.peek() == "["
        window.at += in_array
        number = 0
        while window.peek() not in ("", "]" if in_array else ""):
            if in_array and number:
                if window.peek() != ",":
                    raise CorpusError(f"{path}: record {number} is not followed by a comma; mend it.")
                window.at += 1
                if not window.peek():
                    break
            number += 1
            try:
                value = window.value()
            except (ValueError, RecursionError) as error:
                raise CorpusError(f"{path}: record {number} is not JSON ({error}); mend it.") from None
            yield value
        if in_array and window.peek() != "]":
            raise CorpusError(f"{path} ends before its list does; fetch it again.")
        window.at += in_array
        if window.peek():
            raise CorpusError(f"{path} goes on after its list has ended; mend it.")


class _Window:
    """The part of a text that is being looked at, from ``at`` on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self.at = 0

    def _read_on(self, size: int) -> bool:
        more = self._stream.read(size)
        self._text = self._text[self.at :] + more
        self.at = 0
        return bool(more)

    def peek(self) -> str:
        """The next character that is no white space, moving up to it; empty at the end."""
        while True:
            while self.at < len(self._text) and self._text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self._text):
                return self._text[self.at]
            if not self._read_on(_CHUNK):
                return ""

    def value(self) -> Any:
        """The next JSON value; a `ValueError` where there is none."""
        while True:
            try:
                value, self.at = _DECODER.raw_decode(self._text, self.at)
            except ValueError:
                # It may only be cut off. Twice as much is read each time, so the time stays linear.
                left = len(self._text) - self.at
                if left > LONGEST_LINE or not self._read_on(max(_CHUNK, left)):
                    raise
            else:
                return value


def read_separated(path: Path, name: str, options: Options) -> Iterator[Document]:
    """Comma- or tab-separated values with a line of names on top."""
    tabs = any(suffix.lower() == ".tsv" for suffix in path.suffixes[-2:])
    csv.field_size_limit(LONGEST_LINE)
    rows = csv.reader(lines(path, options.encoding), delimiter="\t" if tabs else ",", strict=True)
    try:
        names = next(rows, [])
        if options.text_field not in names:
            raise missing_field(f"{path}: line 1", options.text_field, names)
        for row in rows:
            where = f"{path}: line {rows.line_num}"
            if not row:
                continue
            if len(row) != len(names):
                raise CorpusError(f"{where} has {len(row)} values for {len(names)} names; mend or remove that line.")
            document = dict(zip(names, row, strict=True))
            yield row_document(document, where, row_id(name, rows.line_num), options)
    except csv.Error as error:
        raise CorpusError(f"{path}: line {rows.line_num} is broken ({error}); mend or remove that line.") from None
