"""The checkpoints of a training: in a folder, as `probe pretrain` and transformers' Trainer leave them, or on the hub.

A checkpoint's name ends in its step: `checkpoint-500`, `step_1000`, `step143000`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from probe.errors import ProbeError
from probe.pretraining.settings import CHECKPOINTS

if TYPE_CHECKING:
    import pandas as pd

_STEP = re.compile(r"(\d+)(k?)$")
_HUB_FILES = ("*.json", "*.safetensors", "*.bin", "*.model", "*.txt")


@dataclass(frozen=True)
class Checkpoint:
    """A model at one step of its training.

    Attributes:
        step: the step, or whatever the number at the end of its name counts.
        folder: holds the model and its tokenizer.
    """

    step: int
    folder: Path


def find_checkpoints(model: str, revisions: Sequence[str] = ()) -> list[Checkpoint]:
    """Find the checkpoints of a training, in the order of their steps.

    Args:
        model: a folder of checkpoints (or a folder with a folder `checkpoints`), or a hub id.
        revisions: of the hub id; their names end in the step.

    Raises:
        ProbeError: there are fewer than two.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        found = _in_folder(folder)
    elif revisions:
        found = [Checkpoint(_step_of(revision), _downloaded(model, revision)) for revision in revisions]
    else:
        raise ProbeError(
            f"There is no folder {model}: name a folder of checkpoints, or a hub id with the revisions to measure "
            "(--revision step1000 --revision step2000)."
        )
    if len(found) < 2:
        raise ProbeError(
            f"{model} holds {len(found)} checkpoints, and dynamics need at least two: name a folder whose subfolders "
            "are models and end in their step (checkpoint-100, checkpoint-200)."
        )
    return sorted(found, key=lambda checkpoint: checkpoint.step)


def _in_folder(folder: Path) -> list[Checkpoint]:
    inner = folder / CHECKPOINTS
    places = (inner if inner.is_dir() else folder).iterdir()
    return [
        Checkpoint(_step_of(place.name), place)
        for place in places
        if _STEP.search(place.name) and (place / "config.json").is_file()
    ]


def _step_of(name: str) -> int:
    found = _STEP.search(name)
    if not found:
        raise ProbeError(f"The revision {name} does not end in a step: name revisions such as step1000.")
    return int(found[1]) * (1000 if found[2] else 1)


def _downloaded(model: str, revision: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        return Path(snapshot_download(model, revision=revision, allow_patterns=list(_HUB_FILES)))
    except (RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ProbeError(f"The Hugging Face hub has no {model} at revision {revision}: check both names.") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise ProbeError(
            f"The Hugging Face hub cannot be reached and {model} at {revision} is not in its cache: name a folder of "
            "checkpoints instead."
        ) from error


def recorded_loss(model: str, checkpoints: Sequence[Checkpoint]) -> pd.DataFrame:
    """The loss that the training recorded: `step, loss`; empty where it recorded none.

    `training.csv` is what `probe pretrain` writes, `trainer_state.json` what transformers' Trainer does.

    Args:
        model: as given to `find_checkpoints`.
        checkpoints: what it found.
    """
    import pandas as pd

    table = Path(model).expanduser() / "training.csv"
    if table.is_file():
        return pd.read_csv(table)[["step", "loss"]]
    state = checkpoints[-1].folder / "trainer_state.json"
    rows = json.loads(state.read_text(encoding="utf-8"))["log_history"] if state.is_file() else []
    return pd.DataFrame(
        [{"step": row["step"], "loss": row["loss"]} for row in rows if "loss" in row], columns=["step", "loss"]
    )
