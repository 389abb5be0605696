"""Stop words by language: words that carry no topic."""

import os
import re
import sys
import unicodedata
import zipfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from corpora.errors import CorpusError
from corpora.languages import NLTK_NAMES, base_language

CONTRACTIONS = {
    "en": frozenset(
        {
            "s",
            "t",
            "d",
            "m",
            "o",
            "y",
            "ll",
            "re",
            "ve",
            "ma",
            "ain",
            "aren",
            "couldn",
            "didn",
            "doesn",
            "don",
            "hadn",
            "hasn",
            "haven",
            "isn",
            "mightn",
            "mustn",
            "needn",
            "shan",
            "shouldn",
            "wasn",
            "weren",
            "won",
            "wouldn",
        }
    )
}
"""What an apostrophe leaves of contracted words (``don't``: ``don``, ``t``); always stop words."""

_VOWEL_SIGNS = re.compile("[\u064b-\u0652\u0670]")


@dataclass(frozen=True, slots=True)
class StopWords:
    """A list of stop words.

    Attributes:
        words: Composed (NFC) as texts are, then case-folded.
        source: Which list it is, for the record.
    """

    words: frozenset[str]
    source: str


def stop_words(language: str = "en", file: str | Path | None = None) -> StopWords:
    """The stop words of a language: NLTK's list where its data are installed, else one at hand.

    Without NLTK's data, English has the list in gensim, and 57 other languages those of Stopwords ISO, which
    come with this package. Fragments of contractions (`CONTRACTIONS`) are always added. Nothing is
    downloaded.

    Args:
        language: ISO 639, a region or script after ``-`` set aside.
        file: The user's own list, one word a line, in UTF-8; it replaces the language's.

    Raises:
        CorpusError: The file cannot be read, or there is no list for the language.
    """
    base = base_language(language)
    if file is not None:
        return StopWords(_from_file(Path(file)) | CONTRACTIONS.get(base, frozenset()), f"file {Path(file).name}")
    found = _from_nltk(base) or _from_gensim(base) or _packaged(base)
    if found is None:
        raise CorpusError(
            f"There are no stop words for the language {language!r}; give your own, one a line, with --stop-words FILE."
        )
    return StopWords(found.words | CONTRACTIONS.get(base, frozenset()), found.source)


def _words(text: str) -> frozenset[str]:
    words = [unicodedata.normalize("NFC", line.strip()).casefold() for line in text.splitlines()]
    # Arabic is printed without vowel signs as a rule; lists have them here and there.
    return frozenset([*words, *(_VOWEL_SIGNS.sub("", word) for word in words)]) - {""}


def _from_file(path: Path) -> frozenset[str]:
    try:
        return _words(path.read_text("utf-8-sig"))
    except (OSError, UnicodeError) as error:
        raise CorpusError(
            f"The stop words {path} cannot be read ({error}); give a UTF-8 file, one word a line."
        ) from None


def _nltk_folders() -> list[Path]:
    """Where NLTK looks for its data; importing NLTK to ask it takes a second or more."""
    given = [Path(part) for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part]
    prefixes = [Path(sys.prefix), Path(sys.prefix) / "share", Path(sys.prefix) / "lib"]
    system = [Path(place) for place in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")]
    try:
        home = [Path.home()]
    except RuntimeError:  # a user without a home, as in many containers
        home = []
    return given + [place / "nltk_data" for place in (*home, *prefixes, *system)]


def _from_nltk(language: str) -> StopWords | None:
    name = NLTK_NAMES.get(language)
    if name is None:
        return None
    for folder in _nltk_folders():
        text = None
        try:
            plain = folder / "corpora" / "stopwords" / name
            packed = folder / "corpora" / "stopwords.zip"
            if plain.is_file():
                text = plain.read_text("utf-8")
            elif packed.is_file():
                with zipfile.ZipFile(packed) as archive:
                    text = archive.read(f"stopwords/{name}").decode()
        except (OSError, KeyError, UnicodeError, zipfile.BadZipFile):
            continue
        if text:
            return StopWords(_words(text), f"NLTK stopwords, {name}")
    return None


def _from_gensim(language: str) -> StopWords | None:
    if language != "en":
        return None
    from importlib.metadata import version

    from gensim.parsing.preprocessing import STOPWORDS

    return StopWords(frozenset(STOPWORDS), f"gensim {version('gensim')} STOPWORDS")


def _packaged(language: str) -> StopWords | None:
    path = files(__name__).joinpath(f"{language}.txt")
    if not language.isalpha() or not path.is_file():
        return None
    return StopWords(_words(path.read_text("utf-8")), f"Stopwords ISO, {language}")
