"""Corpora in other languages than English run to a table."""

import unicodedata

import probe
from corpora import open_corpus
from corpora.stop_words import stop_words
from probe.topics.settings import LdaSettings
from tests.tiny import save_tiny


def test_the_bulgarian_sample_runs_to_a_table(tmp_path):
    texts = [document.text for document in open_corpus("bgwiki-sample")]
    model = save_tiny("xlm-roberta", tmp_path / "model", texts)
    result = probe.run(
        str(model), "bgwiki-sample", [0.05], cache=tmp_path / "cache", out=tmp_path / "out", baseline=False,
        lda=LdaSettings(topics=4), passages=60, max_length=48, resamples=50,
    )  # fmt: skip
    assert len(result.tables["table1"]) == 1 and (tmp_path / "out" / "table1.csv").is_file()
    measures = result.tables["measures"]
    assert (measures["ratio"].notna() | (measures["note"] != "")).all() and measures["ratio"].notna().any()
    words = set(result.tables["topics"]["surface"])
    assert len(words) > 10 and not words & stop_words("bg").words
    cyrillic = [word for word in words if all(unicodedata.name(letter).startswith("CYRILLIC") for letter in word)]
    assert len(cyrillic) > 0.8 * len(words)
    assert result.info["corpus"]["language"] == "bg"
