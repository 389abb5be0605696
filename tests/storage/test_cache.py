"""Finished work appears whole or not at all, and is used only while it is sound."""

from pathlib import Path

import pytest

import probe
from probe.errors import ProbeError
from probe.storage.cache import Cache
from probe.topics.settings import LdaSettings


def _write(text):
    def write(folder):
        (folder / "file.txt").write_text(text)

    return write


def test_an_entry_is_made_once_and_found_by_its_content(tmp_path):
    cache = Cache(tmp_path)
    folder, found = cache.make("tokens", {"a": 1, "b": [2]}, _write("first"))
    assert not found
    again, found = cache.make("tokens", {"b": [2], "a": 1}, _write("second"))
    assert found
    assert again == folder
    assert (again / "file.txt").read_text() == "first"
    assert cache.find("tokens", {"a": 2}) is None


def test_an_entry_that_fails_leaves_nothing(tmp_path):
    def fail(folder):
        (folder / "file.txt").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cache(tmp_path).make("tokens", {}, fail)
    assert list((tmp_path / "tokens").iterdir()) == []


@pytest.mark.parametrize("harm", ["cut", "changed", "missing", "no manifest", "broken manifest"])
def test_a_damaged_entry_is_made_again(tmp_path, harm):
    cache = Cache(tmp_path)
    folder, _ = cache.make("topics", {}, _write("first"))
    file, manifest = folder / "file.txt", folder / "manifest.json"
    {
        "cut": lambda: file.write_text("fir"),
        "changed": lambda: file.write_text("worst"),
        "missing": file.unlink,
        "no manifest": manifest.unlink,
        "broken manifest": lambda: manifest.write_text("[]"),
    }[harm]()
    again, found = cache.make("topics", {}, _write("second"))
    assert not found
    assert (again / "file.txt").read_text() == "second"


def test_a_folder_that_cannot_be_written_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProbeError, match="--cache DIR"):
        Cache(tmp_path / "file" / "cache").make("tokens", {}, _write("x"))


def test_clearing_removes_what_the_cache_made_and_nothing_else(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    cache = Cache(tmp_path)
    cache.make("tokens", {}, _write("12345"))
    assert [(entry.kind, entry.size > 5) for entry in cache.entries()] == [("tokens", True)]
    assert cache.clear() > 5
    assert cache.entries() == []
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.fixture
def home(monkeypatch):
    """Set the home of a user who has named no cache."""
    monkeypatch.delenv("PROBE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def put(folder):
        if folder is None:
            monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
        monkeypatch.setenv("HOME", str(folder))

    return put


@pytest.mark.parametrize("kind", ["a file", "none"])
def test_without_a_home_work_goes_on_and_one_line_says_that_nothing_is_kept(tmp_path, home, caplog, kind):
    (tmp_path / "home").write_text("")
    home(tmp_path / "home" if kind == "a file" else None)
    for _ in range(2):
        folder, found = Cache().make("tokens", {"a": kind}, _write("first"))
        assert (folder / "file.txt").read_text() == "first"
        Cache().unfinished("sums", {}).write_text("half")
    assert found and Cache().keys("tokens") == [{"a": kind}] and Cache().entries() == []
    assert [record.message.partition(": ")[0] for record in caplog.records] == ["Finished work is not kept"]
    assert "--cache DIR" in caplog.text


def test_a_home_that_can_only_be_read_still_gives_what_it_holds(tmp_path, home, monkeypatch):
    home(tmp_path)
    there, _ = Cache().make("tokens", {}, _write("first"))
    monkeypatch.setattr("probe.storage.cache._why_not_writable", lambda folder: "Read-only file system")
    assert Cache().make("tokens", {}, _write("second")) == (there, True)
    made, found = Cache().make("topics", {}, _write("new"))
    assert not found and tmp_path not in made.parents


def test_a_run_without_a_home(tiny_models, small_corpus, tmp_path, home, monkeypatch):
    home(None)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    probe.run(
        str(tiny_models("bert")), str(small_corpus), 0.05, passages=30, max_length=48, resamples=20, baseline=False,
        lda=LdaSettings(topics=4, chunksize=16), out=tmp_path / "out",
    )  # fmt: skip
    assert (tmp_path / "out" / "run.json").is_file()
