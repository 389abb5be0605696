"""One document of a corpus."""

from dataclasses import dataclass

PART = "#"
"""Stands in an id between a document and the number of a part of it; readers keep it out of their ids."""


@dataclass(frozen=True, slots=True)
class Document:
    """One article, as its corpus gives it.

    Attributes:
        id: Unique within the corpus: its number in the file, after the file's name where there are several
            files. A part of a very long document, or a sentence, ends in ``#`` and its number.
        title: What the corpus calls it; may be empty.
        text: Plain text: NFC, ``\n`` line ends, no control characters, not empty.
    """

    id: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        """Id of the document this one is, or is a part of: what a bootstrap draws."""
        return self.id.partition(PART)[0]
