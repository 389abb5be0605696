"""Plain text out of whatever characters a file holds."""

import codecs
import re
import unicodedata

NOT_TEXT = "\U0010ffff"
"""Stands for one byte that could not be decoded, until `clean` counts it. No character of any script."""

REPLACEMENT = "�"

LONGEST_DOCUMENT = 500_000
"""Characters after which a document is handed out in parts; longer than any Wikipedia article."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
_LINE_END = re.compile(r"\r\n?|[\x85\u2028\u2029]")
# Soft hyphens, direction marks and byte order marks are invisible and split words for byte-level tokenizers.
_INVISIBLE = re.compile("[\u00ad\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
# Nothing is seen of these, but they part words: zero-width spaces (Thai, Khmer), invisible operators, fillers.
_INVISIBLE_SPACE = re.compile("[\u200b\u2061-\u2064\u2800\u3164\uffa0]")
# Joiners are part of the spelling in Arabic's and the Indic scripts and their neighbours, and of emoji; nowhere else.
_JOINER = re.compile(
    "(?<![\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\u1900-\u1cff\u2600-\u27bf\ua800-\uabff\ufb50-\ufe0f"
    "\ufe70-\ufefe\U00010a00-\U00011fff\U0001e800-\U0001faff])[\u200c\u200d]+"
)
_BAD = re.compile(f"[\ud800-\udfff{NOT_TEXT}]+")
# Any of the above: one scan tells that most texts need none of the substitutions.
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\u2800\u3164\ufeff\uffa0"
    "\ud800-\udfff" + NOT_TEXT + "]"
)
_LONG_RUN = re.compile(r"\S{1000,}")
_BLANK_LINES = re.compile(r"\n{3,}")
_BREAKS = (re.compile(r"\n\n"), re.compile(r"\n"), re.compile(r"\s"), re.compile("[。．！？｡।॥။፡።、，]"))

MOST_MARKS = 30
"""Combining characters kept on one letter: Unicode's stream-safe limit (UAX #15). Composing takes time that
grows with the square of their number."""


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return NOT_TEXT * (error.end - error.start), error.end


codecs.register_error("corpora.mark", _mark)


def bad_bytes(encoding: str) -> str:
    """Name of the error handler to decode with: every undecodable byte comes out as one `NOT_TEXT`.

    For UTF-8 as one lone surrogate, which `clean` counts all the same: that handler is some forty times
    faster, so that a file of garbage is as quickly done with as any other.
    """
    return "surrogateescape" if encoding in ("utf-8", "utf-8-sig") else "corpora.mark"


def clean(text: str) -> tuple[str, int]:
    """Makes text uniform, so that the same text gives the same tokens whatever file it came in.

    Line ends become ``\\n``, control characters and invisible separators a space, invisible formatting goes (joiners
    stay in scripts that spell with them), combining characters are composed (NFC), no line ends in white space, and
    at most one line in a row is blank.

    Returns:
        The text, and how many characters in it were no text: undecodable bytes and lone surrogates (each run
        is shown as one U+FFFD) and NUL.
    """
    replaced = 0
    if _SUSPECT.search(text):
        replaced = text.count("\x00")
        text = _LINE_END.sub("\n", text)
        text = _CONTROL.sub(" ", text)
        replaced += sum(len(run) for run in _BAD.findall(text))
        text = _BAD.sub(REPLACEMENT, text)
        text = _INVISIBLE.sub("", _INVISIBLE_SPACE.sub(" ", text))
    text = _LONG_RUN.sub(_fewer_marks, text)
    text = unicodedata.normalize("NFC", text)
    while (joined := _JOINER.sub("", text)) != text:  # again where what was parted composes
        text = unicodedata.normalize("NFC", joined)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", text).strip(), replaced


def _fewer_marks(run: re.Match[str]) -> str:
    kept = []
    marks = 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def cut(text: str, limit: int) -> int:
    """Where to cut text longer than ``limit``: at most ``limit``, at a place that cuts no word.

    The last paragraph end in the second half of the limit is best, then a line end, then white space, then
    (scripts without spaces) the end of a sentence. Text with none of these is cut before a character that
    does not combine with the one before it.
    """
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(text, limit // 2, limit)]
        if ends:
            return ends[-1]
    at = limit
    while at > 1 and unicodedata.combining(text[at]):
        at -= 1
    return at if at > 1 else limit


def parts(text: str, limit: int = LONGEST_DOCUMENT) -> list[str]:
    """The text in parts of at most ``limit`` characters that cut no word; one part if it is short enough."""
    found = []
    start = 0
    while len(text) - start > limit:
        end = start + cut(text[start : start + limit + 1], limit)
        found.append(text[start:end].strip())
        start = end
    found.append(text[start:].strip())
    return [part for part in found if part]
