"""Topic structure against training step: Table 1's ratios and Figure 5's norms at every checkpoint.

The topics are fitted once and stay the same for all checkpoints of a training, since they share one tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.experiment.progress import Progress, Silent
from probe.experiment.ranks import ranks_started
from probe.experiment.run import run_experiment
from probe.experiment.settings import RunSettings
from probe.pretraining.checkpoints import Checkpoint, find_checkpoints, recorded_loss
from probe.pretraining.onsets import find_first, find_onsets, find_stages
from probe.storage.files import whole_set

if TYPE_CHECKING:
    import pandas as pd

# Written where they hold anything.
_TABLES = ("norms", "loss", "onsets", "first", "stages")
_MEASURES = ("cosine", "dot", "attention")
# Columns of `measures.csv` that are the same in every row here.
_SAME = ("model", "weights", "assignment")


@dataclass(frozen=True)
class Dynamics:
    """What was found at the checkpoints of one training.

    Attributes:
        ratios: single assignment: `step`, then the columns of `measures.csv` from `theta` on.
        norms: `step, layer, matrix, norm`.
        loss: `step, loss`, as the training recorded it; may be empty.
        info: the content of `dynamics.json`.
    """

    ratios: pd.DataFrame
    norms: pd.DataFrame
    loss: pd.DataFrame
    info: dict[str, Any]

    @cached_property
    def onsets(self) -> pd.DataFrame:
        """When each ratio rises (see `find_onsets`)."""
        return find_onsets(self.ratios)

    @cached_property
    def first(self) -> pd.DataFrame:
        """Which comes first, embeddings or attention (see `find_first`)."""
        return find_first(self.onsets)

    @cached_property
    def stages(self) -> pd.DataFrame:
        """When the matrices of attention grow (see `find_stages`)."""
        return find_stages(self.norms)


def measure_trainings(
    models: Sequence[str],
    settings: RunSettings,
    out: Path | str,
    *,
    revisions: Sequence[str] = (),
    cache: Path | str | None = None,
    progress: Progress | None = None,
) -> dict[str, Dynamics]:
    """Measure several trainings, each into a folder of its own, and put them side by side.

    `out` receives a folder a training, `onsets.csv`, `first.csv` and `stages.csv` of all (with the name of the
    training as the column `model`), and the figure `topic-structure` with a column a training.

    Args:
        models: folders of checkpoints, hub ids, or folders that `measure_dynamics` wrote, which are read as they are.
        settings: as for `measure_dynamics`.
        out: folder for the files.
        revisions: of the hub ids.
        cache: folder of finished work.
        progress: receives the stages.

    Returns:
        What was found, by name of the training.

    Raises:
        ProbeError: as for `measure_dynamics`; or two trainings have one name.
        CorpusError: the corpus cannot be read.
    """
    import pandas as pd

    from probe.pretraining.figures import draw_structure

    folder, found = Path(out), dict[str, Dynamics]()
    names = [name_of(model) for model in models]
    if len(set(names)) < len(names):
        raise ProbeError("Two trainings have the same name, and each gets a folder of its name: rename one.")
    for name, model in zip(names, models, strict=True):
        if (Path(model) / "dynamics.csv").is_file():
            found[name] = read_dynamics(model)
        else:
            found[name] = measure_dynamics(
                model, settings, folder / name, revisions=revisions, cache=cache, progress=progress
            )
    with whole_set(folder, last="onsets.csv") as place:
        for kind in ("onsets", "first", "stages"):
            tables = [getattr(dynamics, kind).assign(model=name) for name, dynamics in found.items()]
            table = pd.concat(tables, ignore_index=True)
            _write_table(place / f"{kind}.csv", table[["model", *table.columns.drop("model")]])
        draw_structure(place / "topic-structure", {name: (one.ratios, one.loss) for name, one in found.items()})
    return found


def name_of(model: str) -> str:
    """What a training is called: the last part of its path or hub id."""
    return Path(model).expanduser().resolve().name


def measure_dynamics(
    model: str,
    settings: RunSettings,
    out: Path | str,
    *,
    revisions: Sequence[str] = (),
    cache: Path | str | None = None,
    progress: Progress | None = None,
) -> Dynamics:
    """Measure every checkpoint of a training, and write tables and figures.

    `out` receives `dynamics.csv`, `norms.csv`, `loss.csv`, `onsets.csv`, `first.csv`, `stages.csv` (see `Dynamics`),
    `dynamics.json`, and the figures `figure5` and `topic-structure` as PNG and SVG.

    Args:
        model: a folder of checkpoints, or a hub id.
        settings: of the run at each checkpoint; its `model` and `baseline` are not used.
        out: folder for the files.
        revisions: of the hub id; their names end in the step.
        cache: folder of finished work; `probe.storage.cache.default_cache()` by default.
        progress: receives the stages.

    Raises:
        ProbeError: there are no checkpoints, their tokenizers differ, or they cannot be measured.
        CorpusError: the corpus cannot be read.
    """
    from probe.results.writing import check_writable

    if ranks_started() > 1:
        raise ProbeError(
            "The dynamics of a training are measured by one process: start probe dynamics without torchrun."
        )
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
    steps = table1["model"].map(step_of)
    ratios = table1.drop(columns=list(_SAME)).reset_index(drop=True)
    ratios.insert(0, "step", steps.to_numpy())
    with progress.stage("Taking norms"):
        norms = _norms(model, checkpoints)
    info = {**result.info, "model": name_of(model), "steps": [checkpoint.step for checkpoint in checkpoints]}
    info["arguments"] = {name: value for name, value in info["arguments"].items() if name != "model"}
    for found in info["models"]:
        found["name"] = Path(found["name"]).name
    dynamics = Dynamics(ratios, norms, recorded_loss(model, checkpoints), info)
    with whole_set(folder, last="dynamics.json", replaced=[f"{name}.csv" for name in _TABLES]) as place:
        _write(place, dynamics)
        with progress.stage("Drawing figures"):
            from probe.pretraining.figures import draw_norms, draw_structure

            draw_norms(place / "figure5", norms, dynamics.stages)
            draw_structure(place / "topic-structure", {name_of(model): (ratios, dynamics.loss)})
    return dynamics


def read_dynamics(folder: Path | str) -> Dynamics:
    """Read what `measure_dynamics` wrote.

    Args:
        folder: where it wrote.

    Raises:
        ProbeError: a file is missing or damaged.
    """
    import pandas as pd

    place = Path(folder).expanduser()
    try:
        ratios = pd.read_csv(place / "dynamics.csv", dtype={"note": str})
        ratios["note"] = ratios["note"].fillna("")
        loss = place / "loss.csv"
        return Dynamics(
            ratios,
            pd.read_csv(place / "norms.csv"),
            pd.read_csv(loss) if loss.is_file() else pd.DataFrame(columns=["step", "loss"]),
            json.loads((place / "dynamics.json").read_text(encoding="utf-8")),
        )
    except (OSError, ValueError, KeyError) as error:
        raise ProbeError(
            f"What probe dynamics wrote to {folder} cannot be read ({error}): measure it again."
        ) from error


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
    _write_table(folder / "dynamics.csv", dynamics.ratios)
    for name in _TABLES:
        table = getattr(dynamics, name)
        if len(table):
            _write_table(folder / f"{name}.csv", table)
    text = json.dumps(dynamics.info, indent=2, sort_keys=True) + "\n"
    (folder / "dynamics.json").write_text(text, encoding="utf-8")


def _write_table(path: Path, table: pd.DataFrame) -> None:
    table.to_csv(path, index=False, lineterminator="\n")
