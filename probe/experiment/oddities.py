"""What is suspicious of a model's weights: said in one line, kept in `run.json`, and refused by a strict run."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from probe.errors import ProbeError
from probe.experiment.context import Context, versions
from probe.models.sources import ModelSource
from probe.show.foreign import one_line

logger = logging.getLogger(__name__)
# Of the file in which they are kept, and of what is looked for.
_FORMAT = 1
_FILE = "oddities.json"
_PACKAGES = ("torch", "transformers")


def judge(source: ModelSource, look: Callable[[], Sequence[str]], context: Context) -> list[str]:
    """Say what is suspicious of trained weights, and refuse them where the run is strict.

    Args:
        source: of the model.
        look: looks for it (see `probe.models.oddities`); called where it is not known from an earlier run.
        context: of the run.

    Returns:
        What was found, each as the end of a sentence; empty for weights that are as they should be.

    Raises:
        ProbeError: something was found, and the run is strict.
    """
    key = {"format": _FORMAT, "model": source.fingerprint, "dtype": context.dtype, "versions": versions(_PACKAGES)}

    def write(folder: Path) -> None:
        (folder / _FILE).write_text(json.dumps(list(look())), encoding="utf-8")

    folder, _ = context.cache.make("oddities", key, write)
    found = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    if found:
        said = f"The weights of {source.name} look damaged: they hold {'; '.join(found)}"
        if context.settings.strict:
            raise ProbeError(f"{said}; use an intact checkpoint, or leave out --strict.")
        if context.ranks.leads:
            logger.warning("WARNING: %s.", one_line(said))
    return found
