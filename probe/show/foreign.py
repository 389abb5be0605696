"""Text that is not ours (names, titles, words, paths), made fit for a line, for markdown and for the name of a file."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_REPLACEMENT = "�"
# Controls, line ends, direction overrides and half surrogate pairs: they move the cursor, break lines and files.
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#$])")
_NOT_IN_NAMES = re.compile(r"[^\w.]+")
# In bytes; a file's name may have 255 in all.
_LONGEST_NAME = 80


def one_line(text: str) -> str:
    """Text as a terminal, a figure or an XML file may hold it: what would break or colour a line is shown as U+FFFD."""
    return _UNSHOWN.sub(_REPLACEMENT, text.replace("\n", " ").replace("\t", " "))


def as_markdown(text: str) -> str:
    """Text that markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def file_name(text: str) -> str:
    """A part of a file's name: letters, digits, `_`, `.`, `-`; never a path, and `model` where nothing is left."""
    return shortened(_NOT_IN_NAMES.sub("-", unicodedata.normalize("NFC", text)).strip("-.")) or "model"


def shortened(name: str) -> str:
    """A name of at most 80 bytes; one that is too long ends in a hash of the whole, so that two long names stay two."""
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    return name.encode()[: _LONGEST_NAME - 9].decode(errors="ignore").rstrip("-.") + f"-{mark}"
