"""Topic structure against training step: Table 1's ratios and Figure 5's norms at every checkpoint.

The topics are fitted once and stay the same for all checkpoints, since all share one tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.experiment import run_experiment
from probe.files import whole_set
from probe.pretraining.checkpoints import Checkpoint, find_checkpoints, recorded_loss
from probe.progress import Progress, Silent
from probe.settings import RunSettings

if TYPE_CHECKING:
    import pandas as pd

SIGNIFICANCE = 0.01
_MEASURES = ("cosine", "dot", "attention")
_COLUMNS = [
    "theta",
    "measure",
    "site",
    "same",
    "different",
    "ratio",
    "low",
    "high",
    "null_mean",
    "null_low",
    "null_high",
    "p_value",
    "note",
]


@dataclass(frozen=True)
class Dynamics:
    """What was found at the checkpoints of one training.

    Attributes:
        ratios: single assignment: `step, theta, measure, site, same, different, ratio, low, high, null_mean, null_low,
            null_high, p_value, note`.
        norms: `step, layer, matrix, norm`.
        loss: `step, loss`, as the training recorded it; may be empty.
        onsets: `theta, measure, site, onset, half` (see `find_onsets`).
        info: the content of `dynamics.json`.
    """

    ratios: pd.DataFrame
    norms: pd.DataFrame
    loss: pd.DataFrame
    onsets: pd.DataFrame
    info: dict[str, Any]


def measure_dynamics(
    model: str,
    settings: RunSettings,
    out: Path | str,
    *,
    revisions: Sequence[str] = (),
    cache: Path | str | None = None,
    progress: Progress | None = None,
) -> Dynamics:
    """Measure every checkpoint of a training, and write `dynamics.csv`, `norms.csv`, `onsets.csv` and figures.

    Args:
        model: a folder of checkpoints, or a hub id.
        settings: of the run at each checkpoint; its `model` and `baseline` are not used.
        out: folder for the files.
        revisions: of the hub id; their names end in the step.
        cache: folder of finished work; `probe.cache.default_cache()` by default.
        progress: receives the stages.

    Raises:
        ProbeError: there are no checkpoints, their tokenizers differ, or they cannot be measured.
        CorpusError: the corpus cannot be read.
    """
    from probe.tables import check_writable

    progress, folder = progress or Silent(), Path(out)
    check_writable(folder)
    with progress.stage(f"Looking for the checkpoints of {model}"):
        checkpoints = find_checkpoints(model, revisions)
    step_of = {str(checkpoint.folder): checkpoint.step for checkpoint in checkpoints}
    result = run_experiment(
        replace(settings, model=tuple(step_of), baseline=False), write=False, cache=cache, progress=progress
    )
    if len({found["tokenizer"] for found in result.info["models"]}) > 1:
        raise ProbeError(
            f"The checkpoints of {model} do not share one tokenizer, so their topics differ: keep checkpoints of one "
            "training together."
        )
    measures = result.tables["measures"]
    table1 = measures[(measures["assignment"] == "single") & measures["measure"].isin(_MEASURES)]
    ratios = table1.assign(step=table1["model"].map(step_of))[["step", *_COLUMNS]].reset_index(drop=True)
    with progress.stage("Taking norms"):
        norms = _norms(model, checkpoints)
    steps = [checkpoint.step for checkpoint in checkpoints]
    info = {**result.info, "model": Path(model).name, "steps": steps}
    info["arguments"] = {name: value for name, value in info["arguments"].items() if name != "model"}
    for found in info["models"]:
        found["name"] = Path(found["name"]).name
    dynamics = Dynamics(ratios, norms, recorded_loss(model, checkpoints), find_onsets(ratios), info)
    with whole_set(folder, last="dynamics.json", replaced="loss.csv") as place:
        _write(place, dynamics)
        with progress.stage("Drawing figures"):
            from probe.pretraining.figures import draw_dynamics

            draw_dynamics(place, dynamics)
    return dynamics


def find_onsets(ratios: pd.DataFrame) -> pd.DataFrame:
    """When each ratio rises above chance, and when it is half-way to where it ends.

    Args:
        ratios: of several checkpoints (see `Dynamics`).

    Returns:
        `theta, measure, site, onset, half`. `onset`: the first step from which on the p-value stays below 0.01.
        `half`: the first step from which on the ratio is above 1 by at least half of what it is at the last step.
        Both are missing where there is no such step.
    """
    import pandas as pd

    rows = []
    for (theta, measure, site), group in ratios.groupby(["theta", "measure", "site"], sort=False):
        group = group.sort_values("step")
        last = group["ratio"].iloc[-1]
        rows.append(
            {
                "theta": theta,
                "measure": measure,
                "site": site,
                "onset": _from_then_on(group["step"], group["p_value"] < SIGNIFICANCE),
                "half": _from_then_on(group["step"], (group["ratio"] - 1 >= (last - 1) / 2) & (last > 1)),
            }
        )
    return pd.DataFrame(rows).astype({"onset": "Int64", "half": "Int64"})


def _from_then_on(steps: pd.Series, holds: pd.Series) -> int | None:
    """The first step from which on something holds."""
    first = None
    for step, here in zip(steps[::-1], holds[::-1], strict=True):
        if not here:
            break
        first = int(step)
    return first


def _norms(model: str, checkpoints: Sequence[Checkpoint]) -> pd.DataFrame:
    """What the training recorded between checkpoints, or the norms at each checkpoint."""
    import pandas as pd
    from transformers import AutoModel

    from probe.pretraining.norms import attention_norms

    recorded = Path(model).expanduser() / "norms.csv"
    if recorded.is_file():
        return pd.read_csv(recorded)
    rows = [
        {"step": checkpoint.step, **norm._asdict()}
        for checkpoint in checkpoints
        for norm in attention_norms(AutoModel.from_pretrained(checkpoint.folder))
    ]
    return pd.DataFrame(rows)


def _write(folder: Path, dynamics: Dynamics) -> None:
    tables = {"dynamics": dynamics.ratios, "norms": dynamics.norms, "loss": dynamics.loss, "onsets": dynamics.onsets}
    for name, table in tables.items():
        if len(table):
            table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    text = json.dumps(dynamics.info, indent=2, sort_keys=True) + "\n"
    (folder / "dynamics.json").write_text(text, encoding="utf-8")
