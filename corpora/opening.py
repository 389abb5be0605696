"""From what the user typed to a corpus."""

import codecs
import difflib
import re
from pathlib import Path

from corpora.compression import ENDINGS, inner_ending
from corpora.corpus import Corpus, Selection
from corpora.errors import CorpusError
from corpora.files import DUMP, FileSource, Options, check_ending, folder_files
from corpora.hub import HubSource
from corpora.named import Entry, catalog
from corpora.source import Source
from corpora.wikipedia import dump_language

HUB = "hf:"


def open_corpus(
    source: str,
    *,
    text_field: str | None = None,
    title_field: str | None = None,
    language: str | None = None,
    encoding: str = "utf-8",
    documents: int | None = None,
    sample: str = "first",
    seed: int = 0,
) -> Corpus:
    """Opens a corpus without reading it.

    Args:
        source: A name of the catalog, a file, a folder, or ``hf:owner/name[@revision]:config:split:field``.
        text_field: Field that holds the text; "text".
        title_field: Field that holds the title; "title", where there is one.
        language: Of the texts (ISO 639); what the source declares, else "en".
        encoding: Of text files.
        documents: How many documents to hand out at most; all by default.
        sample: "first" documents, or a "random" sample.
        seed: Of the random sample.

    Raises:
        CorpusError: There is no such corpus, or an option makes no sense.
    """
    if documents is not None and documents < 1:
        raise CorpusError(f"{documents} documents are no corpus; ask for at least 1")
    if sample not in ("first", "random"):
        raise CorpusError(f"unknown sample {sample!r}; choose 'first' or 'random'")
    entry = next((entry for entry in catalog() if entry.name == source), None)
    where = entry.locate(language) if entry else source
    found = entry or Entry(name="", source=source)
    options = Options(
        text_field=text_field or found.text_field or "text",
        title_field=title_field or found.title_field or "title",
        encoding=_known_encoding(found.encoding or encoding),
        **({"namespaces": found.namespaces} if found.namespaces else {}),
    )
    reader: Source
    if where.startswith(HUB):
        reader = _hub(where, options, text_field)
        declared = None
        name = re.sub(r":(train|text)\b", "", where.removeprefix(HUB))
    else:
        path = Path(where).expanduser()
        reader = _files(path, options, typed=source)
        declared = dump_language(path) if inner_ending(path) == DUMP else None
        where = str(path)
        name = _stem(path)
    return Corpus(
        reader,
        name=entry.name + (f"-{language}" if language and language != entry.language else "")
        if entry
        else re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "corpus",
        source=where,
        language=language or (entry.language if entry else declared or "en"),
        license=found.license,
        lda_unit=found.lda_unit,
        selection=Selection(documents, sample, seed),
    )


def _known_encoding(encoding: str) -> str:
    try:
        "".encode(encoding)
    except (LookupError, UnicodeError):
        raise CorpusError(f"unknown encoding {encoding!r}; UTF-8 is 'utf-8', Latin-1 is 'latin-1'") from None
    return codecs.lookup(encoding).name


def _stem(path: Path) -> str:
    name = path.resolve().name
    if path.is_dir():
        return name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return Path(name).stem


def _hub(where: str, options: Options, text_field: str | None) -> HubSource:
    dataset, *rest = where.removeprefix(HUB).split(":")
    dataset, _, revision = dataset.partition("@")
    if not dataset or len(rest) > 3:
        raise CorpusError(f"{where!r} names no dataset; write hf:owner/name:config:split:field")
    config, split, field = (*rest, "", "", "")[:3]
    if field and not text_field:
        options = Options(field, options.title_field, options.encoding, options.namespaces)
    return HubSource(dataset, config or None, split or "train", revision or None, options)


def _files(path: Path, options: Options, typed: str) -> FileSource:
    if path.is_dir():
        return FileSource(folder_files(path), path, alone=False, options=options)
    if not path.exists():
        names = [entry.name for entry in catalog()]
        near = difflib.get_close_matches(typed, names, n=1, cutoff=0.6)
        hint = (
            f"did you mean {near[0]!r}?"
            if near
            else f"give a path, hf:owner/name, or one of {', '.join(names)}"
        )
        raise CorpusError(f"there is no file or named corpus {typed!r}; {hint}")
    check_ending(path)
    if path.is_file() and path.stat().st_size == 0:
        raise CorpusError(f"{path} is empty; give a file with text")
    return FileSource([path], path.parent, alone=True, options=options)
