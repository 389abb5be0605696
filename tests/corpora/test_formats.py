"""The same texts in every format are the same documents."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from corpora import CorpusError, open_corpus

from .conftest import ARTICLES, compress, dump, page, write_jsonl

TABLE = {"title": [title for title, _ in ARTICLES], "text": [text for _, text in ARTICLES], "other": [1, 2, 3, 4]}


def jsonl_crlf(path: Path) -> None:
    write_jsonl(path, ARTICLES)
    path.write_bytes(b"\xef\xbb\xbf\n" + path.read_bytes().replace(b"\n", b"\r\n"))


def json_list(path: Path) -> None:
    rows = [{"title": title, "text": text} for title, text in ARTICLES]
    path.write_text(json.dumps(rows, indent=2), "utf-8")


def json_objects(path: Path) -> None:
    path.write_text("\n".join(json.dumps({"text": x, "title": t}, indent=1) for t, x in ARTICLES), "utf-8")


def separated(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
        rows.writerow(["id", "text", "title"])
        rows.writerows([number, text, title] for number, (title, text) in enumerate(ARTICLES))


def arrow_stream(path: Path) -> None:
    table = pyarrow.table(TABLE)
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


def arrow_file(path: Path) -> None:
    table = pyarrow.table(TABLE)
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


def wikitext_lines() -> list[str]:
    lines = []
    for title, text in ARTICLES:
        lines += [" \n", f" = {title} = \n", " \n", *(f" {line} \n" for line in text.split("\n"))]
    return lines


WRITERS: dict[str, Callable[[Path], object]] = {
    "a.jsonl": lambda path: write_jsonl(path, ARTICLES),
    "crlf.jsonl": jsonl_crlf,
    "a.ndjson": lambda path: write_jsonl(path, ARTICLES),
    "list.json": json_list,
    "objects.json": json_objects,
    "a.csv": separated,
    "a.tsv": separated,
    "a.parquet": lambda path: pyarrow.parquet.write_table(pyarrow.table(TABLE), path, row_group_size=3),
    "stream.arrow": arrow_stream,
    "file.arrow": arrow_file,
    "wiki.train.tokens": lambda path: path.write_text("".join(wikitext_lines()), "utf-8"),
    "wiki.txt": lambda path: path.write_text("".join(wikitext_lines()), "utf-8"),
    "lines.parquet": lambda path: pyarrow.parquet.write_table(pyarrow.table({"text": wikitext_lines()}), path),
    "a.xml": lambda path: path.write_text(dump(*(page(*article) for article in ARTICLES)), "utf-8"),
}
COLUMNS = {name for name in WRITERS if name.endswith((".parquet", ".arrow"))}


@pytest.fixture
def expected(tmp_path: Path) -> str:
    corpus = open_corpus(str(write_jsonl(tmp_path / "expected.jsonl", ARTICLES)))
    assert [(document.title, document.text) for document in corpus] == ARTICLES
    return corpus.report().text_fingerprint


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_texts(name: str, tmp_path: Path, expected: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    assert open_corpus(str(path)).report().text_fingerprint == expected


@pytest.mark.parametrize("name", sorted(set(WRITERS) - COLUMNS))
def test_so_does_every_format_compressed(name: str, tmp_path: Path, expected: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    assert open_corpus(str(compress(path))).report().text_fingerprint == expected


@pytest.mark.parametrize("name", sorted(set(WRITERS) - {"wiki.train.tokens"}))
def test_and_through_standard_input(name: str, tmp_path: Path, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    corpus = open_corpus("-")
    assert (corpus.name, corpus.source) == ("stdin", "-")
    first = list(corpus)
    assert list(corpus) == first
    assert corpus.report().text_fingerprint == expected


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_every_compression_in_several_members(ending: str, tmp_path: Path, expected: str) -> None:
    lines = write_jsonl(tmp_path / "a.jsonl", ARTICLES).read_bytes().splitlines(keepends=True)
    pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress}[ending]
    path = tmp_path / f"b.jsonl.{ending}"
    path.write_bytes(b"".join(map(pack, lines)))
    assert open_corpus(str(path)).report().text_fingerprint == expected
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CorpusError, match=rf"{path.name} ends in the middle of its \w+ data .* fetch it again"):
        list(open_corpus(str(path)))


def test_text_files_of_a_folder_are_a_document_each(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "deeper").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "b.txt").write_text("first paragraph\n\nsecond")
    (folder / "deeper" / "a#1.txt").write_text("third")
    (folder / ".hidden" / "c.txt").write_text("not read")
    (folder / "notes.pdf").write_text("not read")
    write_jsonl(folder / "z.jsonl", [("T", "fourth")])
    corpus = open_corpus(str(folder))
    assert [(d.id, d.title, d.text) for d in corpus] == [
        ("b.txt:1", "b", "first paragraph\n\nsecond"),
        ("deeper/a%231.txt:1", "a#1", "third"),
        ("z.jsonl:1", "T", "fourth"),
    ]
    assert corpus.name == "texts"


def test_a_text_file_by_itself_holds_many_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n\none\nstill one\n \n\ntwo\n")
    assert [(d.id, d.text) for d in open_corpus(str(path))] == [("3", "one\nstill one"), ("7", "two")]
    path.write_text("one\ntwo\nthree")
    assert [(d.id, d.text) for d in open_corpus(str(path))] == [
        ("1", "one"),
        ("2", "two"),
        ("3", "three"),
    ]


def test_patterns_find_files_at_any_depth(tmp_path: Path) -> None:
    for name in ("a/part-1.jsonl", "b/part-2.jsonl", "b/other.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_jsonl(tmp_path / name, [(name, f"text of {name}")])
    found = open_corpus(str(tmp_path / "**" / "part-*.jsonl"))
    assert [document.id for document in found] == ["a/part-1.jsonl:1", "b/part-2.jsonl:1"]


def test_wikitext_marks_are_undone_and_headings_kept(tmp_path: Path) -> None:
    path = tmp_path / "wiki.valid.tokens"
    path.write_text(
        " \n = Gold <unk> dollar = \n \n The <unk> dollar , struck from 1849 to 1889 , was 12 @.@ 7 mm wide ; "
        "1 @,@ 000 half @-@ dollars .\n = 5 = of a line = \n \n "
        "= = Design = = \n \n A coin .\n \n = Next = \n \n Text .\n"
    )
    assert [(document.title, document.text) for document in open_corpus(str(path))] == [
        (
            "Gold dollar",
            "The dollar , struck from 1849 to 1889 , was 12.7 mm wide ; 1,000 half-dollars .\n= 5 = of a line =\n\n"
            "Design\n\nA coin .",
        ),
        ("Next", "Text ."),
    ]


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "jsonl", "parquet", "arrow"])
def test_fields_and_language_can_be_named(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    table = pyarrow.table({"name": ["A", "B"], "body": ["one", "two"]})
    rows = [json.dumps(row) for row in table.to_pylist()]
    if ending == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif ending == "arrow":
        with pyarrow.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    else:
        lines = "name,body\nA,one\nB,two\n"
        path.write_text(
            {
                "csv": lines,
                "tsv": lines.replace(",", "\t"),
                "json": f"[{', '.join(rows)}]",
                "jsonl": "\n".join(rows),
            }[ending]
        )
    corpus = open_corpus(str(path), text_field="body", title_field="name", language="de")
    assert [(document.title, document.text) for document in corpus] == [("A", "one"), ("B", "two")]
    assert corpus.language == "de" and open_corpus(str(path)).language == "en"


def test_a_fingerprint_is_known_before_reading_and_changes_with_what_is_read(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", ARTICLES)
    one = open_corpus(str(path)).fingerprint()
    assert open_corpus(str(path)).fingerprint() == one
    others = {open_corpus(str(path), **options).fingerprint() for options in OPTIONS}
    assert len(others | {one}) == 1 + len(OPTIONS)
    path.write_bytes(path.read_bytes() + b"\n")
    assert open_corpus(str(path)).fingerprint() != one


OPTIONS: list[dict[str, object]] = [
    {"documents": 2},
    {"documents": 2, "sample": "random"},
    {"documents": 2, "sample": "random", "seed": 1},
    {"text_field": "title"},
    {"encoding": "latin-1"},
    {"unit": "sentence"},
]
