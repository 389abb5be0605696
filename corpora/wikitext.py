"""The format of the WikiText datasets: lines of text, articles parted by `` = Title = `` lines.

Punctuation stands apart from the words in it, as the datasets have it; the marks ``@-@``, ``@,@`` and ``@.@``
(inside a word or a number) and ``<unk>`` (a rare word that was taken out) are undone.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from corpora.document import Document

_TITLE = re.compile(r" = (?!= )(\S|\S.*\S) = \n?")
_HEADING = re.compile(r"(=(?: =)+) (\S|\S.*\S) \1")
_JOINED = re.compile(r" @([-,.])@ ")
_UNKNOWN = re.compile(r" ?<unk>")


def starts_wikitext(line: str) -> bool:
    """Whether a file whose first line that is not blank is this one is in this format."""
    return _TITLE.fullmatch(line) is not None and not line.rstrip().endswith(" = =")


def articles(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Number of its first line (from 1), title and text of each article.

    A title stands between blank lines (or the ends), which tells it from a line of text that begins and ends
    with an equals sign.
    """
    started, title, body = 1, "", list[str]()
    waiting = ""
    blank_before = True
    for number, line in enumerate(chain(lines, [""]), start=1):
        blank = not line.strip()
        if waiting and blank:
            if any(body):
                yield started, title, "\n".join(body)
            started, title, body = number - 1, _title(waiting), []
        elif waiting:
            body.append(_plain(waiting))
        waiting = ""
        if blank_before and starts_wikitext(line):
            waiting = line
        else:
            body.append(_plain(line))
        blank_before = blank
    if any(body):
        yield started, title, "\n".join(body)


def from_rows(rows: Iterable[Document]) -> Iterator[Document]:
    """Rows as they are, or joined to articles where they turn out to be lines in this format."""
    rows = iter(rows)
    first: list[Document] = []
    for row in rows:
        first.append(row)
        if row.text.strip():
            break
    rows = chain(first, rows)
    if not first or not starts_wikitext(first[-1].text):
        yield from rows
        return
    name = first[0].id.rpartition(":")[0]
    for number, title, text in articles(row.text for row in rows):
        yield Document(f"{name}:{number}" if name else str(number), title, text)


def _title(line: str) -> str:
    found = _TITLE.fullmatch(line)
    return _undone(found[1]) if found else ""


def _undone(line: str) -> str:
    return _UNKNOWN.sub("", _JOINED.sub(r"\1", line.strip()))


def _plain(line: str) -> str:
    line = _undone(line)
    heading = _HEADING.fullmatch(line)
    return heading[2] if heading else line
