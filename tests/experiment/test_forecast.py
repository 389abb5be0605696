"""`probe run --plan`: what a run would do and cost, and that nothing is done."""

import os
import subprocess
import sys

import pytest

import probe
from probe.errors import ProbeError
from probe.experiment import forecast as planning
from probe.experiment.forecast import forecast
from probe.experiment.ranks import Ranks
from probe.experiment.settings import RunSettings
from probe.show.forecast import duration, forecast_view
from probe.show.layout import to_text
from tests.experiment.small import SMALL, lda


@pytest.fixture(scope="module")
def settings(tiny_models, small_corpus):
    return {"model": (str(tiny_models("bert")),), "corpus": str(small_corpus), "lda": lda(), **SMALL}


def test_sizes_are_those_of_the_run_and_nothing_is_kept_of_it(settings, tmp_path):
    (planned,) = forecast(RunSettings(**settings), tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    result = probe.run(**settings, cache=tmp_path / "cache")
    facts = result.info["models"][0]
    assert planned.whole and planned.gigabytes > 0.1
    assert [(step.name, step.size) for step in planned.steps] == [
        ("read and tokenize", f"12 documents, {facts['corpus_tokens']:,} tokens"),
        ("fit 4 topics", "12 documents"),
        ("pass, pretrained weights", "60 passages"),
        ("pass, random weights", "60 passages"),
    ]
    assert all(step.seconds > 0 and not step.kept for step in planned.steps)
    (again,) = forecast(RunSettings(**settings), tmp_path / "cache")
    assert all(step.kept for step in again.steps)
    (other,) = forecast(RunSettings(**settings | {"seed": 1, "lda_seeds": 2}), tmp_path / "cache")
    assert [step.kept for step in other.steps] == [True, False, False, False]
    assert other.steps[1].name == "fit 4 topics, 2 times"


@pytest.fixture
def short_trial(monkeypatch):
    """A corpus of which two documents are read in the time there is."""
    monkeypatch.setattr(planning, "_READING", -1)
    monkeypatch.setattr(planning, "_COUNTING", -1)


def test_a_number_of_documents_is_scaled_to(settings, short_trial, tmp_path):
    (two,) = forecast(RunSettings(**settings | {"documents": 2}), tmp_path)
    (ten,) = forecast(RunSettings(**settings | {"documents": 10}), tmp_path)
    assert ten.steps[0].size.startswith("10 documents, about ") and ten.steps[1].size == "about 10 documents"
    tokens = [int(one.steps[0].size.split()[-2].replace(",", "")) for one in (two, ten)]
    assert tokens[1] == 5 * tokens[0]


def test_what_cannot_be_told_is_said(settings, short_trial, tmp_path):
    (planned,) = forecast(RunSettings(**settings), tmp_path)
    assert not planned.whole and planned.steps[0].seconds is planned.steps[1].seconds is None
    text = to_text(forecast_view([planned]), 120)
    assert "more than 2 documents, more than " in text and "not known" in text
    assert "\nMore than " in text and "name a number with --documents" in text


def test_processes_that_share_a_run_are_refused(settings, tmp_path, monkeypatch):
    monkeypatch.setattr("probe.experiment.context.join_ranks", lambda: Ranks(0, 2))
    with pytest.raises(ProbeError, match="planned by one process"):
        forecast(RunSettings(**settings), tmp_path)


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0 s"), (119, "119 s"), (150, "2 min"), (9000, "2.5 h")])
def test_times_are_said_as_one_says_them(seconds, said):
    assert duration(seconds) == said


def test_the_command_prints_a_table_and_writes_nothing(settings, tmp_path):
    command = [sys.executable, "-m", "probe", "run", "--plan", "--model", settings["model"][0]]
    command += ["--corpus", settings["corpus"], "--max-length", "48", "--topics", "4", "--theta", "0.05"]
    environment = os.environ | {"PROBE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("What the run would do") and "12 documents" in done.stdout
    assert list(tmp_path.iterdir()) == []
