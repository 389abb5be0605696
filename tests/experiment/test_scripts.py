"""Ten scripts from `probe pretrain --size tiny` through `probe run` to figures."""

import re
import sys
import unicodedata

import pandas as pd
import pytest

from corpora.stop_words import stop_words
from corpora.text import clean
from probe.cli import main
from probe.show import figures
from probe.text.vocabulary import is_stop_word
from tests.experiment.scripts import PARAGRAPHS, write_corpus

UNPARTED = {"zh", "ja"}
ALL_FIGURES = "hi"
# A word of each topic that a tokenizer which strips accents, or breaks words at vowel signs, would lose.
WORDS = {
    "tr": {"ırmak", "öğretmen"}, "ru": {"рыба", "школа"}, "el": {"ποτάμι", "βιβλίο"}, "ar": {"النهر", "الكتاب"},
    "he": {"הנהר", "תלמיד"}, "hi": {"नदी", "किताब"}, "th": {"แม่น้ำ", "หนังสือ"}, "zh": {"河", "书"}, "ja": {"川", "本"},
    "ko": {"강물", "학생"},
}  # fmt: skip


def _probe(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["probe", *map(str, arguments), "--quiet"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def _words(language: str) -> set[str]:
    """The words of the paragraphs; in Chinese and Japanese single characters and runs of kana."""
    text = clean(" ".join(sentence for topic in PARAGRAPHS[language] for sentence in topic))[0]
    if language == "tr":
        text = text.replace("I", "ı").replace("İ", "i")
    text = text.lower().casefold()
    if language in UNPARTED:
        return set(re.findall(r"[\u4e00-\u9fff]|[\u3040-\u30ff]+", text))
    return {word.strip(".,।") for word in text.split()}


@pytest.mark.parametrize("language", PARAGRAPHS)
def test_paragraphs_of_ten_scripts_go_from_training_to_figures(language, tmp_path, monkeypatch):
    if language != ALL_FIGURES:
        monkeypatch.setattr(figures, "_KINDS", {})  # those by theta hold no words, and take half the time of a run
    corpus = write_corpus(language, tmp_path / "corpus.jsonl")
    given = ("--corpus", corpus, "--language", language, "--cache", tmp_path / "cache", "--device", "cpu")
    _probe(
        monkeypatch, "pretrain", "--family", "bert", "--size", "tiny", "--steps", 2, "--batch-tokens", 512,
        "--out", tmp_path / "model", *given,
    )  # fmt: skip
    _probe(
        monkeypatch, "run", "--model", tmp_path / "model", "--theta", 0.5, "--topics", 2, "--passages", 30,
        "--max-length", 48, "--resamples", 20, "--no-baseline", "--examples", 0, "--out", tmp_path / "out", *given,
    )  # fmt: skip
    topics = pd.read_csv(tmp_path / "out" / "topics.csv", keep_default_na=False)
    shown = {unicodedata.normalize("NFC", word) for word in topics["surface"]}
    assert len(shown) >= 10 and WORDS[language] <= shown
    assert shown <= {unicodedata.normalize("NFC", word) for word in _words(language)}
    assert not [word for word in shown if is_stop_word(word, stop_words(language).words)]
    assert list((tmp_path / "out" / "figures").glob("words-*.svg"))
