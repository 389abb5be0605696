"""What a run found, to be looked at, compared and kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.results.examples import FILE as EXAMPLES
from probe.results.writing import write_results
from probe.show.foreign import one_line
from probe.storage.files import whole_set

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from probe.show.views import View

_WIDTH = 120
REPORT = "report.html"
_MORE = (
    'More: .table(2), .table(5), .measures, .layers, .topics, .figure("theta"), .compare(other), .save(folder), '
    ".report()"
)
_ELSEWHERE = "The tables of this run are with the process of rank 0."


@dataclass(frozen=True, repr=False)
class RunResult:
    """What a run found. It prints as Table 1, in a notebook as Tables 1, 2 and 5.

    Attributes:
        tables: frames by name: table1, table2, table5, measures, layers, topics, topic_effects, topic_map.
        info: the content of `run.json`.
        folder: where the files are; None where none were written.
        seconds: what each kind of work has taken.
    """

    tables: dict[str, pd.DataFrame]
    info: dict[str, Any]
    folder: Path | None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the run is called: its folder, else its models and corpus."""
        if self.folder:
            return str(self.folder)
        models = dict.fromkeys(one["name"] for one in self.info.get("models", []))
        return f"{'+'.join(models)}-{self.info.get('corpus', {}).get('name', '')}"

    def table(self, which: int | str = 1) -> pd.DataFrame:
        """One of the tables.

        Args:
            which: 1, 2 or 5 for the paper's, or the name of a file without `.csv`.

        Raises:
            ProbeError: the run has no such table.
        """
        name = f"table{which}" if isinstance(which, int) else which
        if name not in self.tables:
            raise ProbeError(f"The run has no table {which}; it has {', '.join(self.tables) or 'none'}.")
        return self.tables[name]

    @property
    def measures(self) -> pd.DataFrame:
        """Every number, a row each."""
        return self.table("measures")

    @property
    def layers(self) -> pd.DataFrame:
        """Attention by layer and head."""
        return self.table("layers")

    @property
    def topics(self) -> pd.DataFrame:
        """The words of the topics."""
        return self.table("topics")

    def figure(self, name: str = "theta") -> Figure:
        """A figure of the run; a notebook shows it.

        Args:
            name: "theta" (ratio by theta, of Table 1), "theta-table5" (of Table 5) or "heads" (by layer and head).

        Raises:
            ProbeError: there is no such figure.
        """
        from probe.show.figures import draw_figure

        return draw_figure(name, {one: self.table(one) for one in ("table1", "table5", "measures", "layers")})

    def compare(self, *others: RunResult | Path | str, table: int = 1) -> pd.DataFrame:
        """This run beside others (see `probe.compare`)."""
        return compare_results(self, *others, table=table)

    def save(self, folder: Path | str) -> Path:
        """Write the tables, `run.json` and `timings.json`; figures and examples of a run that stood there go.

        Args:
            folder: made if missing.

        Returns:
            The folder.

        Raises:
            ProbeError: it cannot be written.
        """
        folder = Path(folder)
        with whole_set(folder, last="run.json", replaced=["figures/*.png", "figures/*.svg", EXAMPLES]) as place:
            write_results(place, self.tables, self.info, self.seconds)
        return folder

    def report(self, out: Path | str | None = None) -> Path:
        """Write the report: one HTML page to look at in a browser. `probe report` puts several runs into one.

        Args:
            out: the file; `report.html` in the run's folder by default, or here where the run has none.

        Returns:
            The file.

        Raises:
            ProbeError: it cannot be written.
        """
        from probe.show.report.write import write_report

        if self.folder is not None:
            return write_report([self.folder], out or self.folder / REPORT)
        self.table()
        with TemporaryDirectory() as place:
            return write_report([self.save(Path(place) / "run")], out or REPORT)

    @classmethod
    def load(cls, folder: Path | str) -> RunResult:
        """A finished run from its folder: the same frames, to the last digit.

        Args:
            folder: that `save` or a run wrote.

        Raises:
            ProbeError: it is no folder of a finished run, or damaged.
        """
        from probe.results.finished import open_run

        finished = open_run(folder)
        return cls(finished.tables(), finished.info, finished.folder, finished.seconds())

    def __repr__(self) -> str:
        if "table1" not in self.tables:
            return _ELSEWHERE
        from probe.show.layout import to_text

        width = shutil.get_terminal_size((_WIDTH, 0)).columns
        return f"{to_text(self._views()[0], width)}{_MORE}"

    def _repr_html_(self) -> str:
        if "table1" not in self.tables:
            return _ELSEWHERE
        from probe.show.notebook import to_html

        return "".join(map(to_html, self._views()))

    def _views(self) -> list[View]:
        from probe.show.views import cooccurrence_view, ratio_view

        views = [ratio_view(1, self.tables["table1"], self.measures)]
        if len(self.tables["table2"]):
            views.append(cooccurrence_view(self.tables["table2"]))
        return [*views, ratio_view(5, self.tables["table5"], self.measures)]


def compare_results(*runs: RunResult | Path | str, table: int = 1) -> pd.DataFrame:
    """Runs side by side, with their differences from the first.

    Rows are matched by model, weights and theta; where every run holds one model, by weights and theta alone.

    Args:
        runs: results or folders of finished runs, at least two; the first is the reference.
        table: which of the paper's: 1, 2 or 5.

    Returns:
        The columns of `probe.results.comparison.COLUMNS`, a row a number.

    Raises:
        ProbeError: there are not two different runs, or one lacks the table.
    """
    from probe.results.comparison import compare
    from probe.results.finished import FinishedRun, HeldRun, open_run

    if table not in (1, 2, 5):
        raise ProbeError(f"There is no table {table} to compare: use 1, 2 or 5.")
    opened: list[FinishedRun] = []
    names: list[str] = []
    for run in runs:
        if not isinstance(run, RunResult):
            opened.append(open_run(run))
            continue
        name = one_line(run.name)
        names.append(name)
        if not run.folder and names.count(name) > 1:  # two runs in memory may be of the same models and corpus
            name += f" ({names.count(name)})"
        # As it is read back: lists for tuples.
        opened.append(HeldRun(Path(name), json.loads(json.dumps(run.info)), run.tables))
    return compare(opened, table)
