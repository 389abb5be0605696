"""From what the user typed to a corpus."""

import codecs
import difflib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.compression import ENDINGS, inner_ending
from corpora.corpus import Corpus, Selection
from corpora.errors import CorpusError
from corpora.files import DUMP, StandardInput, matches, open_file, open_folder, open_pattern
from corpora.hub import HubSource
from corpora.named import Entry, catalog
from corpora.objects import open_object
from corpora.source import ARTICLES, Options, Source, unreadable
from corpora.wikipedia import dump_language

HUB = "hf:"
OBJECT = "object:"
"""Before what a record of a run says of a corpus that was an object."""
STANDARD_INPUT = "-"


def open_corpus(
    source: Any,
    *,
    text_field: str | None = None,
    title_field: str | None = None,
    language: str | None = None,
    encoding: str = "utf-8",
    documents: int | None = None,
    sample: str = "first",
    seed: int = 0,
    unit: str | None = None,
) -> Corpus:
    """Opens a corpus without reading it.

    Args:
        source: A name of the catalog, a file, a folder, a pattern of files (``*.txt``), ``-`` for standard
            input, ``hf:owner/name[@revision]:config:split:field``, an object that holds texts (see
            `corpora.objects.open_object`), or an open corpus, which is handed back.
        text_field: Field that holds the text; "text".
        title_field: Field that holds the title; "title", where there is one.
        language: Of the texts (ISO 639); what the source declares, else "en".
        encoding: Of text files.
        documents: How many documents to hand out at most; all by default.
        sample: "first" documents, or a "random" sample.
        seed: Of the random sample.
        unit: "sentence": every sentence is a document of its own; "document" or "passage": what the LDA
            reads, instead of what the corpus's recipe says.

    Raises:
        CorpusError: There is no such corpus, or an option makes no sense.
    """
    if isinstance(source, Corpus):
        return _opened(source, text_field, title_field, language, documents, unit)
    if documents is not None and documents < 1:
        raise CorpusError(f"{documents} documents are no corpus; ask for at least 1.")
    if sample not in ("first", "random"):
        raise CorpusError(f"There is no sample {sample!r}; choose 'first' or 'random'.")
    if unit not in (None, "document", "passage", "sentence"):
        raise CorpusError(f"There is no unit {unit!r}; choose 'document', 'passage' or 'sentence'.")
    if isinstance(source, Path):
        source = str(source)
    named = catalog() if isinstance(source, str) else []
    entry = next((entry for entry in named if entry.name == source), None)
    where = entry.locate(language) if entry else source
    recipe = entry or Entry(name="")
    options = Options(
        text_field=text_field or recipe.text_field or "text",
        title_field=title_field or recipe.title_field or "title",
        encoding=_known_encoding(encoding if encoding != "utf-8" else recipe.encoding or encoding),
        namespaces=recipe.namespaces or (ARTICLES,),
    )
    reader, where, name, declared = _open(where, options, field_given=text_field is not None)
    if entry:
        name = entry.name if language in (None, entry.language) else f"{entry.name}-{language}"
    return Corpus(
        reader,
        name=_fit_for_a_folder(name),
        source=where,
        language=language or (entry.language if entry else declared or "en"),
        license=recipe.license,
        lda_unit=unit if unit in ("document", "passage") else "document" if unit else recipe.lda_unit,
        unit="sentence" if unit == "sentence" else "document",
        selection=_selection(documents, sample, seed),
    )


def _fit_for_a_folder(name: str) -> str:
    """Letters, digits, `_`, `.`, `-`: at most 60 of them, and 120 bytes (a folder's name may have 255)."""
    name = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60]
    return name.encode()[:120].decode(errors="ignore").strip("-.") or "corpus"


def _opened(corpus: Corpus, *options: Any) -> Corpus:
    """A corpus that is open already.

    Raises:
        CorpusError: Options are given that it would have needed when it was opened.
    """
    if any(option is not None for option in options):
        raise CorpusError(f"The corpus {corpus.name} is open already; give its options to open_corpus, not here.")
    return corpus


def _selection(documents: int | None, sample: str, seed: int) -> Selection:
    """Without what makes no difference, so that it makes none to the fingerprint."""
    if documents is None:
        return Selection()
    return Selection(documents, sample, seed) if sample == "random" else Selection(documents)


def _open(where: Any, options: Options, field_given: bool) -> tuple[Source, str, str, str | None]:
    """The source, how it is called in full and in short, and the language it declares."""
    if not isinstance(where, str):
        kind = type(where).__name__
        return open_object(where, options), f"The {kind}", kind, None
    if where.startswith(OBJECT):
        kind = where.removeprefix(OBJECT).replace(":", ", fingerprint ")
        raise CorpusError(f"The corpus of this run was an object in memory ({kind}); give it again, corpus=texts.")
    if where.startswith(HUB):
        hub = _hub(where, options, field_given)
        return hub, where, "-".join(filter(None, (hub.dataset, hub.config))), None
    if where == STANDARD_INPUT:
        piped = StandardInput(options)
        return piped, where, "stdin", _declared_language(piped.paths[0])
    path = Path(where)
    try:
        path = path.expanduser()
        there = path.exists() and where != ""
    except (OSError, RuntimeError) as error:  # RuntimeError: "~name" of no user
        raise unreadable(path, error) from None
    if not there:
        if where and (found := matches(str(path))):
            return open_pattern(found, options), where, where, _declared_language(found[0])
        raise _not_there(where)
    if path.is_dir():
        folder = open_folder(path, options)
        return folder, str(path), path.resolve().name, _declared_language(folder.paths[0])
    return open_file(path, options), str(path), _stem(path), _declared_language(path)


def _known_encoding(encoding: str) -> str:
    try:
        "".encode(encoding)
    except (LookupError, UnicodeError, ValueError):
        raise CorpusError(f"There is no encoding {encoding!r}; UTF-8 is 'utf-8', Latin-1 is 'latin-1'.") from None
    return codecs.lookup(encoding).name


def _declared_language(path: Path) -> str | None:
    return dump_language(path) if inner_ending(path) == DUMP else None


def _stem(path: Path) -> str:
    stem = path.stem if path.suffix.lower() in ENDINGS else path.name
    return Path(stem).stem


def _hub(where: str, options: Options, field_given: bool) -> HubSource:
    dataset, *rest = where.removeprefix(HUB).split(":")
    dataset, _, revision = dataset.partition("@")
    if not dataset or len(rest) > 3:
        raise CorpusError(f"{where!r} names no dataset; write hf:owner/name:config:split:field.")
    config, split, field = (*rest, "", "", "")[:3]
    if field and not field_given:
        options = replace(options, text_field=field)
    return HubSource(dataset, config or None, split or "train", revision or None, options)


def _not_there(where: str) -> CorpusError:
    names = [entry.name for entry in catalog()]
    near = difflib.get_close_matches(where, names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"give a path, hf:owner/name, or one of {', '.join(names)}."
    return CorpusError(f"There is no file or named corpus {where!r}; {hint}")
