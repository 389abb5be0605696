import unicodedata
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from corpora import CorpusError
from corpora.stop_words import CONTRACTIONS, stop_words
from corpora.text import clean


@pytest.fixture
def nltk_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """NLTK's data as `nltk.download` leaves it."""
    folder = tmp_path / "nltk_data"
    (folder / "corpora").mkdir(parents=True)
    with zipfile.ZipFile(folder / "corpora" / "stopwords.zip", "w") as archive:
        archive.writestr("stopwords/english", "the\nOf\nyou're\n")
        archive.writestr("stopwords/german", "und\nder\nfür\n")
    monkeypatch.setenv("NLTK_DATA", str(folder))
    return folder


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpora.stop_words._nltk_folders", lambda: [tmp_path])


def test_the_list_of_nltk_is_used_where_it_is_installed(nltk_data: Path) -> None:
    found = stop_words("en")
    assert found.words == {"the", "of", "you're"} | CONTRACTIONS["en"]
    assert found.source == "NLTK stopwords, english"
    assert stop_words("de-AT").words == {"und", "der", "für"}
    with zipfile.ZipFile(nltk_data / "corpora" / "stopwords.zip") as archive:
        archive.extractall(nltk_data / "corpora")
    (nltk_data / "corpora" / "stopwords" / "german").write_text("ein\n")
    assert stop_words("de").words == {"ein"}


def test_damaged_data_of_nltk_are_passed_over(nltk_data: Path) -> None:
    (nltk_data / "corpora" / "stopwords.zip").write_bytes(b"PK not a zip")
    assert stop_words("en").source.startswith("gensim")


@pytest.mark.usefixtures("bare")
def test_lists_that_need_no_download() -> None:
    english = stop_words("en")
    assert english.source == "gensim 4.4.0 STOPWORDS" or english.source.startswith("gensim ")
    assert {"the", "of", "s", "t", "ll", "don", "couldn"} <= english.words
    assert stop_words("bg").source == "Stopwords ISO, bg"
    assert {"и", "на", "от"} <= stop_words("bg").words
    assert {"これ", "の", "は"} <= stop_words("ja").words
    assert {"und", "der", "für"} <= stop_words("de").words


@pytest.mark.usefixtures("bare")
def test_every_packaged_list_is_case_folded() -> None:
    lists = [path for path in files("corpora.stop_words").iterdir() if path.name.endswith(".txt")]
    languages = [path.name[:-4] for path in lists if path.name != "LICENSE.txt"]
    assert len(languages) == 57
    for language in languages:
        words = stop_words(language).words
        assert len(words) > 20
        assert all(word == word.casefold() and word == word.strip() for word in words)
        assert all(word == unicodedata.normalize("NFC", word).casefold() for word in words)


@pytest.mark.usefixtures("bare")
def test_lists_hold_words_as_texts_write_them() -> None:
    assert {"ثم", "ثُمَّ", "أن"} <= stop_words("ar").words
    assert clean("वग़ैरह")[0] in stop_words("hi").words and clean("কয়েক")[0] in stop_words("bn").words


def test_the_users_own_list(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("Apfel\n\n  Birne \n", "utf-8-sig")
    found = stop_words("de", file=path)
    assert (found.words, found.source) == ({"apfel", "birne"}, "file mine.txt")
    assert stop_words("en", file=path).words == {"apfel", "birne"} | CONTRACTIONS["en"]


@pytest.mark.usefixtures("bare")
def test_refusals(tmp_path: Path) -> None:
    for language in ("xx", "", "LICENSE", "../de"):
        with pytest.raises(CorpusError, match=r"There are no stop words .* --stop-words FILE"):
            stop_words(language)
    with pytest.raises(CorpusError, match="cannot be read"):
        stop_words("en", file=tmp_path / "none.txt")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(CorpusError, match="cannot be read"):
        stop_words("en", file=tmp_path / "bad.txt")
