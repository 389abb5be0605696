"""A finished run, read back from its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.results.writing import RUN_FORMAT

if TYPE_CHECKING:
    import pandas as pd

_OLDEST = 1
_FIRST = ("table1", "table2", "table5", "measures", "layers", "topics", "topic_effects", "topic_map")
_TEXT = ("model", "weights", "assignment", "measure", "site", "note", "token", "surface")
# Columns a table must have to be shown; a run may write more.
_RATIOS = tuple(f"{measure}_ratio{end}" for measure in ("cosine", "dot", "attention") for end in ("", "_low", "_high"))
_PRINTED = tuple(f"paper_{measure}_ratio" for measure in ("cosine", "dot", "attention"))
_COOCCURRENCE = tuple(
    f"{measure}_{pairs}" for measure in ("attention", "cosine") for pairs in ("same_topic", "top_cooccurring")
)
_RATIO_TABLE = ("model", "weights", "theta", "vocabulary", "words_per_topic", "site", *_RATIOS, *_PRINTED)
_COLUMNS = {
    "table1": _RATIO_TABLE,
    "table5": _RATIO_TABLE,
    "table2": ("model", "theta", "word_pairs", *_COOCCURRENCE, *(f"paper_{name}" for name in _COOCCURRENCE)),
    "measures": ("model", "weights", "theta", "assignment", "measure", "site", "note"),
}


@dataclass(frozen=True)
class FinishedRun:
    """A folder that `probe run` wrote.

    Attributes:
        folder: the folder, as it was named.
        info: the content of its `run.json`.
    """

    folder: Path
    info: dict[str, Any]

    def text(self, name: str) -> str:
        """The content of a table's file.

        Args:
            name: of the file, without `.csv`.

        Raises:
            ProbeError: the run has no such table, or it cannot be read.
        """
        path = self.folder / f"{name}.csv"
        try:
            return path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            raise ProbeError(
                f"The run in {self.folder} has no {name}.csv: repeat it with this version of probe "
                "(what it finished is found again)."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise self._damaged(name, str(error)) from error

    def table(self, name: str) -> pd.DataFrame:
        """A table as a frame.

        Args:
            name: of the file, without `.csv`.

        Raises:
            ProbeError: the run has no such table, or it is damaged.
        """
        import io

        import pandas as pd

        # Later versions read every digit anyway.
        exact: dict[str, Any] = {} if pd.__version__ >= "3" else {"float_precision": "round_trip"}
        try:
            # A model may be called "NA": only an empty cell is a missing one.
            frame = pd.read_csv(
                io.StringIO(self.text(name)),
                dtype=dict.fromkeys(_TEXT, str),
                keep_default_na=False,
                na_values=[""],
                **exact,
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise self._damaged(name, str(error).strip()) from error
        for column in _COLUMNS.get(name, ()):
            if column not in frame:
                raise self._damaged(name, f"it has no column {column}")
            if column not in _TEXT:
                try:
                    frame[column] = pd.to_numeric(frame[column])
                except ValueError as error:
                    raise self._damaged(name, f"{column}: {error}") from error
        if frame.empty:
            return frame.astype(object)  # as a frame without rows is made
        if "note" in frame:
            frame["note"] = frame["note"].fillna("")
        return frame

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables as frames, by name.

        Raises:
            ProbeError: one is damaged.
        """
        there = {path.stem for path in self.folder.glob("*.csv")}
        return {name: self.table(name) for name in (*_FIRST, *sorted(there - set(_FIRST))) if name in there}

    def seconds(self) -> dict[str, float]:
        """What each kind of work took; nothing where it is not known."""
        try:
            return dict(json.loads((self.folder / "timings.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return {}

    def _damaged(self, name: str, reason: str) -> ProbeError:
        return ProbeError(f"{self.folder / name}.csv is damaged ({reason}): repeat its run.")


@dataclass(frozen=True)
class HeldRun(FinishedRun):
    """A run whose tables are in memory.

    Attributes:
        folder: what it is called.
        info: the content of `run.json`.
        held: its tables by name.
    """

    held: Mapping[str, pd.DataFrame]

    def table(self, name: str) -> pd.DataFrame:
        """A table as a frame.

        Raises:
            ProbeError: the run has no such table.
        """
        if name not in self.held:
            raise ProbeError(f"The run {self.folder} has no table {name}: repeat it with this version of probe.")
        return self.held[name]


def open_run(folder: Path | str) -> FinishedRun:
    """Open the folder of a finished run.

    Args:
        folder: where `probe run` wrote its files.

    Raises:
        ProbeError: it is no folder of a finished run, or of a version that cannot be read.
    """
    folder = Path(folder)
    path = folder / "run.json"
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        what = "is no folder" if not folder.is_dir() else "holds no run.json, so it is no finished run"
        raise ProbeError(f"{folder} {what}: name a folder that probe run wrote.") from None
    except (OSError, ValueError) as error:
        raise ProbeError(f"{path} cannot be read ({error}): repeat its run.") from error
    written = info.get("format") if isinstance(info, dict) else None
    if not isinstance(written, int):
        raise ProbeError(f"{path} was not written by probe run: name a folder that it wrote.")
    if written > RUN_FORMAT:
        raise ProbeError(
            f"{folder} is of a newer probe (format {written}; this one reads {RUN_FORMAT}): upgrade topic-probe."
        )
    if written < _OLDEST:
        raise ProbeError(
            f"{folder} is of an older probe (format {written}; this one reads {_OLDEST} to {RUN_FORMAT}): repeat "
            "its run."
        )
    return FinishedRun(folder, info)
