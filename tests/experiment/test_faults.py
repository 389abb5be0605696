"""What goes wrong while a run is under way: one sentence and exit code 2, or a result that says what is missing."""

import errno
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import probe
from probe.cli import main
from probe.errors import ProbeError
from probe.experiment.progress import Silent
from probe.results.writing import check_writable
from probe.storage.files import temporary_folder, whole_set
from probe.topics.settings import LdaSettings

SMALL = {
    "passages": 30, "max_length": 48, "resamples": 20, "theta": (0.05,), "baseline": False,
    "lda": LdaSettings(topics=4, chunksize=16),
}  # fmt: skip


class At(Silent):
    """Progress that does something when a stage begins."""

    def __init__(self, beginning="", act=lambda: None):
        self._beginning, self._act = beginning, act
        self.stages, self.notes = [], []

    @contextmanager
    def stage(self, description, total=None):
        self.stages.append(description)
        if self._beginning and description.startswith(self._beginning):
            self._act()
        yield self

    def note(self, message):
        self.notes.append(message)


@pytest.fixture
def refused(tiny_models, small_corpus, tmp_path, monkeypatch, capsys):
    """Call `probe run`, which must be refused; do something when a stage begins."""

    def call(beginning, act, *, model=None, corpus=None):
        arguments = [
            "run", "--model", str(model or tiny_models("bert")), "--corpus", str(corpus or small_corpus),
            "--topics", "4", "--lda-chunksize", "16", "--theta", "0.05", "--passages", "30", "--max-length", "48",
            "--resamples", "20", "--no-baseline", "--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache"),
        ]  # fmt: skip
        monkeypatch.setattr(sys, "argv", ["probe", *arguments])
        monkeypatch.setattr("probe.show.progress.ConsoleProgress", lambda: At(beginning, act))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err
        assert ended.value.code == 2
        assert said.startswith("probe: ") and said.count("\n") == 1
        return said

    return call


@pytest.mark.parametrize(
    ("beginning", "way_out"),
    [
        ("Reading and tokenizing", "--cache DIR"),
        ("Fitting", "--cache DIR"),
        ("Reading attention", "--cache DIR"),
        ("Making tables", "--out DIR"),
        ("Drawing figures", "--no-figures"),
    ],
)
def test_a_full_disk_leaves_nothing_half_written(refused, full_disk, tmp_path, beginning, way_out):
    with full_disk() as fill:
        said = refused(beginning, fill)
    assert "cannot be" in said and "free some space" in said and way_out in said
    assert not [path for path in tmp_path.rglob("*") if ".writing-" in path.name or ".making-" in path.name]
    assert not list(tmp_path.glob("out/*"))


def test_after_a_full_disk_the_same_command_goes_on(tiny_models, small_corpus, tmp_path, full_disk):
    arguments = {"model": str(tiny_models("bert")), "corpus": str(small_corpus), **SMALL}
    whole = probe.run(**arguments, cache=tmp_path / "other")
    with pytest.raises(ProbeError, match="File too large"), full_disk() as fill:
        probe.run(**arguments, cache=tmp_path / "cache", progress=At("Reading attention", fill))
    progress = At()
    resumed = probe.run(**arguments, cache=tmp_path / "cache", progress=progress)
    assert len(progress.notes) == 2  # the tokens and the topics
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(resumed.tables[name], table, check_exact=True)


def test_a_corpus_that_vanishes(refused, small_corpus, tmp_path):
    path = tmp_path / "articles.jsonl"
    path.write_bytes(small_corpus.read_bytes())
    said = refused("Reading and tokenizing", path.unlink, corpus=path)
    assert "articles.jsonl cannot be read (No such file or directory)" in said
    assert not (tmp_path / "out").exists()


