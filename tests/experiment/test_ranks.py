"""Several ranks, started by torchrun, end with the tables of one."""

import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from probe.errors import ProbeError
from probe.experiment.ranks import Ranks
from probe.experiment.run import run_experiment
from probe.experiment.settings import RunSettings
from probe.pretraining.dynamics import measure_dynamics

TABLES = ("table1", "table2", "table5", "measures", "layers", "topics")


def _command(model, corpus, out, ranks):
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    run = [
        "-m", "probe", "run", "--model", model, "--corpus", corpus, "--out", out, "--theta", "0.05", "--topics", "4",
        "--passages", "60", "--max-length", "48", "--batch-tokens", "512", "--resamples", "20", "--no-figures",
    ]  # fmt: skip
    return [*(start if ranks > 1 else start[:1]), *map(str, run)]


@pytest.fixture
def environment(tmp_path):
    return os.environ | {"OMP_NUM_THREADS": "1", "PROBE_CACHE": str(tmp_path / "cache")}


def test_two_ranks_give_the_tables_of_one(tiny_models, small_corpus, tmp_path, environment):
    model = tiny_models("bert")
    for ranks in (1, 2):
        environment["PROBE_CACHE"] = str(tmp_path / f"cache{ranks}")
        command = _command(model, small_corpus, tmp_path / str(ranks), ranks)
        shown = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        assert shown.stdout.count("Table 1.") == 1
        assert shown.stderr.count("Opening corpus") == 1
    for name in TABLES:
        one, two = (pd.read_csv(tmp_path / ranks / f"{name}.csv") for ranks in ("1", "2"))
        pd.testing.assert_frame_equal(one, two, rtol=1e-6, atol=0)
        assert not one.select_dtypes(np.number).isna().all().all()


def test_a_rank_that_dies_ends_the_run_with_a_sentence_and_nothing_written(
    tiny_models, small_corpus, tmp_path, environment
):
    out = tmp_path / "out"
    command = _command(tiny_models("bert"), small_corpus, out, 2)
    # Rank 1 dies as soon as it has joined.
    code = (
        "import os, signal, sys; from probe.experiment import ranks; join = ranks.join_ranks\n"
        "def join_and_die():\n"
        "    joined = join()\n"
        "    if joined.rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return joined\n"
        "ranks.join_ranks = join_and_die\n"
        "from probe.cli import main; main()\n"
    )
    script = tmp_path / "dying.py"
    script.write_text(code)
    at = command.index("-m", 2 + command.index("torch.distributed.run"))
    started = time.monotonic()
    finished = subprocess.run(
        [*command[:at], str(script), *command[at + 2 :]], env=environment, capture_output=True, text=True
    )
    assert finished.returncode != 0
    assert finished.stderr.count("probe: Another rank of this run has ended") == 1
    assert "goes on from what was finished" in finished.stderr
    assert "rank 1" in finished.stderr or "rank      : 1" in finished.stderr  # torchrun says which
    assert "probe/cli/__init__.py" not in finished.stderr  # the trace is torchrun's own
    assert not out.exists()
    assert time.monotonic() - started < 120


@pytest.mark.parametrize(("changed", "sentence"), [("corpus", "standard input"), ("device", "without torchrun")])
def test_what_ranks_cannot_share_is_refused(monkeypatch, changed, sentence):
    monkeypatch.setattr("probe.experiment.context.join_ranks", lambda: Ranks(0, 2))
    with pytest.raises(ProbeError, match=sentence):
        run_experiment(RunSettings(**{changed: {"corpus": "-", "device": "spread"}[changed]}), write=False)


def test_dynamics_are_refused_to_several_ranks(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ProbeError, match="without torchrun"):
        measure_dynamics("my-bert", RunSettings(), tmp_path / "out")
