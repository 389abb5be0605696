import bz2
import subprocess
import sys
from pathlib import Path

import pytest

from corpora import CorpusError, Document, open_corpus

from .conftest import dump, page


def written(path: Path, text: str, encoding: str = "utf-8") -> str:
    path.write_text(text, encoding)
    return str(path)


def test_the_sample_is_106_articles_in_order(sample: list[Document]) -> None:
    corpus = open_corpus("wikipedia-sample")
    assert len(sample) == 106
    assert [document.title for document in sample[:3]] == ["Anarchism", "Autism", "Albedo"]
    assert sample[0].text.startswith("Anarchism is a political philosophy that advocates self-governed societies")
    assert (corpus.name, corpus.language, corpus.lda_unit) == ("wikipedia-sample", "en", "passage")
    assert list(corpus) == sample
    assert corpus.report().skipped == {"redirect": 99, "other namespace": 1}


def test_the_bulgarian_sample_is_utf_16_and_bulgarian() -> None:
    corpus = open_corpus("bgwiki-sample")
    documents = list(corpus)
    assert corpus.language == "bg"
    assert documents[0].title == "Григориански календар"
    assert "Категория" not in documents[0].text
    assert len(documents) == 3


def test_only_articles_are_read_and_the_rest_is_counted(tmp_path: Path) -> None:
    pages = (
        page("A", "one [[Datei:x.png|mini|hidden]]"),
        page("Talk:A", "talk", namespace="1"),
        page("B", "#REDIRECT [[A]]", redirect=True),
        page("C", "#REDIRECT [[A]]"),
        page("D", "{{only a template}}"),
        page("E", "two", number=5),
    )
    corpus = open_corpus(written(tmp_path / "x.xml", dump(*pages, language="de")))
    assert list(corpus) == [Document("1", "A", "one"), Document("6", "E", "two")]
    assert corpus.language == "de"
    assert corpus.report().skipped == {"other namespace": 1, "redirect": 2, "empty": 1}


@pytest.mark.parametrize("model", ["wikibase-item", "Scribunto", "json", "css", "wikibase-lexeme", "GeoJson.map"])
def test_pages_that_are_no_wikitext_are_left_out_and_counted(tmp_path: Path, model: str) -> None:
    pages = [page("A", "one", model="wikitext"), page("Q1", '{"labels": 1}', model=model), page("B", "two")]
    late = page("C", "local p = {}").replace("</text>", f"</text><model>{model}</model>")
    corpus = open_corpus(written(tmp_path / "x.xml", dump(*pages, late)))
    assert [document.title for document in corpus] == ["A", "B"]
    assert corpus.report().skipped == {"no wikitext": 2}


def test_other_slots_of_a_page_are_not_its_text(tmp_path: Path) -> None:
    slot = "<content><role>mediainfo</role><model>wikibase-mediainfo</model><text>{}</text></content></revision>"
    pages = page("A", "one", model="wikitext").replace("</revision>", slot)
    assert [document.text for document in open_corpus(written(tmp_path / "x.xml", dump(pages)))] == ["one"]


def test_parts_of_a_published_dump_are_known_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "enwiki-20231101-pages-articles1.xml-p1p41242.bz2"
    path.write_bytes(bz2.compress(dump(page("A", "one")).encode()))
    assert [document.text for document in open_corpus(str(path))] == ["one"]


def test_a_dump_of_many_streams_is_read_through(tmp_path: Path) -> None:
    path = tmp_path / "multistream.xml.bz2"
    pieces = [dump(end=""), page("A", "one"), page("B", "two") + "</mediawiki>"]
    path.write_bytes(b"".join(bz2.compress(piece.encode()) for piece in pieces))
    assert [document.title for document in open_corpus(str(path))] == ["A", "B"]


def test_a_truncated_dump_gives_what_is_whole_and_says_where_it_broke(tmp_path: Path) -> None:
    whole = open_corpus("wikipedia-sample")
    path = tmp_path / "cut.xml.bz2"
    path.write_bytes(Path(whole.source).read_bytes()[:900_000])
    corpus = open_corpus(str(path))
    documents = list(corpus)
    assert 0 < len(documents) < 106
    assert documents == list(whole)[: len(documents)]
    (note,) = corpus.report().notes
    assert "ends in the middle of its bzip2 data (byte 900000 of the file)" in note
    assert "read up to page" in note


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("", "ends before its last element is closed"),
        ("<page><title>half", "ends before its last element is closed"),
        ("<page></title>", "not well-formed XML (mismatched tag: line 5"),
    ],
)
def test_broken_xml_gives_what_is_whole(tmp_path: Path, end: str, said: str) -> None:
    text = dump(page("A", "one"), page("B", "two"), end=end)
    corpus = open_corpus(written(tmp_path / "x.xml", text))
    assert [document.title for document in corpus] == ["A", "B"]
    (note,) = corpus.report().notes
    assert said in note
    assert "up to page 2 ('B')" in note


def test_damaged_data_in_the_middle_are_told_from_a_cut(tmp_path: Path) -> None:
    data = bytearray(Path(open_corpus("wikipedia-sample").source).read_bytes())
    data[1_000_000:1_000_100] = bytes(100)
    path = tmp_path / "damaged.xml.bz2"
    path.write_bytes(data)
    corpus = open_corpus(str(path))
    assert 0 < len(list(corpus)) < 106
    assert "holds corrupt bzip2 data near byte" in corpus.report().notes[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<html><body>no dump</body></html>", "its root is <html>"),
        ('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><mediawiki>&b;</mediawiki>', "DOCTYPE"),
        ("<mediawiki><page><title>A", "ends before its last element is closed"),
        ("no xml at all", "not well-formed XML"),
        ('<?xml version="1.0" encoding="klingon"?><mediawiki/>', "encoding that is not known"),
        ("<mediawiki></mediawiki>", "holds no document with text"),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CorpusError, match=said):
        list(open_corpus(written(tmp_path / "x.xml", text)))


def test_declared_and_marked_encodings(tmp_path: Path) -> None:
    text = dump(page("Ä", "ein Käse"))
    header = '<?xml version="1.0" encoding="iso-8859-1"?>'
    for encoding, head in (("latin-1", header), ("utf-8-sig", ""), ("utf-16", ""), ("utf-8", "")):
        corpus = open_corpus(written(tmp_path / "x.xml", head + text, encoding))
        assert [(document.title, document.text) for document in corpus] == [("Ä", "ein Käse")]


def test_bytes_and_characters_xml_forbids_do_not_stop_a_dump(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    text = dump(page("A", "one \x00\x01 two"), page("B", "after")).encode()
    path.write_bytes(text.replace(b"two", b"tw\xff\xfeo"))
    corpus = open_corpus(str(path))
    assert [document.text for document in corpus] == ["one   tw�o".replace("   ", " "), "after"]
    assert corpus.report().replaced == 2


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    path = tmp_path / "long.xml"
    words = " ".join(f"word{number}" for number in range(10_000))
    with path.open("w") as stream:
        stream.write(dump(end=""))
        for number in range(150):
            stream.write(page(f"T{number}", f"{number} {words}", number=number))
        stream.write("</mediawiki>")
    assert path.stat().st_size > 12_000_000
    code = (
        "import resource, sys, corpora\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert sum(1 for _ in corpora.open_corpus(sys.argv[1])) == 150\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8_000  # KiB