def test_a_model_that_vanishes(refused, tiny_models, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    for path in tiny_models("bert").iterdir():
        (model / path.name).write_bytes(path.read_bytes())
    said = refused("Loading " + str(model), (model / "model.safetensors").unlink, model=model)
    assert f"The weights of {model} cannot be loaded" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("beginning", ["Loading libraries", "Making tables"])
def test_a_read_only_output(refused, tmp_path, monkeypatch, beginning):
    def read_only(*arguments, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def act():
        monkeypatch.setattr(tempfile, "mkdtemp", read_only)

    said = refused(beginning, act)
    assert f"The output folder {tmp_path / 'out'} cannot be written (Read-only file system)" in said
    assert not list(tmp_path.glob("out/*"))
    # At the start it is refused before any work.
    assert (tmp_path / "cache").exists() == (beginning == "Making tables")


def test_looking_whether_a_folder_can_be_written_leaves_no_trace(tmp_path):
    (tmp_path / "there").mkdir()
    for folder in ("there", "new/deeper"):
        check_writable(tmp_path / folder)
    assert list(tmp_path.rglob("*")) == [tmp_path / "there"]
    with pytest.raises(ProbeError, match="File name too long"):
        check_writable(tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    ("package", "redone"), [("topic-probe", "Reading and tokenizing"), ("gensim", "Fitting"), ("torch", "Loading")]
)
def test_a_cache_of_another_version_is_not_trusted(tiny_models, small_corpus, tmp_path, monkeypatch, package, redone):
    arguments = {"model": str(tiny_models("bert")), "corpus": str(small_corpus), "cache": tmp_path, **SMALL}
    whole = probe.run(**arguments)
    version = importlib.metadata.Distribution.version.fget

    def other(distribution):
        return "0.0.1" if distribution.metadata["Name"] == package else version(distribution)

    monkeypatch.setattr(importlib.metadata.Distribution, "version", property(other))
    progress = At()
    again = probe.run(**arguments, progress=progress)
    work = ["Reading and tokenizing", "Fitting", "Loading", "Reading attention"]
    done = [name for name in work if any(stage.startswith(name) for stage in progress.stages)]
    assert done == work[work.index(redone) :]
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table, check_exact=True)


def _write_set(folder, name, figures=("heads.png",)):
    with whole_set(folder, last="run.json", replaced=["figures/*.png", "figures/*.svg"]) as place:
        (place / "figures").mkdir()
        for path in ("table1.csv", "topics.csv", "run.json", *(f"figures/{figure}" for figure in figures)):
            (place / path).write_text(name)


def _contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_two_runs_that_end_in_one_folder_leave_the_files_of_one(tmp_path, monkeypatch):
    replace = Path.replace
    amid = threading.Event()
    second = threading.Thread(target=_write_set, args=(tmp_path, "second"))

    def slow(path, target):
        replace(path, target)
        if threading.current_thread() is not second and not amid.is_set():
            amid.set()
            second.start()
            second.join(timeout=0.5)  # long enough to write everything, were it not held up

    monkeypatch.setattr(Path, "replace", slow)
    _write_set(tmp_path, "first")
    second.join()
    assert set(_contents(tmp_path).values()) == {"second"}


def test_a_run_leaves_no_figure_of_an_earlier_one_and_nobody_elses_file(tmp_path):
    _write_set(tmp_path, "first", figures=["heads.png", "words-bert.svg"])
    (tmp_path / "figures" / "notes.txt").write_text("mine")
    _write_set(tmp_path, "second")
    assert _contents(tmp_path) == {
        "table1.csv": "second",
        "topics.csv": "second",
        "run.json": "second",
        "figures/heads.png": "second",
        "figures/notes.txt": "mine",
    }


def test_a_run_killed_while_its_files_are_moved_is_no_finished_run(tmp_path, monkeypatch):
    _write_set(tmp_path, "first")
    replace = Path.replace

    def killed(path, target):
        if path.name == "topics.csv":
            raise KeyboardInterrupt
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        _write_set(tmp_path, "second")
    assert "run.json" not in _contents(tmp_path)


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    code = (
        "import sys; from pathlib import Path; from probe.storage.files import temporary_folder\n"
        "with temporary_folder(Path(sys.argv[1]), '.making-') as folder:\n"
        "    (folder / 'ids.i4').write_text('half'); print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    with temporary_folder(tmp_path, ".making-"):
        assert len(list(tmp_path.iterdir())) == 2
    process.kill()
    process.communicate()
    assert len(list(tmp_path.iterdir())) == 1
    with temporary_folder(tmp_path, ".making-") as folder:
        assert list(tmp_path.iterdir()) == [folder]
    assert not list(tmp_path.iterdir())


def _topics(*kept):
    """A topic model in whose place `fit_lda` is told to have found these words for each topic."""

    def fit(bags, settings, report):
        likelihoods = np.full((settings.topics, bags.shape[1]), 1e-6)
        for topic, words in enumerate(kept):
            likelihoods[topic, words] = np.arange(1, len(words) + 1)
        return likelihoods

    return fit


FIRST, SECOND, THIRD = range(5), range(5, 10), range(10, 15)


@pytest.mark.parametrize(
    ("kept", "theta", "missing", "sizes"),
    [
        ((FIRST,), 0.05, "no different-topic pair", {0: 5}),
        ((FIRST, SECOND, [], THIRD), 0.05, None, {0: 5, 1: 5, 3: 5}),
        ((FIRST, SECOND, [], THIRD), 1e-9, "no same-topic pair", {0: 1, 1: 1, 3: 1}),
    ],
    ids=["all words in one topic", "a topic left empty", "k = 1"],
)
def test_topics_out_of_the_ordinary_give_a_result_that_says_what_is_missing(
    tiny_models, small_corpus, tmp_path, monkeypatch, kept, theta, missing, sizes
):
    monkeypatch.setattr("probe.topics.lda._fit_gensim", _topics(*kept))
    arguments = {"model": str(tiny_models("bert")), "corpus": str(small_corpus), **SMALL, "theta": (theta,)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = probe.run(**arguments, cache=tmp_path, out=tmp_path / "out")
    assert result.tables["topics"].groupby("topic").size().to_dict() == sizes
    measures = result.tables["measures"].set_index(["assignment", "measure", "site"])
    for kind in ("single", "multiple"):
        row = measures.loc[(kind, "cosine", "word")]
        assert (row["note"] == missing and np.isnan(row["ratio"])) if missing else row["same_pairs"] == 30
    tables = [name for name in result.tables if missing and name in ("table1", "table5")]
    assert all(result.tables[name]["cosine_ratio"].isna().all() for name in tables)
    assert len(list((tmp_path / "out").glob("*.csv"))) == len(result.tables)


@pytest.mark.parametrize("kept", [(), (FIRST[:1],)], ids=["no word", "one word"])
def test_no_labelled_pair_at_all_is_refused(refused, monkeypatch, kept):
    monkeypatch.setattr("probe.topics.lda._fit_gensim", _topics(*kept))
    said = refused("", lambda: None)
    assert "No two words carry a topic" in said and "use a larger --theta" in said


@pytest.fixture
def half(tiny_models, tmp_path):
    """A model whose weights are zero bytes from their middle on, as a copy that broke off leaves them."""
    folder = Path(shutil.copytree(tiny_models("bert"), tmp_path / "half"))
    path = folder / "model.safetensors"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2] + bytes(size - size // 2))
    return folder


def test_weights_that_look_damaged_are_named_in_a_line_and_in_the_record_each_time(
    half, small_corpus, tiny_models, tmp_path, caplog
):
    options = {"corpus": str(small_corpus), **SMALL, "cache": tmp_path / "cache", "figures": False}
    for out in ("first", "again"):
        caplog.clear()
        result = probe.run(str(half), **options, out=tmp_path / out)
        (line,) = [record.getMessage() for record in caplog.records if record.name == "probe.experiment.oddities"]
        assert line.startswith(f"WARNING: The weights of {half} look damaged: they hold rows of zeros at the end of ")
        assert "zeros in the norm" in line
        assert [len(one["suspicious"]) for one in result.info["models"]] == [2]
    assert (tmp_path / "first" / "run.json").read_bytes() == (tmp_path / "again" / "run.json").read_bytes()
    sound = probe.run(str(tiny_models("bert")), **options, strict=True)
    assert "suspicious" not in sound.info["models"][0] and sound.info["arguments"]["strict"]
    assert "strict" not in result.info["arguments"]


@pytest.mark.parametrize("known", [False, True])
def test_weights_that_look_damaged_are_refused_by_a_strict_run(half, small_corpus, tmp_path, known):
    options = {"corpus": str(small_corpus), **SMALL, "cache": tmp_path / "cache"}
    if known:
        probe.run(str(half), **options)
    with pytest.raises(ProbeError, match=r"look damaged: .*; use an intact checkpoint, or leave out --strict"):
        probe.run(str(half), **options, strict=True)


def test_sums_kept_by_a_version_that_did_not_look_are_looked_at(half, small_corpus, tmp_path, caplog):
    options = {"corpus": str(small_corpus), **SMALL, "cache": tmp_path / "cache"}
    whole = probe.run(str(half), **options)
    shutil.rmtree(tmp_path / "cache" / "oddities")
    progress = At()
    assert probe.run(str(half), **options, progress=progress).info == whole.info
    assert not any(stage.startswith("Reading") for stage in progress.stages)
