from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import Corpus, Document, open_corpus
from corpora.seen import Seen

from .conftest import write_jsonl

ARTICLES = [(f"T{number}", f"text number {number}") for number in range(60)]


def texts(corpus: Corpus) -> list[str]:
    return [document.text for document in corpus]


def shards(folder: Path, count: int) -> str:
    folder.mkdir()
    size = -(-len(ARTICLES) // count)
    for number in range(count):
        write_jsonl(folder / f"{number:02}.jsonl", ARTICLES[number * size : (number + 1) * size])
    return str(folder)


@pytest.mark.parametrize("count", [1, 3, 7])
def test_the_sample_does_not_depend_on_the_shards(tmp_path: Path, count: int) -> None:
    whole = open_corpus(str(write_jsonl(tmp_path / "a.jsonl", ARTICLES)), documents=9, sample="random", seed=5)
    cut = open_corpus(shards(tmp_path / "shards", count), documents=9, sample="random", seed=5)
    assert texts(whole) == texts(cut)
    assert len(texts(cut)) == 9


def test_a_second_reading_gives_the_same_sample_in_the_same_order(tmp_path: Path) -> None:
    corpus = open_corpus(str(write_jsonl(tmp_path / "a.jsonl", ARTICLES)), documents=9, sample="random")
    first = list(corpus)
    fingerprint = corpus.report().text_fingerprint
    assert list(corpus) == first
    assert corpus.report().text_fingerprint == fingerprint
    positions = [int(document.title[1:]) for document in first]
    assert positions == sorted(positions)


def test_every_document_is_as_likely(tmp_path: Path) -> None:
    path = str(write_jsonl(tmp_path / "a.jsonl", ARTICLES[:12]))
    drawn: Counter[str] = Counter()
    for seed in range(400):
        drawn.update(texts(open_corpus(path, documents=3, sample="random", seed=seed)))
    assert len(drawn) == 12
    assert all(70 < count < 130 for count in drawn.values())  # 100 expected, standard deviation 8.7


def test_the_first_documents_are_read_and_no_more(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", ARTICLES[:3])
    path.write_text(path.read_text() + "broken\n")
    assert list(open_corpus(str(path), documents=3)) == [
        Document(str(number + 1), title, text) for number, (title, text) in enumerate(ARTICLES[:3])
    ]


@settings(deadline=None)
@given(st.lists(st.integers(0, 30) | st.integers(2**64 - 20, 2**64 - 1), max_size=80), st.integers(1, 9))
def test_seen_is_a_set(keys: list[int], recent: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corpora.seen.RECENT", recent)
        seen = Seen()
        reference: set[int] = set()
        for key in keys:
            assert seen.add(key) == (key not in reference)
            reference.add(key)


def test_a_sample_larger_than_the_corpus_is_the_corpus(tmp_path: Path) -> None:
    path = str(write_jsonl(tmp_path / "a.jsonl", ARTICLES))
    for sample in ("first", "random"):
        assert len(texts(open_corpus(path, documents=1000, sample=sample))) == 60


def test_a_seed_that_makes_no_difference_makes_none_to_the_fingerprint(tmp_path: Path) -> None:
    path = str(write_jsonl(tmp_path / "a.jsonl", ARTICLES))
    for documents in (None, 5):
        assert (
            open_corpus(path, documents=documents, seed=1).fingerprint()
            == open_corpus(path, documents=documents).fingerprint()
        )
