"""Files of columns: Parquet, Arrow and Feather."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.document import Document
from corpora.errors import CorpusError
from corpora.source import Options, missing_field, row_document, row_id
from corpora.wikitext import from_rows

_BATCH = 256


def read_parquet(path: Path, name: str, options: Options) -> Iterator[Document]:
    """Rows of a Parquet file, a batch in memory at a time; only the columns needed are read."""
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            wanted = _columns(path, file.schema_arrow.names, options)
            batches = file.iter_batches(batch_size=_BATCH, columns=wanted)
            yield from from_rows(_rows(batches, path, name, options))
    except pyarrow.ArrowException as error:
        raise _broken(path, "Parquet", error) from None


def read_arrow(path: Path, name: str, options: Options) -> Iterator[Document]:
    """Rows of an Arrow file, in the file or the stream format (what `datasets` writes); Feather is the former."""
    import pyarrow

    try:
        with pyarrow.OSFile(str(path), "rb") as source:
            try:
                file = pyarrow.ipc.open_file(source)
                batches = (file.get_batch(number) for number in range(file.num_record_batches))
            except pyarrow.ArrowInvalid:
                source.seek(0)
                file = pyarrow.ipc.open_stream(source)
                batches = iter(file)
            wanted = _columns(path, file.schema.names, options)
            batches = (batch.select(wanted) for batch in batches)
            yield from from_rows(_rows(batches, path, name, options))
    except pyarrow.ArrowException as error:
        raise _broken(path, "Arrow", error) from None


def _columns(path: Path, names: list[str], options: Options) -> list[str]:
    if options.text_field not in names:
        raise missing_field(str(path), options.text_field, names)
    return [name for name in (options.text_field, options.title_field) if name in names]


def _rows(batches: Iterator[Any], path: Path, name: str, options: Options) -> Iterator[Document]:
    number = 0
    for batch in batches:
        batch.validate(full=True)  # damaged offsets would end the process
        for row in batch.to_pylist():
            number += 1
            yield row_document(row, f"{path}: row {number}", row_id(name, number), options)


def _broken(path: Path, kind: str, error: Exception) -> CorpusError:
    reason = str(error).partition("\n")[0]
    return CorpusError(f"{path} is no whole {kind} file ({reason}); fetch it again.")
