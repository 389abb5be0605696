"""Whatever cannot be read is refused in one sentence that names it and the way out."""

import io
import os
import re
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from corpora import Corpus, CorpusError, open_corpus
from corpora import rows as rows_module

FILES: dict[str, tuple[bytes, str]] = {
    "empty.jsonl": (b"", "is empty; give a file with text"),
    "blank.jsonl": (b"\n\n  \n", r"holds no document with text \(it is empty\)"),
    "blanks.jsonl": (b'{"text": " "}\n{"text": null}\n', r"holds no document with text \(2 empty\)"),
    "broken.jsonl": (b'{"text": "a"}\n{"text": "b"\n', "line 2 is not JSON .* mend or remove that line"),
    "cut.jsonl": (b'{"text": "a"}\n{"te', "line 2 is not JSON"),
    "other.jsonl": (b'{"body": "a", "n": 1}', r"no field 'text' \(its fields: 'body', 'n'\).*--text-field"),
    "list.jsonl": (b'["a"]\n', "line 1 holds list, not an object"),
    "number.jsonl": (b'{"text": 5}\n', "line 1: the field 'text' holds int, no text"),
    "deep.jsonl": (b"[" * 100_000, "line 1 is not JSON"),
    "digits.jsonl": (b'{"text": ' + b"9" * 5000 + b"}", "line 1 is not JSON"),
    "cut.json": (b'[{"text": "a"}, ', "ends before its list does"),
    "broken.json": (b'[{"text": "a"}, {"text": ]', "record 2 is not JSON"),
    "comma.json": (b'[{"text": "a"} {"text": "b"}]', "record 1 is not followed by a comma"),
    "after.json": (b'[{"text": "a"}] {"text": "b"}', "goes on after its list has ended"),
    "columns.json": (b'{"text": {"0": "a"}}', "record 1: the field 'text' holds dict, no text"),
    "names.csv": (b"a,b\n1,2\n", r"line 1 has no field 'text' \(its fields: 'a', 'b'\)"),
    "short.csv": (b"title,text\nA,one\nB\n", "line 3 has 1 values for 2 names"),
    "quote.csv": (b'title,text\nA,"never closed\n', "line 2 is broken"),
    "no.parquet": (b"PAR1 this is none PAR1", "is no whole Parquet file"),
    "no.arrow": (b"this is no arrow file", "is no whole Arrow file"),
    "a.pdf": (b"%PDF-1.4", "has an ending that is not known; what can be read: .txt"),
    "nothing": (b"text", "has an ending that is not known"),
    "dump.xml.7z": (b"7z\xbc\xaf", r"is an archive, which is not opened here; unpack it first \(7z x dump.xml.7z\)"),
    "texts.tar.gz": (b"\x1f\x8b", r"unpack it first \(tar -xf texts.tar.gz\)"),
    "texts.zip": (b"PK", r"unpack it first \(unzip texts.zip\)"),
    "a.parquet.gz": (b"\x1f\x8b", "has an ending that is not known"),
    "a.jsonl.gz": (b'{"text": "a"}\n', "is corrupt: it does not hold the gzip data its name promises"),
    "a.jsonl.bz2": (b"BZh9" + bytes(50), "holds corrupt bzip2 data"),
    "a.jsonl.xz": (b"\xfd7zXZ\x00" + bytes(50), "holds corrupt xz data"),
    "a.jsonl.zst": (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "holds corrupt zstd data"),
    "b.jsonl.gz": (b"\x1f\x8b\x08\x00" + bytes(50), "holds corrupt gzip data"),
}  # fmt: skip


def refusal(*args: object, **options: object) -> str:
    with pytest.raises(CorpusError) as caught:
        list(open_corpus(*args, **options))
    said = str(caught.value)
    assert "\n" not in said
    assert not said[0].islower() and said.endswith((".", "?"))
    assert len(said) < 500
    return said


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    data, pattern = FILES[name]
    (tmp_path / name).write_bytes(data)
    said = refusal(str(tmp_path / name))
    assert re.search(pattern, said)
    assert name in said


def test_what_is_not_there() -> None:
    assert "did you mean 'wikipedia-sample'?" in refusal("wikipedia-sampel")
    assert "There is no file or named corpus 'nowhere.jsonl'; give a path" in refusal("nowhere.jsonl")
    assert "There is no file or named corpus ''" in refusal("")
    assert "no file or named corpus" in refusal("nowhere/*.txt")
    assert "no file or named corpus" in refusal("a\x00b")
    assert "no file or named corpus" in refusal("a**b/***")
    assert "cannot be read" in refusal("X" * 300)


def test_folders_without_text(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"x")
    assert "holds no file that can be read" in refusal(str(tmp_path))


def test_patterns_that_find_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.7z").write_text("b")
    assert "unpack it first (7z x b.7z)" in refusal(str(tmp_path / "*"))


def test_a_file_that_may_not_be_read_or_vanishes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n')
    corpus = open_corpus(str(path))
    path.unlink()
    with pytest.raises(CorpusError, match=r"a.jsonl cannot be read \(No such file or directory\)"):
        list(corpus)
    with pytest.raises(CorpusError, match=r"a.jsonl cannot be read \(No such file or directory\)"):
        corpus.fingerprint()


def test_a_file_that_changes_while_it_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for reading in (list, Corpus.fingerprint):
        path.write_text('{"text": "a"}\n{"text": "b"}\n')
        corpus = open_corpus(str(path))
        reading(corpus)
        assert [document.text for document in corpus] == ["a", "b"]
        documents = iter(corpus)
        next(documents)
        path.write_text('{"text": "a"}\n{"text": "b"}\n{"text": "c"}\n')
        with pytest.raises(CorpusError, match=r"a.jsonl changed while it was in use; start again .*\.$"):
            list(documents)


def test_a_pipe_with_a_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    assert "is no regular file and cannot be read twice" in refusal(str(tmp_path / "a.txt"))


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    assert "0 documents are no corpus" in refusal(str(path), documents=0)
    assert "There is no sample 'best'" in refusal(str(path), sample="best")
    assert "There is no unit 'word'" in refusal(str(path), unit="word")
    for encoding in ("klingon", "rot13", "undefined", "a\x00"):
        assert "There is no encoding" in refusal(str(path), encoding=encoding)


def test_lines_and_records_too_long_to_be_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpora.plain.LONGEST_LINE", 1000)
    monkeypatch.setattr(rows_module, "LONGEST_LINE", 1000)
    line = b'{"text": "' + b"a" * 2000 + b'"}'
    for name, said in (("a.jsonl", "line 1 is longer than 1,000"), ("a.csv", "field larger than field limit")):
        (tmp_path / name).write_bytes(line if name == "a.jsonl" else b'text\n"' + b"a\n" * 1000 + b'"\n')
        assert said in refusal(str(tmp_path / name))
    (tmp_path / "a.json").write_bytes(b'[{"text": "' + b"a" * 3_000_000)
    assert "record 1 is not JSON" in refusal(str(tmp_path / "a.json"))


def test_columns_without_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"body": ["a"]}), path)
    assert "has no field 'text' (its fields: 'body')" in refusal(str(path))
    pyarrow.parquet.write_table(pyarrow.table({"text": [1, 2]}), path)
    assert "row 1: the field 'text' holds int, no text" in refusal(str(path))


def test_standard_input_with_nothing_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "Standard input is empty" in refusal("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"7z\xbc\xaf'\x1c")))
    assert "Standard input holds an archive" in refusal("-")
    terminal = io.TextIOWrapper(io.BytesIO(b""))
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert "Nothing is piped into standard input" in refusal("-")
