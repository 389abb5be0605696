"""What a report is about: a model in a run, with its rows of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probe.show.foreign import one_line
from probe.show.report.sources import Tables

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 60


@dataclass(frozen=True)
class Subject:
    """A model in a run.

    Attributes:
        number: its place among the subjects, from 0.
        run: the run.
        model: as the run names it.
        label: its name in the report; with the run's where several runs hold such a model.
        thetas: ascending.
    """

    number: int
    run: Tables
    model: str
    label: str
    thetas: tuple[float, ...]

    @property
    def corpus(self) -> dict[str, Any]:
        """What `run.json` says of the corpus."""
        return dict(self.run.info.get("corpus", {}))

    @property
    def theta(self) -> float:
        """The middle theta."""
        return self.thetas[len(self.thetas) // 2]

    def rows(self, name: str) -> pd.DataFrame:
        """The model's rows of a table that every run has."""
        table = self.run.table(name)
        return table[table["model"] == self.model]

    def optional(self, name: str) -> pd.DataFrame | None:
        """The model's rows of a table that a run may lack; None where it has none."""
        table = self.run.optional(name)
        if table is None:
            return None
        mine = table[table["model"] == self.model]
        return mine if len(mine) else None

    def measure(self, measure: str, theta: float, weights: str = "pretrained", site: str | None = None) -> Any:
        """A row of `measures.csv`, single assignment; None where there is none."""
        rows = self.rows("measures")
        here = (rows["measure"] == measure) & (rows["theta"] == theta) & (rows["weights"] == weights)
        here &= rows["assignment"] == "single"
        if site is not None:
            here &= rows["site"] == site
        found = rows[here]
        return found.iloc[0] if len(found) else None

    def example(self) -> dict[str, Any] | None:
        """The passages that the run keeps of the model."""
        content = self.run.examples
        return next((one for one in content["models"] if one["model"] == self.model), None) if content else None


def find_subjects(runs: Sequence[Tables]) -> list[Subject]:
    """Every model of every run.

    Raises:
        ProbeError: a run lacks a table, or it is damaged.
    """
    found = [(run, str(model)) for run in runs for model in run.table("table1")["model"].unique()]
    names = [model for _, model in found]
    subjects = []
    for number, (run, model) in enumerate(found):
        label = shortened(model)
        if names.count(model) > 1:
            label = f"{label} (run {runs.index(run) + 1}, {shortened(run.name)})"
        table = run.table("table1")
        thetas = sorted(float(theta) for theta in table[table["model"] == model]["theta"].unique())
        subjects.append(Subject(number, run, model, label, tuple(thetas)))
    return subjects


def shortened(text: str, longest: int = _LONGEST) -> str:
    """A name that may be of any length, on one line, and cut in the middle where it is very long."""
    text = one_line(text)
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}…{text[-(longest // 2 - 1) :]}"
