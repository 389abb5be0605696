"""The folders of a report, read: finished runs, and trainings measured checkpoint by checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.results.examples import read_examples
from probe.results.finished import FinishedRun, open_run

if TYPE_CHECKING:
    import pandas as pd

_DYNAMICS = "dynamics.json"


@dataclass(frozen=True)
class Tables:
    """A folder's tables, each read once.

    Attributes:
        finished: the folder.
    """

    finished: FinishedRun
    _read: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def info(self) -> dict[str, Any]:
        """What the folder says of itself."""
        return self.finished.info

    @property
    def name(self) -> str:
        """What the folder is called."""
        return self.finished.folder.resolve().name

    def table(self, name: str) -> pd.DataFrame:
        """A table that every such folder has.

        Raises:
            ProbeError: it has none, or a damaged one.
        """
        if name not in self._read:
            self._read[name] = self.finished.table(name)
        return self._read[name]

    def optional(self, name: str) -> pd.DataFrame | None:
        """A table that a folder may lack, of an older version or without what it takes; then None."""
        return self.table(name) if (self.finished.folder / f"{name}.csv").is_file() else None

    @cached_property
    def examples(self) -> dict[str, Any] | None:
        """What the run keeps to be looked at."""
        return read_examples(self.finished.folder)


@dataclass(frozen=True)
class Sources:
    """What a report is made of.

    Attributes:
        runs: finished runs, in the order in which they were named.
        trainings: folders that `probe dynamics` wrote.
    """

    runs: list[Tables]
    trainings: list[Tables]


def open_sources(folders: Sequence[Path | str]) -> Sources:
    """Open the folders of a report.

    Args:
        folders: of finished runs, of measured trainings, or a folder that holds several of the latter.

    Raises:
        ProbeError: a folder is neither, or is named twice.
    """
    paths = [Path(folder) for folder in folders]
    if not paths:
        raise ProbeError("Nothing to report: name the folder of at least one run.")
    if len({path.resolve() for path in paths}) < len(paths):
        raise ProbeError("One folder is named twice: name each once.")
    runs: list[Tables] = []
    trainings: list[Tables] = []
    for path in paths:
        below = [] if (path / _DYNAMICS).is_file() else sorted(found.parent for found in path.glob(f"*/{_DYNAMICS}"))
        own = (path / _DYNAMICS).is_file()
        if (path / "run.json").is_file() or not (own or below):
            runs.append(Tables(open_run(path)))
        trainings += [_training(one) for one in ([path] if own else below)]
    return Sources(runs, trainings)


def _training(folder: Path) -> Tables:
    path = folder / _DYNAMICS
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProbeError(f"{path} cannot be read ({error}): repeat probe dynamics.") from error
    if not isinstance(info, dict):
        raise ProbeError(f"{path} was not written by probe dynamics: name a folder that it wrote.")
    return Tables(FinishedRun(folder, info))
