"""Texts that are objects already: lists and other iterables, frames, datasets."""

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from corpora.document import Document
from corpora.errors import CorpusError
from corpora.report import ReadingReport
from corpora.source import Options
from corpora.wikitext import from_rows

_WHAT_GOES = (
    "give a name, a path, a list of texts, an iterable of (title, text), a pandas or polars frame, a datasets.Dataset "
    "or an open corpus"
)
_SHOWN_FIELDS = 8


class ObjectSource:
    """Texts of an object.

    Args:
        kind: What it is, for messages.
        read: Reads the documents from the start.
    """

    def __init__(self, kind: str, read: Callable[[], Iterator[Document]]) -> None:
        self._kind = kind
        self._read = read
        self._found = False

    def documents(self, report: ReadingReport) -> Iterator[Document]:
        """The documents, in order.

        Raises:
            CorpusError: One is no text, or there is none.
        """
        del report
        documents = self._read()
        first = next(documents, None)
        if first is None:
            raise CorpusError(
                f"The {self._kind} gave texts once and gives none when it is read again; give a list of them."
                if self._found
                else f"The {self._kind} holds no text; give one that does (a generator that was read before is empty)."
            )
        self._found = True
        yield first
        yield from documents

    def fingerprint(self) -> None:
        """Only reading tells what an object holds."""


def open_object(texts: Any, options: Options) -> ObjectSource:
    """Texts that are an object.

    What can be read only once is kept in a temporary file as it is read.

    Args:
        texts: A list or another iterable of texts, of (title, text), of documents, or of rows with named fields; a
            pandas or polars Series or DataFrame; a `datasets.Dataset` or `IterableDataset`.
        options: What the fields of the text and the title are called.

    Raises:
        CorpusError: It holds no texts.
    """
    kind = type(texts).__name__
    if _is(texts, "pandas", "DataFrame"):
        names = _columns(kind, list(texts.columns), options)
        return ObjectSource(kind, lambda: from_rows(_documents(kind, _named(texts, names), options)))
    if _is(texts, "polars", "DataFrame"):
        chosen = texts.select(_columns(kind, texts.columns, options))
        return ObjectSource(kind, lambda: from_rows(_documents(kind, chosen.iter_rows(named=True), options)))
    if _is(texts, "datasets", "Dataset") or _is(texts, "datasets", "IterableDataset"):
        return _open_dataset(kind, texts, options)
    _refuse(kind, texts)
    if isinstance(texts, Iterator):
        return ObjectSource(kind, _Kept(_documents(kind, texts, options)).documents)
    return ObjectSource(kind, lambda: _documents(kind, texts, options))


def _refuse(kind: str, texts: Any) -> None:
    """Refuse what could be read, but not as texts."""
    if _is(texts, "polars", "LazyFrame"):
        raise CorpusError("A LazyFrame holds no texts yet; give frame.collect().")
    if _is(texts, "datasets", "DatasetDict") or _is(texts, "datasets", "IterableDatasetDict"):
        raise CorpusError(f"A {kind} has several splits; give one of them ({', '.join(map(repr, texts))}).")
    if isinstance(texts, set | frozenset):
        raise CorpusError(f"A {kind} has no order, so no run could be repeated; give sorted(texts).")
    if isinstance(texts, Mapping):
        raise CorpusError("A dict is no corpus; for titles and texts give list(texts.items()), for columns a frame.")
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise CorpusError(f"An object of the class {kind} is no corpus; {_WHAT_GOES}.")


def _open_dataset(kind: str, texts: Any, options: Options) -> ObjectSource:
    if texts.column_names:  # a stream may not know them before it is read
        texts = texts.select_columns(_columns(kind, texts.column_names, options))

    def read() -> Iterator[Document]:
        try:
            yield from from_rows(_documents(kind, texts, options))
        except CorpusError:
            raise
        except Exception as error:  # whatever a file, a server or a function that makes the rows may raise
            reason = str(error).strip().partition("\n")[0][:200] or type(error).__name__
            raise CorpusError(f"The {kind} cannot be read ({reason}); mend it, or give a local file.") from error

    # A stream comes from afar: once is enough.
    return ObjectSource(kind, _Kept(read()).documents if _is(texts, "datasets", "IterableDataset") else read)


class _Kept:
    """Documents that can be read only once, kept in a temporary file as they are read."""

    def __init__(self, documents: Iterator[Document]) -> None:
        self._rest = documents
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as this object)
        self._failure: Exception | None = None

    def documents(self) -> Iterator[Document]:
        """All documents from the first: those that are kept, then the rest."""
        place = 0
        while True:
            self._file.seek(place)
            line = self._file.readline()
            if not line:
                document = self._next()
                if document is None:
                    return
                line = json.dumps([document.id, document.title, document.text]).encode() + b"\n"
                self._file.seek(place)
                self._file.write(line)
            place += len(line)
            yield Document(*json.loads(line))

    def _next(self) -> Document | None:
        if self._failure:
            raise self._failure
        try:
            return next(self._rest, None)
        except Exception as error:
            # An iterator that has failed is at its end, which must not be taken for the end of the texts.
            self._failure = error
            raise


def _named(frame: Any, names: list[str]) -> Iterator[dict[str, Any]]:
    """Rows of a pandas frame, one at a time."""
    rows = zip(*(frame[name] for name in names), strict=True)
    return (dict(zip(names, row, strict=True)) for row in rows)


def _documents(kind: str, rows: Iterable[Any], options: Options) -> Iterator[Document]:
    """A document a row: a text, a title and a text, a document, or named fields."""
    for number, row in enumerate(rows, start=1):
        title: Any = ""
        text: Any = row
        if isinstance(row, Document):
            title, text = row.title, row.text
        elif isinstance(row, Mapping):
            if options.text_field not in row:
                raise _missing_field(f"The {kind}: row {number}", options.text_field, row)
            title, text = row.get(options.title_field), row[options.text_field]
        elif isinstance(row, tuple | list) and len(row) == 2:
            title, text = row
        title, text = _filled(title), _filled(text)
        if not isinstance(text, str):
            raise CorpusError(
                f"The {kind}: row {number} holds {type(text).__name__}, no text; give texts, pairs of a title and a "
                "text, or rows with a field of text (text_field=)."
            )
        yield Document(str(number), str(title), text)


def _is(value: Any, package: str, name: str) -> bool:
    """Whether a value is of a class, or of one derived from it, without importing its package."""
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


def _columns(kind: str, names: list[Any], options: Options) -> list[str]:
    if options.text_field not in names:
        raise _missing_field(f"The {kind}", options.text_field, names)
    wanted = [name for name in (options.text_field, options.title_field) if name in names]
    if doubled := [name for name in wanted if names.count(name) > 1]:
        raise CorpusError(f"The {kind} has several columns {doubled[0]!r}; give each a name of its own.")
    return wanted


def _missing_field(where: str, name: str, fields: Iterable[Any]) -> CorpusError:
    there = ", ".join(repr(one)[:40] for one in list(fields)[:_SHOWN_FIELDS]) or "none"
    return CorpusError(f"{where} has no field {name!r} (its fields: {there}); name the right one with text_field=.")


def _filled(value: Any) -> Any:
    """A value, or nothing where a frame has none: None, NaN, NA."""
    missing = value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"
    return "" if missing else value
