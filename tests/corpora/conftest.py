import gzip
import json
from pathlib import Path

import pytest

from corpora import Document, open_corpus

ARTICLES = [
    ("Quicksilver", "Mercury is a metal.\n\nIt is liquid, at 20 °C."),
    ("Ärger", 'Zwei "Wörter", ein Satz.\nNoch eine Zeile mit "Punkt".'),
    ("日本", "日本は島国である。首都は東京。"),
    ("Commas, and \"quotes\"", "one, two\nthree; four"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_user_catalog(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PROBE_CATALOG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-configuration"))


@pytest.fixture(scope="session")
def sample() -> list[Document]:
    return list(open_corpus("wikipedia-sample"))


def write_jsonl(path: Path, articles: list[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"title": t, "text": x}) + "\n" for t, x in articles), "utf-8")
    return path


def page(title: str, text: str, namespace: str = "0", redirect: bool = False, number: int = 1, model: str = "") -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    pointer = f'<redirect title="{title}"/>' if redirect else ""
    kind = f"<model>{model}</model><format>x</format>" if model else ""
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><id>{number}</id>{pointer}"
        f"<revision><id>9</id>{kind}<text>{escaped}</text></revision></page>\n"
    )


def dump(*pages: str, language: str = "en", end: str = "</mediawiki>") -> str:
    spaces = '<siteinfo><namespaces><namespace key="6">Datei</namespace></namespaces></siteinfo>'
    return f'<mediawiki xml:lang="{language}">\n{spaces}\n{"".join(pages)}{end}'


def compress(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed
