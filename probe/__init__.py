"""Probe language models for the topics of their corpus.

import probe

result = probe.run(model="minilm", theta=[0.001], passages=200)
print(result.tables["table1"])
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError

if TYPE_CHECKING:
    from probe.experiment.run import RunResult

__all__ = ["ProbeError", "run"]


def run(
    model: str | Sequence[str] = "minilm",
    corpus: str = "wikipedia-sample",
    theta: float | Sequence[float] | None = None,
    *,
    out: str | Path | None = None,
    cache: str | Path | None = None,
    figures: bool = True,
    words: Sequence[str] = (),
    progress: Any = None,
    **settings: Any,
) -> RunResult:
    """Probe models for the topics of a corpus; the command `probe run` as a function.

    Args:
        model: a model or several (see `probe models`).
        corpus: a corpus (see `probe corpora`).
        theta: ambiguity threshold or several; the paper's three by default.
        out: a folder for the files; none are written by default.
        figures: draw the figures, too, where files are written.
        words: words of the figure of dot products; chosen from the topics where none are named.
        cache: a folder for finished work.
        progress: receives the stages (see `probe.experiment.progress.Progress`).
        settings: the other fields of `probe.experiment.settings.RunSettings`.

    Returns:
        A result whose `tables` are pandas frames equal to the files of `probe run`.

    Raises:
        ProbeError: an argument or an input cannot be used.
    """
    from probe.experiment.run import run_experiment
    from probe.experiment.settings import RunSettings, check_names

    check_names(settings)
    if theta is not None:
        settings["theta"] = (theta,) if isinstance(theta, int | float) else tuple(theta)
    chosen = RunSettings(model=(model,) if isinstance(model, str) else tuple(model), corpus=corpus, **settings)
    return run_experiment(
        chosen, out=out, write=out is not None, figures=figures, words=words, cache=cache, progress=progress
    )
