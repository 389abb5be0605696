"""`probe.compare` and `probe.load`."""

from __future__ import annotations

from pathlib import Path

from probe.experiment.result import RunResult
from probe.experiment.result import compare_results as compare

__all__ = ["compare", "load"]


def load(folder: Path | str) -> RunResult:
    """A finished run from its folder: the same frames, to the last digit.

    Args:
        folder: that `probe run` or `RunResult.save` wrote.

    Raises:
        ProbeError: it is no folder of a finished run, or damaged.
    """
    return RunResult.load(folder)
