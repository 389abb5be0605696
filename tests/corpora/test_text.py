import bz2
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import open_corpus
from corpora.text import LONGEST_DOCUMENT, clean, parts

from .conftest import write_jsonl


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("a\x00b \x07c\x7f\x9fd", "a b  c  d"),
        ("caf\u0065\u0301 \u1112\u1161\u11ab", "café 한"),
        ("\ufeffsoft\u00adware \u200eעברית\u200f", "software עברית"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष शक्\u200cति 👨\u200d👩\u200d👧", "क्\u200dष शक्\u200cति 👨\u200d👩\u200d👧"),
        ("Auf\u200clage ma\u200dil e\u200c\u0301", "Auflage mail é"),
        ("a  \n\t\n\n\n b\t", "a\n\n b"),
    ],
)
def test_clean(raw: str, text: str) -> None:
    assert clean(raw) == (text, raw.count("\x00"))


@pytest.mark.parametrize(
    "separator",
    [*"\x1c\x1d\x1e\x1f\x85\u2028\u2029\u200b", "\u200b\u200b", "\u2063", "\u3164", "\u2800", "\u00a0", "\u3000"],
)
def test_invisible_separators_part_words(separator: str) -> None:
    assert clean(separator.join(["ភាសា", "ខ្មែរ", "word"]))[0].split() == ["ភាសា", "ខ្មែរ", "word"]


@pytest.mark.parametrize("inside", "\u00ad\u2060\ufeff\u200e")
def test_invisible_formatting_inside_a_word_vanishes(inside: str) -> None:
    assert clean(inside.join("word")) == ("word", 0)


@settings(deadline=None)
@given(st.text(st.characters() | st.sampled_from("a\r\n\t \x00\u0301\u093c\ufeff\u200b\u200d\udc80"), max_size=200))
def test_clean_text_is_valid_composed_and_stays_as_it_is(raw: str) -> None:
    text, _ = clean(raw)
    assert clean(text) == (text, 0)
    assert unicodedata.is_normalized("NFC", text)
    text.encode()
    assert "\r" not in text
    assert "\x00" not in text


def test_bad_bytes_are_shown_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "na\xefve caf\xc3\xa9"}\n{"text": "half \\ud83d pair"}\n')
    corpus = open_corpus(str(path))
    assert [document.text for document in corpus] == ["na�ve café", "half � pair"]
    assert corpus.report().replaced == 2


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32"])
def test_declared_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Käse\n\nüber\n", encoding)
    assert [document.text for document in open_corpus(str(path), encoding=encoding)] == ["Käse", "über"]


def test_a_byte_order_mark_overrules_the_default(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for encoding in ("utf-8-sig", "utf-16"):
        path.write_text("Käse\n\nüber\n", encoding)
        assert [document.text for document in open_corpus(str(path))] == ["Käse", "über"]


def test_thousands_of_combining_marks_take_no_time() -> None:
    marks = "".join(chr(0x300 + number % 79) for number in range(200_000))
    started = time.process_time()
    text, _ = clean("a" + marks + " b")
    assert time.process_time() - started < 2
    assert len(text) < 40
    assert text.endswith(" b")


@settings(deadline=None)
@given(st.lists(st.text("ab\u0301", min_size=1, max_size=12), max_size=60), st.sampled_from([" ", "\n", "\n\n"]))
def test_parts_cut_no_word(words: list[str], separator: str) -> None:
    text = separator.join(words)
    cut = parts(text, 40)
    assert all(len(part) <= 40 for part in cut)
    assert [word for part in cut for word in part.split()] == text.split()


def test_parts_of_a_script_without_spaces_end_with_a_sentence() -> None:
    sentence = "吾輩は猫である。"
    assert parts(sentence * 20, 50) == [sentence * 6] * 3 + [sentence * 2]


def test_an_unbroken_run_is_cut_before_no_combining_mark() -> None:
    assert all(not unicodedata.combining(part[0]) for part in parts("e\u0301" * 100, 33))


def test_very_long_documents_come_in_parts(tmp_path: Path) -> None:
    text = "word and more " * (LONGEST_DOCUMENT // 10)
    corpus = open_corpus(str(write_jsonl(tmp_path / "a.jsonl", [("T", text), ("U", "short")])))
    documents = list(corpus)
    assert [document.id for document in documents] == ["1#1", "1#2", "2"]
    assert [document.whole for document in documents] == ["1", "1", "2"]
    assert " ".join(document.text for document in documents[:-1]).split() == text.split()
    assert max(len(document.text) for document in documents) <= LONGEST_DOCUMENT
    assert (corpus.report().split, corpus.report().documents) == (1, 2)


def test_a_very_long_text_file_is_never_read_whole(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(" ".join(map(str, range(200_000))))
    (tmp_path / "short.txt").write_text("short")
    documents = list(open_corpus(str(tmp_path)))
    assert [document.id for document in documents] == ["long.txt:1", "long.txt:2", "long.txt:3", "short.txt:1"]
    assert sum(len(document.text.split()) for document in documents) == 200_001


def test_duplicates_and_empties_are_counted(tmp_path: Path) -> None:
    articles = [("A", "same"), ("B", "other"), ("C", "same \n"), ("D", " \x00 "), ("E", "sa\u00adme")]
    corpus = open_corpus(str(write_jsonl(tmp_path / "a.jsonl", articles)))
    assert [document.title for document in corpus] == ["A", "B"]
    assert corpus.report().skipped == {"duplicate": 2, "empty": 1}


def test_the_report_counts_words_and_names_the_longest(tmp_path: Path) -> None:
    articles = [(f"T{number}", "word " * number + "end") for number in range(1, 15)]
    report = open_corpus(str(write_jsonl(tmp_path / "a.jsonl", articles))).report()
    assert report.documents == 14
    assert report.words == sum(number + 1 for number in range(1, 15))
    assert report.longest == [(f"T{number}", 5 * number + 3) for number in range(14, 4, -1)]
    assert report.as_dict()["documents"] == 14


def test_a_wrong_encoding_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Text in UTF-16 without its mark\n\nand more\n", "utf-16-le")
    report = open_corpus(str(path)).report()
    assert "were no text; is the encoding right?" in report.notes[0]
    assert open_corpus(str(path), encoding="utf-16-le").report().notes == []


def test_garbage_takes_no_longer_than_text(tmp_path: Path) -> None:
    text = "".join(f"Ordinary words, {number} lines of them: café.\n" for number in range(250_000)).encode()
    seconds = {}
    for name, lines in (("text", text), ("garbage", b"\xff" * len(text))):
        path = tmp_path / f"{name}.txt.bz2"
        path.write_bytes(bz2.compress(b"start\n\n" + lines))
        times = []
        for _ in range(3):
            corpus = open_corpus(str(path))
            started = time.process_time()
            length = sum(len(document.text) for document in corpus)
            times.append(time.process_time() - started)
        seconds[name] = min(times)
    assert (length, corpus.report().replaced) == (6, len(text))
    assert seconds["garbage"] < 3 * seconds["text"]


def test_text_in_another_script_than_the_language_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("नदी के किनारे बच्चे खेलते हैं।\n\nA few words.\n", "utf-8")
    assert open_corpus(str(path)).report().notes == [
        "Most letters are Devanagari, and the language is said to be English: name it with --language, on which stop "
        "words depend."
    ]
    assert open_corpus(str(path), language="hi").report().notes == []
