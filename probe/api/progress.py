"""Who hears of the stages, unless the caller says so."""

from __future__ import annotations

from typing import Any

from probe.experiment.progress import Progress


def chosen_progress(progress: Any) -> Progress | None:
    """What receives the stages.

    Args:
        progress: a `Progress`; None for bars in a notebook and nothing elsewhere; False for nothing anywhere.
    """
    if progress is None:
        from probe.show.notebook import NotebookProgress, in_notebook

        return NotebookProgress() if in_notebook() else None
    return progress or None
