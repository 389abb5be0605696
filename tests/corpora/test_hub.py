"""Hub datasets, with the hub played by a folder and its API by a stand-in."""

from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pyarrow
import pyarrow.parquet
import pytest

from corpora import CorpusError, open_corpus

from .conftest import ARTICLES, write_jsonl
from .test_formats import wikitext_lines


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`datasets` reads a folder of the working directory named like the dataset in its place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        huggingface_hub.HfApi,
        "dataset_info",
        lambda self, dataset, *, revision=None, timeout=None: SimpleNamespace(sha=revision or "abc123"),
    )
    folder = tmp_path / "owner" / "name"
    folder.mkdir(parents=True)
    return folder


def test_a_dataset_is_streamed(hub: Path) -> None:
    table = {"title": [t for t, _ in ARTICLES], "body": [x for _, x in ARTICLES], "n": [1, 2, 3, 4]}
    pyarrow.parquet.write_table(pyarrow.table(table), hub / "train.parquet")
    corpus = open_corpus("hf:owner/name::train:body")
    assert [(document.title, document.text) for document in corpus] == ARTICLES
    assert corpus.report().notes == ["owner/name was read at revision abc123."]
    expected = open_corpus(str(write_jsonl(hub.parent / "a.jsonl", ARTICLES))).report()
    assert corpus.report().text_fingerprint == expected.text_fingerprint
    pinned = open_corpus("hf:owner/name@v2::train:body")
    assert pinned.fingerprint() != corpus.fingerprint()
    assert pinned.report().notes == ["owner/name was read at revision v2."]


def test_a_configuration_is_chosen_and_a_named_field_overrules_the_address(hub: Path) -> None:
    (hub / "README.md").write_text(
        "---\nconfigs:\n"
        + "".join(f"- config_name: {name}\n  data_files: {name}.parquet\n" for name in ("bg", "de"))
        + "---\n"
    )
    for name in ("bg", "de"):
        table = {"text": [f"text {name}"], "body": [f"body {name}"]}
        pyarrow.parquet.write_table(pyarrow.table(table), hub / f"{name}.parquet")
    corpus = open_corpus("hf:owner/name:de")
    assert [document.text for document in corpus] == ["text de"]
    assert corpus.name == "owner-name-de"
    assert [document.text for document in open_corpus("hf:owner/name:bg:train:body")] == ["body bg"]
    assert [document.text for document in open_corpus("hf:owner/name:bg:train:body", text_field="text")] == ["text bg"]
    with pytest.raises(CorpusError, match=r"owner/name cannot be read .*'bg', 'de'"):
        list(open_corpus("hf:owner/name:fr"))


def test_a_dataset_of_wikitext_lines_gives_articles(hub: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"text": wikitext_lines()}), hub / "train.parquet")
    assert [(document.title, document.text) for document in open_corpus("hf:owner/name")] == ARTICLES


def test_names_of_fields_and_splits_are_checked(hub: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"body": ["a"]}), hub / "train.parquet")
    with pytest.raises(CorpusError, match=r"row 1 has no field 'text' \(its fields: 'body'\)"):
        list(open_corpus("hf:owner/name"))
    with pytest.raises(CorpusError, match=r"owner/name cannot be read .*[Bb]ad split"):
        list(open_corpus("hf:owner/name::nonsense:body"))
    for name in ("hf:", "hf:a:b:c:d:e"):
        with pytest.raises(CorpusError, match="write hf:owner/name:config:split:field"):
            open_corpus(name)


def test_a_hub_out_of_reach_names_the_ways_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("Name or service not known\nsecond line")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", unreachable)
    corpus = open_corpus("wikipedia")
    assert (corpus.name, corpus.language, corpus.lda_unit) == ("wikipedia", "en", "document")
    with pytest.raises(CorpusError) as caught:
        next(iter(corpus))
    said = str(caught.value)
    assert "\n" not in said and said.endswith(".")
    assert "(Name or service not known); where the hub is out of reach, give a local file" in said
    assert "--corpus wikipedia-sample" in said
