"""What a notebook shows."""

import sys
import types

import pytest

from probe.api.progress import chosen_progress
from probe.experiment.progress import Silent
from probe.show import notebook
from probe.show.notebook import NotebookProgress


@pytest.fixture
def displayed(monkeypatch):
    """Everything that is displayed, updates included."""
    found = []

    class Handle:
        def update(self, content):
            found.append(content.data)

    def display(content, display_id):
        found.append(content.data)
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    return found


def test_a_stage_is_a_bar_that_goes_when_it_ends(displayed, monkeypatch):
    monkeypatch.setattr(notebook, "_UPDATE_EVERY", 0)
    progress = NotebookProgress()
    with progress.stage("Reading <i>", 10) as stage:
        stage.at(5)
    with progress.stage("Opening") as stage:
        stage.at(3)
        stage.at(3, 4)
    progress.note("done & <i>")
    assert "<i>" not in "".join(displayed) and "Reading &lt;i&gt;" in displayed[0]
    assert [one.partition("<progress")[2].partition(">")[0] for one in displayed] == [
        ' value="0.000"', ' value="0.500"', "", "", "", ' value="0.750"', "", "",
    ]  # fmt: skip
    assert " s</small>" in displayed[2] and "<progress" not in displayed[2]


def test_bars_are_shown_in_a_notebook_and_nowhere_else(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert chosen_progress(None) is None
    for shell, shown in ((None, False), (types.SimpleNamespace(), False), (types.SimpleNamespace(kernel=1), True)):
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert isinstance(chosen_progress(None), NotebookProgress) is shown
        assert chosen_progress(False) is None
    own = Silent()
    assert chosen_progress(own) is own
