"""MediaWiki dumps: the articles of a wiki, as text."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from corpora.compression import open_bytes
from corpora.document import Document
from corpora.errors import BrokenInputError, CorpusError
from corpora.markup import is_redirect, plain_text
from corpora.report import ReadingReport
from corpora.source import ARTICLES, row_id
from corpora.text import NOT_TEXT, bad_bytes

_CHUNK = 1 << 18
_HEAD = 1 << 14
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*encoding=["']([\w.-]+)["']""")
_LANGUAGE = re.compile(r"""<mediawiki[^>]*\sxml:lang=["']([\w-]+)["']""")
# What XML does not allow at all; a dump cut or joined by hand may hold it.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_HIDDEN = {"-2", "6", "14"}
"""Keys of the namespaces whose links show no text: media, file, category."""

_WIKITEXT = {"", "wikitext", "proofread-page"}
"""Content models of pages that are written in MediaWiki markup; other pages are JSON, code or items of a database."""


@dataclass
class _Page:
    title: str = ""
    namespace: str = ""
    redirect: bool = False
    model: str = ""
    text: str = ""


@dataclass
class _Parser:
    """Expat's callbacks: collects whole pages; the text of pages that are no articles is not kept."""

    name: str
    wanted: tuple[str, ...]
    hidden: list[str] = field(default_factory=list)
    pages: list[_Page] = field(default_factory=list)
    _page: _Page = field(default_factory=_Page)
    _path: list[str] = field(default_factory=list)
    _pieces: list[str] | None = None
    _hides: bool = False

    def __post_init__(self) -> None:
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartDoctypeDeclHandler = self._doctype

    def feed(self, text: str) -> None:
        """Parses on; raises `BrokenInputError` where the XML is not well formed."""
        try:
            self._expat.Parse(_LONE_SURROGATE.sub(NOT_TEXT, _NOT_XML.sub(" ", text)), False)
        except expat.ExpatError as error:
            raise BrokenInputError(f"{self.name} is not well-formed XML ({error}); fetch it again.") from None

    def finished(self) -> bool:
        """Whether the root element was closed."""
        return not self._path

    def _doctype(self, *_: object) -> None:
        raise CorpusError(
            f"{self.name} declares a DOCTYPE, which no MediaWiki dump does; give the dump as it was published."
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not self._path and tag != "mediawiki":
            raise CorpusError(
                f"{self.name} is XML but no MediaWiki dump (its root is <{tag}>); give a dump, .jsonl or .txt."
            )
        self._path.append(tag)
        self._pieces = None
        if tag == "page":
            self._page = _Page()
        elif tag == "redirect":
            self._page.redirect = True
        elif tag == "namespace":
            self._hides = attributes.get("key") in _HIDDEN
            self._pieces = []
        elif self._wants(tag):
            self._pieces = []

    def _wants(self, tag: str) -> bool:
        if "content" in self._path:  # another slot of the page: a picture's data
            return False
        if tag == "text":
            return self._page.namespace in ("", *self.wanted) and not self._page.redirect
        return tag in ("title", "ns", "model")

    def _characters(self, text: str) -> None:
        if self._pieces is not None:
            self._pieces.append(text)

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        self._path.pop()
        if tag == "page":
            self.pages.append(self._page)
        if self._pieces is None:
            return
        text = "".join(self._pieces)
        self._pieces = None
        if tag == "title":
            self._page.title = text
        elif tag == "ns":
            self._page.namespace = text.strip()
        elif tag == "model":
            self._page.model = text.strip()
        elif tag == "text":  # a dump with all revisions: the last one stays
            self._page.text = text
        elif tag == "namespace" and self._hides and text:
            self.hidden.append(text)


def dump_language(path: Path) -> str | None:
    """Language a dump declares in its first element, if it does."""
    try:
        with open_bytes(path) as stream:
            head = stream.read(_HEAD) or b""
        found = _LANGUAGE.search(head.decode(_encoding(head), errors="ignore"))
    except (CorpusError, OSError, LookupError):
        return None  # reading will say what is wrong
    return found[1] if found else None


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    declared = _DECLARED.match(head.removeprefix(b"\xef\xbb\xbf"))
    return codecs.lookup(declared[1].decode()).name if declared else "utf-8-sig"


def read_dump(
    path: Path, name: str, report: ReadingReport, namespaces: tuple[str, ...] = (ARTICLES,)
) -> Iterator[Document]:
    """The articles of a dump, in its order, as plain text; memory holds a few pages at a time.

    Pages outside the namespaces asked for, redirects and pages that are no wikitext are counted and left out. A
    dump that breaks off, or turns to garbage on the way, gives the articles that are whole, and a note in the
    report says where it broke.

    Raises:
        CorpusError: Not a MediaWiki dump, or broken before its first whole page.
    """
    parser = _Parser(str(path), namespaces)
    pages = 0
    last = ""
    broken: BrokenInputError | None = None
    with open_bytes(path) as stream:
        decoder = None
        while broken is None:
            try:
                data = stream.read(_CHUNK) or b""
                if decoder is None:
                    try:
                        encoding = _encoding(data)
                        decoder = codecs.getincrementaldecoder(encoding)(bad_bytes(encoding))
                    except LookupError:
                        raise CorpusError(
                            f"{path} declares an encoding that is not known here; convert it to UTF-8."
                        ) from None
                if not data:
                    if not parser.finished():
                        raise BrokenInputError(f"{path} ends before its last element is closed; fetch it again.")
                    break
                parser.feed(decoder.decode(data))
            except BrokenInputError as error:
                broken = error
            for page in parser.pages:
                pages += 1
                last = page.title
                if page.namespace not in ("", *namespaces):
                    report.skipped["other namespace"] += 1
                elif page.redirect or is_redirect(page.text):
                    report.skipped["redirect"] += 1
                elif page.model not in _WIKITEXT:
                    report.skipped["no wikitext"] += 1
                else:
                    yield Document(row_id(name, pages), page.title, plain_text(page.text, parser.hidden))
            parser.pages.clear()
    if broken:
        if not pages:
            raise broken
        report.notes.append(f"{broken} It was read up to page {pages:,} ({last!r}).")
