"""What was read: counts, skips, and a fingerprint of the texts."""

import hashlib
import heapq
import unicodedata
from collections import Counter

from corpora.document import Document
from corpora.languages import base_language

LONGEST = 10
LOOKED_AT = 1_000_000
"""Characters at the start whose script is looked at."""
MANY_REPLACED = 0.01
"""Share of characters that were no text from which on the encoding is doubted."""


class ReadingReport:
    """Filled while a corpus is read once from end to end.

    Attributes:
        documents: Documents handed out, parts and sentences counted as the document they are of.
        words: Their words, counted as stretches between white space (in scripts without spaces that is far
            fewer than the words a reader would count).
        characters: Their characters.
        skipped: Number of documents left out, by reason (``empty``, ``duplicate``, ``redirect``,
            ``other namespace``, ``no wikitext``).
        replaced: Undecodable bytes, lone surrogates (both shown as U+FFFD) and NULs (shown as spaces).
        split: Documents longer than the limit, handed out in parts.
        sentences: Sentences handed out, where the unit is the sentence.
        notes: Sentences about what a reader met on the way: where a truncated dump broke, files not read.
    """

    def __init__(self) -> None:
        self.documents = 0
        self.words = 0
        self.characters = 0
        self.skipped: Counter[str] = Counter()
        self.replaced = 0
        self.split = 0
        self.sentences = 0
        self.notes: list[str] = []
        self._scripts: Counter[str] = Counter()
        self._longest: list[tuple[int, int, str]] = []
        self._hash = hashlib.blake2b(digest_size=16)

    def finish(self, language: str = "") -> None:
        """Says what only the whole shows.

        Args:
            language: What the corpus is said to be written in.
        """
        letters = self._scripts.total()
        script, most = max(self._scripts.items(), key=lambda one: one[1], default=("", 0))
        if base_language(language) == "en" and script != "LATIN" and most > letters / 2:
            self.notes.append(
                f"Most letters are {script.title()}, and the language is said to be English: name it with --language, "
                "on which stop words depend."
            )
        if self.replaced > MANY_REPLACED * self.characters:
            self.notes.append(
                f"{self.replaced:,} of some {self.characters:,} characters were no text; is the encoding right?"
            )

    def add(self, document: Document) -> None:
        """Counts a whole document that is handed out."""
        self.documents += 1
        self.words += len(document.text.split())
        for letter, count in Counter(document.text[: max(0, LOOKED_AT - self.characters)]).items():
            if letter.isalpha():
                self._scripts[unicodedata.name(letter, "").partition(" ")[0]] += count
        self.characters += len(document.text)
        entry = (len(document.text), -self.documents, document.title or document.id)
        if len(self._longest) < LONGEST:
            heapq.heappush(self._longest, entry)
        else:
            heapq.heappushpop(self._longest, entry)
        for part in (document.title, document.text):
            encoded = part.encode()
            self._hash.update(len(encoded).to_bytes(8, "little"))
            self._hash.update(encoded)

    @property
    def longest(self) -> list[tuple[str, int]]:
        """Title (or id) and characters of the ten longest documents, longest first."""
        return [(name, length) for length, _, name in sorted(self._longest, reverse=True)]

    @property
    def text_fingerprint(self) -> str:
        """Hash of titles and texts in order: the same for the same texts, whatever file they came in."""
        return self._hash.hexdigest()

    def as_dict(self) -> dict[str, object]:
        """Everything above in JSON's types, for ``run.json``."""
        return {
            "documents": self.documents,
            "words": self.words,
            "characters": self.characters,
            "skipped": dict(sorted(self.skipped.items())),
            "replaced": self.replaced,
            "split": self.split,
            "sentences": self.sentences,
            "notes": list(self.notes),
            "longest": [list(entry) for entry in self.longest],
            "text_fingerprint": self.text_fingerprint,
        }
