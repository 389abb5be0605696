"""Files written whole or not at all."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from probe.errors import ProbeError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, moved onto it when the block ends well and removed when it does not.

    Raises:
        ProbeError: The folder cannot be written to.
    """
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise ProbeError(f"Cannot write {path} ({error.strerror}): give a place that can be written to.") from None
    finally:
        # Nothing was made where the folder is no folder.
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows of one table; None is an empty field, and numbers keep their full precision."""
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
