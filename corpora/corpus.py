"""A corpus: cleaned, deduplicated, sampled documents out of any source."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from corpora.document import PART, Document
from corpora.errors import CorpusError
from corpora.report import ReadingReport
from corpora.sampling import at_positions, reservoir, text_key
from corpora.seen import Seen
from corpora.sentences import SentenceSplitter
from corpora.source import READER_VERSION, Source
from corpora.text import LONGEST_DOCUMENT, clean, parts


@dataclass(frozen=True)
class Selection:
    """Which documents are handed out.

    Attributes:
        documents: How many at most; all where None.
        sample: "first", or "random" (uniform, without replacement).
        seed: Of the random sample.
    """

    documents: int | None = None
    sample: str = "first"
    seed: int = 0


class Corpus:
    """An ordered, named, fingerprinted source of documents. Iterate it as often as needed.

    Every iteration reads the source anew, a few documents at a time, and gives the same documents in the same
    order: cleaned (`corpora.text.clean`), none empty, no text twice, very long ones in parts.

    Attributes:
        name: Short; fit for the name of a folder.
        source: Where it is read from: a path, ``hf:...``, ``-``, or the class of an object.
        language: ISO 639.
        license: Of the texts; "not stated" where unknown.
        lda_unit: What the LDA reads: "document" or "passage".
        unit: "document", or "sentence": every sentence is then a document of its own (`Document.whole` tells
            which document it is of).
        selection: Which documents are handed out.
    """

    def __init__(
        self,
        reader: Source,
        *,
        name: str,
        source: str,
        language: str,
        license: str,
        lda_unit: str,
        unit: str,
        selection: Selection,
    ) -> None:
        self.name = name
        self.source = source
        self.language = language
        self.license = license
        self.lda_unit = lda_unit
        self.unit = unit
        self.selection = selection
        self._reader = reader
        self._report: ReadingReport | None = None
        self._fingerprint: str | None = None
        self._sampled: list[int] | None = None
        self._splitter: SentenceSplitter | None = None

    def __iter__(self) -> Iterator[Document]:
        """The documents.

        Raises:
            CorpusError: The source cannot be read, or no document is left.
        """
        report = ReadingReport()
        for document in self._selected(self._distinct(report)):
            report.add(document)
            if self.unit == "sentence":
                sentences = self.splitter()(document.text)
                report.sentences += len(sentences)
                yield from _numbered(document, sentences)
            elif len(document.text) > LONGEST_DOCUMENT:
                report.split += 1
                yield from _numbered(document, parts(document.text))
            else:
                yield document
        if not report.documents:
            skipped = ", ".join(f"{count} {reason}" for reason, count in sorted(report.skipped.items()))
            raise CorpusError(
                f"{self.source} holds no document with text ({skipped or 'it is empty'}); give another corpus."
            )
        report.finish(self.language)
        if self._report and self._report.text_fingerprint != report.text_fingerprint:
            raise CorpusError(f"{self.source} gave other texts when it was read again; give what does not change.")
        self._report = report

    def _distinct(self, report: ReadingReport) -> Iterator[Document]:
        seen = Seen()
        for raw in self._reader.documents(report):
            text, replaced = clean(raw.text)
            title = clean(raw.title)[0].replace("\n", " ")
            report.replaced += replaced
            if not text:
                report.skipped["empty"] += 1
                continue
            if not seen.add(text_key(text)):
                report.skipped["duplicate"] += 1
                continue
            yield Document(raw.id, title, text)

    def _selected(self, documents: Iterable[Document]) -> Iterator[Document]:
        size = self.selection.documents
        if size is None:
            yield from documents
        elif self.selection.sample == "first":
            yield from at_positions(documents, range(size))
        elif self._sampled is not None:
            yield from at_positions(documents, self._sampled)
        else:
            sample = reservoir(documents, size, self.selection.seed)
            self._sampled = [position for position, _ in sample]
            yield from (document for _, document in sample)

    def splitter(self) -> SentenceSplitter:
        """What splits the documents into sentences; made once, from the corpus itself where need be."""
        if self._splitter is None:
            texts = (document.text for document in self._selected(self._distinct(ReadingReport())))
            self._splitter = SentenceSplitter(self.language, texts)
        return self._splitter

    def report(self) -> ReadingReport:
        """What the last whole iteration read; reads the corpus once if there was none yet."""
        if self._report is None:
            for _ in self:
                pass
        assert self._report is not None
        return self._report

    def fingerprint(self) -> str:
        """A key for caches: hash of raw bytes, options and reader version, known before reading.

        Of an object: hash of its texts, for which it is read.
        """
        if self._fingerprint is None:
            parts = (
                self._reader.fingerprint() or self.report().text_fingerprint,
                repr(self.selection),
                self.unit,
                self.language,
                str(READER_VERSION),
            )
            self._fingerprint = hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
        return self._fingerprint


def _numbered(document: Document, texts: list[str]) -> Iterator[Document]:
    for number, text in enumerate(texts, start=1):
        yield Document(f"{document.id}{PART}{number}", document.title, text)
