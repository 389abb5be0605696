"""The files of a run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.storage.files import cannot_write

if TYPE_CHECKING:
    import pandas as pd

RUN_FORMAT = 2
"""Of `run.json`. Format 1 also held timings; it is still read."""
_INDENT = 2
# The path of a corpus that is no UTF-8 comes with half surrogate pairs, which JSON writes as \udc80.
_UNDECODABLE = "backslashreplace"


def write_results(
    folder: Path, tables: Mapping[str, pd.DataFrame], info: Mapping[str, Any], seconds: Mapping[str, float]
) -> None:
    """Write every table, `run.json` and `timings.json` into a folder (see `probe.storage.files.whole_set`).

    Args:
        folder: a folder that is there.
        tables: frames by file name without `.csv`.
        info: content of `run.json`: the same for every repetition of a run.
        seconds: content of `timings.json`.
    """
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, encoding="utf-8", lineterminator="\n")
    for name, content in (("run.json", info), ("timings.json", seconds)):
        text = json.dumps(content, indent=_INDENT, sort_keys=True, ensure_ascii=False) + "\n"
        (folder / name).write_text(text, encoding="utf-8", errors=_UNDECODABLE)


def check_writable(folder: Path) -> None:
    """Refuse an output folder that cannot be written, before any work is done.

    Raises:
        ProbeError: it cannot be made or written.
    """
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        # The folder comes with the results: a run that is refused leaves nothing.
        with tempfile.TemporaryDirectory(dir=there, prefix=".trying-") as trial:
            (Path(trial) / folder.relative_to(there)).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
