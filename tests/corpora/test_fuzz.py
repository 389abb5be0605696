"""Whatever bytes a file holds, reading it ends in valid documents or in one sentence.

`FUZZ_EXAMPLES` sets the inputs a reader (see benchmarks/fuzz_readers.py, which runs many more).
"""

import bz2
import gzip
import lzma
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora import CorpusError, Document, catalog, open_corpus
from corpora.markup import is_redirect, plain_text
from corpora.stop_words import stop_words
from corpora.text import NOT_TEXT

from .conftest import ARTICLES, dump, page
from .test_formats import WRITERS

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "25"))
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=20_000,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

# Pieces that mean something to one reader or another.
PIECES = [
    b'{"text": "a"}', b'{"text": null}', b'{"title": 1}', b'"text"', b"{", b"}", b"[", b"]", b",", b":", b'"', b'""',
    b"\\u0000", b"\\ud800", b"\\", b"NaN", b"1e999", b"text,title\n", b"text\ttitle\n", b"\t", b"\r", b"\n", b"\n\n",
    b" = A = \n", b" = = B = = \n", b" \n", b"<mediawiki>", b"</mediawiki>", b"<page>", b"</page>", b"<title>T</title>",
    b"<text>", b"</text>", b"<ns>0</ns>", b"<ns>1</ns>", b"<id>1</id>", b"<redirect/>", b"<!DOCTYPE a>", b"&amp;",
    b"&lt;ref>", b"&bomb;", b"<![CDATA[", b"]]>", b"<?xml version='1.0' encoding='utf-16'?>", b"<siteinfo>",
    b"{{", b"}}", b"[[", b"]]", b"[[File:", b"|", b"{|\n", b"\n|}", b"'''", b"==", b"<ref>", b"</ref>", b"<nowiki>",
    b"<math>", b"<!--", b"-->", b"__TOC__", b"\x00", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80",
    b"\xf4\x8f\xbf\xbf", "é".encode(), "e\u0301".encode(), "日本。".encode(), "\u2028\u0085".encode(), b"PAR1",
]  # fmt: skip
pieces = st.lists(st.sampled_from(PIECES) | st.binary(max_size=8), max_size=40).map(b"".join)


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A whole file, cut, with bytes changed, taken out, put in or repeated."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.integers(0, 40))
        data[start:end] = draw(st.binary(max_size=6) | st.sampled_from([*PIECES, bytes(data[start:end]) * 2]))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def written(name: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / name
    WRITERS[name](path)
    return path.read_bytes()


def one_line(error: CorpusError) -> None:
    said = str(error)
    assert "\n" not in said
    assert said.endswith((".", "?"))


def check(read: Callable[[], list[Document]]) -> None:
    try:
        documents = read()
    except CorpusError as error:
        one_line(error)
        return
    assert documents
    assert len({document.id for document in documents}) == len(documents)
    for document in documents:
        assert document.text.strip() == document.text != ""
        for text in (document.title, document.text):
            text.encode()
            assert unicodedata.is_normalized("NFC", text)
            assert not {"\x00", "\r", NOT_TEXT} & set(text)
        assert "\n" not in document.title


def read_all(path: Path) -> Callable[[], list[Document]]:
    def read() -> list[Document]:
        corpus = open_corpus(str(path))
        documents = list(corpus)
        assert list(corpus) == documents
        assert corpus.report().documents <= len(documents)
        return documents

    return read


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files(name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path / name

    @fuzzed
    @given(damaged(written(name, tmp_path_factory)))
    def fuzz(data: bytes) -> None:
        path.write_bytes(data)
        check(read_all(path))

    fuzz()


@pytest.mark.parametrize(
    "ending", [*sorted({Path(name).suffix for name in WRITERS}), ".xml.gz", ".txt.bz2", ".csv.xz", ".json.zst"]
)
def test_made_up_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"

    @fuzzed
    @given(pieces)
    def fuzz(data: bytes) -> None:
        path.write_bytes(data)
        check(read_all(path))

    fuzz()


@pytest.mark.parametrize(
    ("ending", "pack"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard.compress)],
)
def test_damaged_compression(ending: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    lines = b'{"text": "some words that are packed"}\n{"text": "and more"}\n'
    whole = pack(lines) + pack(lines.replace(b"words", b"things"))
    path = tmp_path / f"a.jsonl{ending}"

    @fuzzed
    @given(damaged(whole))
    def fuzz(data: bytes) -> None:
        path.write_bytes(data)
        check(read_all(path))

    fuzz()


def test_damaged_dumps_compressed(tmp_path: Path) -> None:
    whole = bz2.compress(dump(*(page(*article) for article in ARTICLES)).encode())
    path = tmp_path / "a.xml.bz2"

    @fuzzed
    @given(damaged(whole))
    def fuzz(data: bytes) -> None:
        path.write_bytes(data)
        check(read_all(path))

    fuzz()


@fuzzed
@given(pieces.map(lambda data: data.decode(errors="replace")), st.integers(1, 300))
def test_markup(markup: str, times: int) -> None:
    for text in (markup, markup * times):
        is_redirect(text)
        plain = plain_text(text)
        assert "{{" not in plain
        assert "[[" not in plain
        assert "\x00" not in plain


@fuzzed
@given(pieces, st.sampled_from(["utf-8", "latin-1", "utf-16", "cp1252", "shift_jis", "gb18030", "utf-7"]))
def test_encodings(tmp_path: Path, data: bytes, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    check(lambda: list(open_corpus(str(path), encoding=encoding)))


@fuzzed
@given(pieces | st.text().map(str.encode))
def test_stop_word_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(data)
    try:
        words = stop_words("en", file=path).words
    except CorpusError as error:
        one_line(error)
    else:
        assert all(word and word == word.casefold() for word in words)


@fuzzed
@given(
    st.lists(
        st.sampled_from(
            ["[mine]\n", 'source = "a.txt"\n', "lda_unit = 'x'\n", "namespaces = [0]\n", "=", "[", "]", "\n", "'"]
        )
        | st.text(max_size=5)
    ).map("".join)
)  # fmt: skip
def test_catalogs(tmp_path: Path, text: str) -> None:
    path = tmp_path / "catalog.toml"
    path.write_text(text, "utf-8", "surrogateescape")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROBE_CATALOG", str(path))
        try:
            assert all(entry.name is not None for entry in catalog())
        except CorpusError as error:
            one_line(error)


@fuzzed
@given(st.text(max_size=60) | st.sampled_from(["hf:", "-", "~", "~x", "*", "**", "/", "..", "wikipedia-sample"]))
def test_names_of_sources(tmp_path: Path, source: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        try:
            corpus = open_corpus(source) if source not in ("-", "/", "..") else open_corpus("wikipedia-sample")
        except CorpusError as error:
            one_line(error)
        else:
            assert corpus.name
            assert not {"/", "\x00"} & set(corpus.name)
