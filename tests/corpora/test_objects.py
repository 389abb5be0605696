"""Texts that are objects: lists, iterables, frames, datasets, open corpora."""

import datasets
import pandas as pd
import polars
import pytest

from corpora import Corpus, CorpusError, Document, open_corpus

from .conftest import ARTICLES, write_jsonl
from .test_formats import wikitext_lines

COLUMNS = {"title": [title for title, _ in ARTICLES], "text": [text for _, text in ARTICLES], "n": [1, 2, 3, 4]}
ROWS = [{"title": title, "text": text} for title, text in ARTICLES]


class _Again:
    """Read from the start every time."""

    def __iter__(self):
        yield from ARTICLES


TITLED = {
    "pairs": lambda: list(ARTICLES),
    "an iterable": _Again,
    "a generator": lambda: (article for article in ARTICLES),
    "rows": lambda: ROWS,
    "documents": lambda: [Document("x", *article) for article in ARTICLES],
    "pandas": lambda: pd.DataFrame(COLUMNS, index=[9, 9, 3, 1]),
    "polars": lambda: polars.DataFrame(COLUMNS),
    "Dataset": lambda: datasets.Dataset.from_dict(COLUMNS),
    "IterableDataset": lambda: datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(),
    "a stream of unknown columns": lambda: datasets.IterableDataset.from_generator(lambda: iter(ROWS)),
    "open": lambda: open_corpus(ARTICLES),
}
TEXTS = {
    "a list": lambda: COLUMNS["text"],
    "a tuple": lambda: tuple(COLUMNS["text"]),
    "a pandas Series": lambda: pd.Series(COLUMNS["text"]),
    "a polars Series": lambda: polars.Series(COLUMNS["text"]),
    "a generator": lambda: iter(COLUMNS["text"]),
}


@pytest.fixture
def as_file(tmp_path) -> Corpus:
    return open_corpus(str(write_jsonl(tmp_path / "a.jsonl", ARTICLES)))


@pytest.mark.parametrize("make", TITLED.values(), ids=TITLED)
def test_whatever_holds_the_texts_they_are_those_of_the_file_and_can_be_read_again(make, as_file):
    corpus = open_corpus(make())
    fingerprint = corpus.fingerprint()
    for _ in range(2):
        assert [(document.title, document.text) for document in corpus] == ARTICLES
    assert corpus.report().text_fingerprint == as_file.report().text_fingerprint
    assert fingerprint == open_corpus(list(ARTICLES)).fingerprint() != open_corpus(ARTICLES[:3]).fingerprint()


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
def test_texts_need_no_title(make):
    assert [(document.title, document.text) for document in open_corpus(make())] == [("", text) for _, text in ARTICLES]


def test_other_fields_are_named_and_what_a_frame_leaves_empty_is_left_out():
    frame = pd.DataFrame({"name": ["a", None, "c", "d"], "body": ["one", "two", None, float("nan")]})
    corpus = open_corpus(frame, text_field="body", title_field="name")
    assert [(document.title, document.text) for document in corpus] == [("a", "one"), ("", "two")]
    assert corpus.report().skipped == {"empty": 2}
    assert (corpus.name, corpus.language, corpus.lda_unit) == ("DataFrame", "en", "document")


def test_a_stream_is_read_once_and_no_farther_than_is_needed():
    read = []

    def articles():
        for number in range(1000):
            read.append(number)
            yield f"text {number}"

    for texts in (articles(), datasets.IterableDataset.from_generator(lambda: ({"text": t} for t in articles()))):
        read.clear()
        corpus = open_corpus(texts, documents=3)
        corpus.fingerprint()
        assert [[document.text for document in corpus] for _ in range(2)] == [["text 0", "text 1", "text 2"]] * 2
        assert len(read) < 10


def test_rows_of_wikitext_are_put_together():
    dataset = datasets.Dataset.from_dict({"text": wikitext_lines()})
    assert [(document.title, document.text) for document in open_corpus(dataset)] == ARTICLES


class _Once:
    """Says that it can be read again, and cannot."""

    def __init__(self, texts):
        self._texts = iter(texts)

    def __iter__(self):
        return self._texts


class _Changing:
    def __init__(self):
        self._times = 0

    def __iter__(self):
        self._times += 1
        return iter([f"text {self._times}"])


def _broken():
    yield {"text": "one"}
    raise OSError("the server\nis gone")


def _read_twice(texts, **options):
    corpus = open_corpus(texts, **options)
    corpus.fingerprint()
    return list(corpus)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ([], "The list holds no text"),
        (iter(()), "a generator that was read before is empty"),
        (["", "  "], r"The list holds no document with text \(2 empty\)"),
        (pd.DataFrame({"body": ["a"], "n": [1]}), r"The DataFrame has no field 'text' \(its fields: 'body', 'n'\)"),
        (pd.DataFrame({"text": [1, 2]}), "The DataFrame: row 1 holds int, no text"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "several columns 'text'"),
        (polars.DataFrame({"body": ["a"]}), r"has no field 'text' \(its fields: 'body'\)"),
        (polars.DataFrame({"text": ["a"]}).lazy(), r"frame\.collect\(\)"),
        (datasets.Dataset.from_dict({"body": ["a"]}), "Dataset has no field 'text'"),
        (datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": ["a"]})}), r"several splits.*'train'"),
        (datasets.IterableDataset.from_generator(_broken), r"cannot be read \(the server\)"),
        ([{"body": "a"}], "row 1 has no field 'text'"),
        ([3], "row 1 holds int, no text"),
        ([("a", "b", "c")], "row 1 holds tuple, no text"),
        ({"a": "b"}, r"give list\(texts\.items\(\)\)"),
        ({"a", "b"}, r"give sorted\(texts\)"),
        (b"text", "An object of the class bytes is no corpus"),
        (7, "An object of the class int is no corpus; give a name, a path, a list of texts"),
        (_Once(["a", "b"]), "gives none when it is read again"),
        (_Changing(), "gave other texts when it was read again"),
        ("object:DataFrame:00ff", r"was an object in memory \(DataFrame, fingerprint 00ff\); give it again"),
    ],
)  # fmt: skip
def test_objects_that_hold_no_texts_are_refused_in_one_sentence(texts, sentence):
    with pytest.raises(CorpusError, match=sentence) as refusal:
        _read_twice(texts)
    assert "\n" not in str(refusal.value) and str(refusal.value).endswith(".")


def test_a_stream_that_has_failed_does_not_pass_for_one_that_has_ended():
    def failing():
        yield "one"
        yield 2

    corpus = open_corpus(failing())
    for _ in range(2):
        with pytest.raises(CorpusError, match="row 2 holds int"):
            list(corpus)


def test_options_of_an_open_corpus_are_refused():
    corpus = open_corpus(["a"])
    assert open_corpus(corpus) is corpus
    with pytest.raises(CorpusError, match="The corpus list is open already"):
        open_corpus(corpus, documents=3)


def test_feather_is_read_and_a_spreadsheet_is_not(tmp_path, as_file):
    pd.DataFrame(ROWS).to_feather(tmp_path / "a.feather")
    feather = open_corpus(tmp_path / "a.feather")
    assert feather.report().text_fingerprint == as_file.report().text_fingerprint
    (tmp_path / "a.xlsx").write_bytes(b"PK\3\4")
    with pytest.raises(CorpusError, match="a spreadsheet, which is not read; save its sheet as CSV"):
        open_corpus(tmp_path / "a.xlsx")
