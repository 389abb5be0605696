import json
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from corpora import open_corpus
from tests.tiny import save_tiny


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PROBE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def sample_texts() -> list[str]:
    return [document.text for document in open_corpus("wikipedia-sample", documents=12)]


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory, sample_texts):
    """Folder of a small model by family, made when first asked for."""
    made: dict[str, Path] = {}

    def get(family: str) -> Path:
        if family not in made:
            made[family] = save_tiny(family, tmp_path_factory.mktemp(family), sample_texts)
        return made[family]

    return get


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory, sample_texts) -> Path:
    """Twelve real articles cut to their first 3,000 characters."""
    path = tmp_path_factory.mktemp("corpus") / "articles.jsonl"
    path.write_text("".join(json.dumps({"text": text[:3000]}) + "\n" for text in sample_texts))
    return path


@pytest.fixture
def full_disk():
    """A context that gives what fills the disk for the rest of it.

    A limit on the size of files stands for the full disk: what is written beyond it fails in the same way.
    """

    @contextmanager
    def context():
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return context
