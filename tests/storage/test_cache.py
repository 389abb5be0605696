"""Finished work appears whole or not at all, and is used only while it is sound."""

import pytest

from probe.errors import ProbeError
from probe.storage.cache import Cache


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
