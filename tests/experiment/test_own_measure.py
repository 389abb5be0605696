"""A measure of somebody's own, in one file outside the package, goes through a whole run."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import probe
from probe.errors import ProbeError
from probe.measures.reading import PassReader
from probe.topics.settings import LdaSettings
from tests.measures.nearness import nearness, nearness_literal

FILE = Path(__file__).parent.parent / "measures" / "nearness.py"
NAME = f"{FILE}:Nearness"


@pytest.fixture(scope="module")
def arguments(tiny_models, small_corpus, tmp_path_factory):
    return {
        "model": str(tiny_models("bert")), "corpus": str(small_corpus), "theta": (0.03,), "lda": LdaSettings(topics=4),
        "passages": 60, "max_length": 48, "resamples": 50, "baseline": False, "batch_tokens": 512,
        "cache": tmp_path_factory.mktemp("cache"),
    }  # fmt: skip


@pytest.fixture(scope="module")
def measures(arguments):
    return probe.run(**arguments, measure=(NAME,)).tables["measures"]


def test_it_stands_in_the_table_with_an_interval_and_a_null(measures):
    rows = measures[measures["measure"] == "nearness"]
    assert rows["assignment"].tolist() == ["single", "multiple"]
    assert (rows["low"] <= rows["ratio"]).all() and (rows["ratio"] <= rows["high"]).all()
    assert rows[["null_mean", "null_low", "null_high", "p_value", "frequency_p_value"]].notna().all(axis=None)


def test_it_equals_its_literal_reference():
    means = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_allclose(nearness(means), nearness_literal(means), rtol=1e-6)


def test_the_other_measures_stay_the_same_and_are_not_read_again(arguments, measures, monkeypatch):
    added = []
    made = PassReader.__init__

    def noting(self, model, measures, *more):
        added.append([measure.name for measure in measures])
        made(self, model, measures, *more)

    monkeypatch.setattr(PassReader, "__init__", noting)
    without = probe.run(**arguments).tables["measures"]
    assert added == []
    shared = measures[measures["measure"] != "nearness"].reset_index(drop=True)
    pd.testing.assert_frame_equal(without, shared, rtol=1e-5)
    own = arguments | {"seed": 1}
    probe.run(**own)
    probe.run(**own, measure=(NAME,))
    assert added == [["embeddings", "attention"], ["nearness"]]


def test_it_is_resumed(arguments, measures, monkeypatch, tmp_path):
    monkeypatch.setattr("probe.experiment.model_pass._KEEP_EVERY", 0.0)
    read, batches = PassReader.read, []

    def stopping(self, batch):
        batches.append(batch)
        if len(batches) == 3:
            raise KeyboardInterrupt
        read(self, batch)

    monkeypatch.setattr(PassReader, "read", stopping)
    with pytest.raises(KeyboardInterrupt):
        probe.run(**arguments | {"cache": tmp_path}, measure=(NAME,))
    resumed = probe.run(**arguments | {"cache": tmp_path}, measure=(NAME,)).tables["measures"]
    pd.testing.assert_frame_equal(resumed, measures, check_exact=True)


def test_it_is_shared_by_two_ranks(arguments, measures, tmp_path):
    given = {
        "model": arguments["model"], "corpus": arguments["corpus"], "measure": NAME, "out": str(tmp_path / "out"),
        "theta": "0.03", "topics": "4", "passages": "60", "max-length": "48", "resamples": "50", "batch-tokens": "512",
    }  # fmt: skip
    options = [part for name, value in given.items() for part in (f"--{name}", value)]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["-m", "probe", "run", *options, "--no-baseline", "--no-figures", "--quiet"]
    environment = os.environ | {"PROBE_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    shared = pd.read_csv(tmp_path / "out" / "measures.csv", keep_default_na=False, na_values=[""])
    one, two = (table[table["measure"] == "nearness"] for table in (measures, shared))
    np.testing.assert_allclose(one["ratio"], two["ratio"], rtol=1e-6)
    np.testing.assert_allclose(one["p_value"], two["p_value"])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nearnes", "FILE.py:CLASS"),
        ("nowhere.py:Nearness", "cannot be imported"),
        (f"{FILE}:Closeness", "cannot be imported"),
        (f"{FILE}:NearnessReader", "is no measure"),
    ],
)
def test_what_is_no_measure_is_refused(arguments, name, sentence):
    with pytest.raises(ProbeError, match=sentence):
        probe.run(**arguments, measure=(name,))


def test_two_of_one_name_are_refused(arguments):
    with pytest.raises(ProbeError, match="have the name nearness"):
        probe.run(**arguments, measure=(NAME, NAME))
