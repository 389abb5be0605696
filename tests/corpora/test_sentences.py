from pathlib import Path

import nltk
import pytest

from corpora import Document, open_corpus
from corpora.sentences import SentenceSplitter

from .conftest import write_jsonl


def test_abbreviations_are_learned_from_the_corpus(sample: list[Document]) -> None:
    splitter = SentenceSplitter("en", (document.text for document in sample[:20]))
    assert splitter.source == "Punkt, trained on the corpus"
    assert splitter("It was so, e.g. in Rome, until c. 300 BC. Then it ended! Why?\nA heading\nMore.") == [
        "It was so, e.g. in Rome, until c. 300 BC.",
        "Then it ended!",
        "Why?",
        "A heading",
        "More.",
    ]


def test_scripts_without_spaces_are_split_at_their_full_stops() -> None:
    splitter = SentenceSplitter("ja", ["短い文。"])
    assert splitter("日本は島国である。「首都は東京。」と言う！本当？") == [
        "日本は島国である。",
        "「首都は東京。」",
        "と言う！",
        "本当？",
    ]
    assert splitter("यह एक वाक्य है। यह दूसरा है।") == ["यह एक वाक्य है।", "यह दूसरा है।"]


def test_an_installed_model_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "tokenizers" / "punkt_tab" / "german"
    model.mkdir(parents=True)
    (model / "abbrev_types.txt").write_text("bzw\n")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (model / name).write_text("")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    splitter = SentenceSplitter("de-AT", iter(()))
    assert splitter.source == "NLTK punkt_tab, german"
    assert splitter("Das ist rot bzw. blau. Und gut.") == ["Das ist rot bzw. blau.", "Und gut."]


def test_a_corpus_of_sentences(tmp_path: Path) -> None:
    articles = [("A", "One sentence. Another one."), ("B", "A third.")]
    corpus = open_corpus(str(write_jsonl(tmp_path / "a.jsonl", articles)), unit="sentence")
    assert list(corpus) == [
        Document("1#1", "A", "One sentence."),
        Document("1#2", "A", "Another one."),
        Document("2#1", "B", "A third."),
    ]
    assert [document.whole for document in corpus] == ["1", "1", "2"]
    assert (corpus.report().documents, corpus.report().sentences) == (2, 3)
    assert open_corpus("wikipedia-sample", unit="document").lda_unit == "document"
