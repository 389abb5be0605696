import subprocess
import sys
from pathlib import Path

import pytest

from corpora import CorpusError, catalog, open_corpus

from .conftest import write_jsonl


def test_what_comes_with_the_package() -> None:
    entries = {entry.name: entry for entry in catalog()}
    assert {"wikipedia-sample", "bgwiki-sample", "wikipedia"} <= entries.keys()
    assert all(entry.description and entry.license and entry.how_read for entry in entries.values())
    assert open_corpus("wikipedia", language="de").source == "hf:wikimedia/wikipedia:20231101.de:train:text"
    assert open_corpus("wikipedia", language="de").name == "wikipedia-de"
    assert open_corpus("wikipedia").name == "wikipedia"


def test_the_users_own_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_jsonl(tmp_path / "mine.jsonl", [("A", "text")])
    own = tmp_path / "catalog.toml"
    own.write_text(
        '[mine]\nsource = "mine.jsonl"\ndescription = "My texts"\nlanguage = "de"\nlicense = "CC0"\n'
        'lda_unit = "passage"\ntext_field = "title"\n[wikipedia]\nsource = "hf:me/wiki:de"\nlanguage = "de"\n'
    )
    monkeypatch.setenv("PROBE_CATALOG", str(own))
    corpus = open_corpus("mine")
    assert (corpus.name, corpus.language, corpus.license, corpus.lda_unit) == ("mine", "de", "CC0", "passage")
    assert [document.text for document in corpus] == ["A"]
    assert open_corpus("wikipedia").source == "hf:me/wiki:de"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[mine", "is not valid TOML"),
        ("mine = 5", r"\[mine\] is no table"),
        ("[mine]\nfile = 5", "file must be text"),
        ('[mine]\nsource = "a"\nnamespaces = "0"', "namespaces must be a list"),
        ('[mine]\ncolour = "red"', "unknown key 'colour'"),
        ('[mine]\nsource = "a"\nlda_unit = "word"', "lda_unit must be"),
        ('[mine]\ndescription = "x"', "needs a source, or a package and a file"),
    ],
)
def test_a_broken_catalog_is_refused(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "catalog.toml"
    own.write_text(text)
    monkeypatch.setenv("PROBE_CATALOG", str(own))
    with pytest.raises(CorpusError, match=said):
        catalog()


def test_a_catalog_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROBE_CATALOG", str(tmp_path / "none.toml"))
    with pytest.raises(CorpusError, match=r"none.toml cannot be read"):
        open_corpus("wikipedia-sample")


def test_a_corpus_of_a_package_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "catalog.toml"
    own.write_text('[mine]\npackage = "not_installed_here"\nfile = "x.txt"\n')
    monkeypatch.setenv("PROBE_CATALOG", str(own))
    with pytest.raises(CorpusError, match=r"\(pip install not_installed_here\)"):
        open_corpus("mine")


def test_opening_the_sample_imports_nothing_heavy() -> None:
    code = (
        "import sys, corpora; next(iter(corpora.open_corpus('wikipedia-sample'))); "
        "print([name for name in ('torch', 'transformers', 'datasets', 'gensim', 'nltk', 'pyarrow', 'numpy') "
        "if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
