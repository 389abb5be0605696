"""Files of rows with named fields: JSON lines, JSON, comma- and tab-separated values."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.document import Document
from corpora.errors import CorpusError
from corpora.plain import LONGEST_LINE, lines, open_text
from corpora.source import Options, missing_field, row_document, row_id

_SPACE = " \t\n\r"
_CHUNK = 1 << 18


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
        yield row_document(row, where, row_id(name, number), options)


def read_json(path: Path, name: str, options: Options) -> Iterator[Document]:
    """An array of JSON objects, or objects one after another, without reading the file as a whole."""
    for number, row in enumerate(_values(path, options.encoding), start=1):
        yield row_document(row, f"{path}: record {number}", row_id(name, number), options)


def _values(path: Path, encoding: str) -> Iterator[Any]:
    """The values of a top-level array, or those that follow each other on the top level."""
    decode = json.JSONDecoder().raw_decode
    with open_text(path, encoding) as stream:
        text, at, size, ended = "", 0, _CHUNK, False
        array = comma = False
        number = 0
        while True:
            while at < len(text) and text[at] in _SPACE:
                at += 1
            if at == len(text) and not ended:
                text, at = stream.read(size), 0
                ended = not text
                continue
            if at == len(text):
                if array:
                    raise CorpusError(f"{path} ends before its list does; fetch it again")
                return
            if number == 0 and not array and text[at] == "[":
                array = True
                at += 1
                continue
            if array and text[at] == "]" and not comma:
                if text[at + 1 :].strip() or stream.read().strip():
                    raise CorpusError(f"{path} goes on after its list has ended; mend it")
                return
            if array and number and not comma:
                if text[at] != ",":
                    raise CorpusError(f"{path}: record {number} is not followed by a comma; mend it")
                comma = True
                at += 1
                continue
            try:
                value, end = decode(text, at)
            except (ValueError, RecursionError) as error:
                if ended or len(text) - at > LONGEST_LINE or isinstance(error, RecursionError):
                    raise CorpusError(f"{path}: record {number + 1} is not JSON ({error}); mend it") from None
                # it may only be cut off: twice as much is read each time, so the time stays linear
                size = max(_CHUNK, len(text) - at)
                more = stream.read(size)
                text, at, ended = text[at:] + more, 0, not more
                continue
            number += 1
            yield value
            at, comma = end, False


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
                raise CorpusError(f"{where} has {len(row)} values for {len(names)} names; mend or remove that line")
            document = dict(zip(names, row, strict=True))
            yield row_document(document, where, row_id(name, rows.line_num), options)
    except csv.Error as error:
        raise CorpusError(f"{path}: line {rows.line_num} is broken ({error}); mend or remove that line") from None
