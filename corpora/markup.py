"""Plain text out of MediaWiki markup.

One pass from left to right over the places where markup opens or closes, with a stack of what is open: the
time is linear in the length, whatever is nested, left open or closed twice.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from corpora.templates import shown


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILE_NAMESPACES = _names("file image media category")
"""English names of the namespaces whose links show no text in the article; understood in every wiki."""

DEEPEST = 100
"""How deep markup may be nested; what opens deeper opens nothing."""

_GAP = "\x00"
"""Left where something was taken out, so that the words on both sides are not glued together."""

# What stands between these tags is neither wiki text nor prose (nowiki is prose: the letters are kept).
_RAW = _names(
    "nowiki math chem ce gallery timeline score hiero graph mapframe maplink templatedata templatestyles "
    "syntaxhighlight source imagemap inputbox pre categorytree indicator style script"
)
# What stands between these is wiki text, but not the article's running text.
_DROPPED = _names("ref references table")
# These part words; others stand inside them (H<sub>2</sub>O).
_BLOCK = _names("br p div li ul ol dl dd dt tr td th caption center blockquote poem hr h1 h2 h3 h4 h5 h6")
_INLINE = _names(
    "b i u s strike del ins em strong small big sub sup span font code tt kbd var samp abbr cite q bdi bdo "
    "mark ruby rb rt rp rtc wbr time data dfn includeonly noinclude onlyinclude nobr section"
)

_TOKEN = re.compile(
    r"""<!--
    | <(?P<end>/?)(?P<tag>[A-Za-z][A-Za-z0-9]*+)(?P<attributes>(?:\s[^<>]*|/)?)>
    | \{\{+ | \}\}+ | \[\[ | \]\]+
    | ^[ \t:*\#;]*+\{\|
    | ^[ \t]*+\|\}
    | \n[ \t]*+\n
    """,
    re.VERBOSE | re.MULTILINE,
)
# Possessive quantifiers (*+) keep every pattern linear in the length, whatever the input.
_EXTERNAL = re.compile(r"\[(?:(?:(?:https?|ftps?|news|irc|git):)?//|mailto:)[^\s\[\]]*+([^\[\]\n]*+)\]", re.IGNORECASE)
_URL = re.compile(r"\b(?:https?|ftp)://[^\s|\[\]<>\"\x00]+(?<![.,;:!?)])", re.IGNORECASE)
# Languages written in two ways: -{zh-hans:计算机; zh-hant:電腦}-
_VARIANTS = re.compile(r"-\{([^{}]*+)\}-")
_VARIANT = re.compile(r"\s*[a-z]{2,3}(?:-[a-z]+)*\s*:([^;]*)")
_QUOTES = re.compile(r"''+")
_SWITCH = re.compile(r"__[^\W\d_a-z]{3,40}__")
_LANGUAGE = re.compile(r"(?:[a-z]{2,3}(?:-[a-z]+)*|simple):\S")
_HEADING = re.compile(r"(={1,6})([^=].*?)\1[ \x00]*")
_LIST = re.compile(r"[*#:;]+[ \t]*")
_LEFT_OVER = re.compile(r"\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}")
_NOWIKI = re.compile(r"[\[\]{}|<>]+")
_GAP_BEFORE_WORD = re.compile(r"(?<=[^\s(\[\x00])\x00+(?=\w)")
_EMPTY_BRACKETS = re.compile(r" ?\([\s,;:/\x00–-]*+\)")
_BRACKET_START = re.compile(r"\([ \x00,;:]+")
_SPACES = re.compile(r"[^\S\n]+")
_GAPS = re.compile(r" \x00++(?=[.,;:)])|\x00")
_BLANK_LINES = re.compile(r"\n{3,}")
_PIPE_TRICK = re.compile(r" ?\([^()]*+\)$")
_REDIRECT = re.compile(r"\s*+#[ \t]?[^\W\d]++[ \t]*+(?::[ \t]*+)?\[\[[^\]\n]+\]\]")


def is_redirect(markup: str) -> bool:
    """Whether a page only points to another (``#REDIRECT [[...]]`` in any language)."""
    return _REDIRECT.match(markup) is not None


def plain_text(markup: str, namespaces: Iterable[str] = ()) -> str:
    """The running text of an article: words and link texts, headings and list items on lines of their own.

    Templates (but for the words of those in `corpora.templates`), tables, references, files, categories, math,
    comments and tags are taken out; entities become their characters; a heading with nothing left under it goes too.

    Args:
        markup: An article in MediaWiki markup.
        namespaces: The wiki's own names for its file, media and category namespaces.
    """
    hidden = FILE_NAMESPACES | {name.lower() for name in namespaces}
    text = _unnest(markup.replace(_GAP, " "), hidden)
    text = _EXTERNAL.sub(lambda found: found[1].strip() or _GAP, text)
    text = _URL.sub(_GAP, text)
    text = _VARIANTS.sub(_first_variant, text)
    text = _QUOTES.sub(_apostrophes, text)
    text = _SWITCH.sub(_GAP, text)
    text = html.unescape(text)
    text = _SPACES.sub(" ", text)
    text = _GAP_BEFORE_WORD.sub(" ", text)
    text = _EMPTY_BRACKETS.sub("", text)
    text = _BRACKET_START.sub("(", text)
    text = "\n".join(_lines(text))
    return _BLANK_LINES.sub("\n\n", text).strip()


class _Open:
    """Something opened and not yet closed: its kind, and the text found in it so far."""

    __slots__ = ("kind", "pieces")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.pieces: list[str] = []


class _Stack:
    """What is open at a place of the markup, the page itself lowest."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self.hidden = hidden
        self.opened = [_Open("page")]
        self.counts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        self.opened[-1].pieces.append(text)

    def push(self, kind: str) -> None:
        if len(self.opened) < DEEPEST:
            self.opened.append(_Open(kind))
            self.counts[kind] += 1

    def top_is(self, kind: str) -> bool:
        return self.opened[-1].kind == kind

    def flatten(self, keep: int) -> None:
        """What lies above the lowest ``keep`` was never closed: its text belongs to what lies below."""
        below = self.opened[keep - 1].pieces
        for left_open in self.opened[keep:]:
            self.counts[left_open.kind] -= 1
            below.append(_GAP)
            below += left_open.pieces
        del self.opened[keep:]

    def close(self, kind: str) -> str | None:
        """Closes the innermost thing of a kind and gives what it holds; None where none is open."""
        if not self.counts[kind]:
            return None
        at = len(self.opened) - 1
        while self.opened[at].kind != kind:
            at -= 1
        self.flatten(at + 1)
        self.counts[kind] -= 1
        return "".join(self.opened.pop().pieces)

    def drop(self, kind: str, left: str = _GAP) -> None:
        """Closes the innermost thing of a kind and leaves nothing of it."""
        if self.close(kind) is not None:
            self.add(left)

    def end_template(self) -> None:
        """Closes the innermost template and leaves what it shows in a sentence, if anything."""
        content = self.close("template")
        if content is not None:
            words = shown(content)
            self.add(_GAP if words is None else words)

    def end_links(self) -> None:
        """A blank line: no link goes on beyond it but a file's, in its caption."""
        keep = len(self.opened)
        while self.opened[keep - 1].kind == "link" and not self._shows_file(self.opened[keep - 1]):
            keep -= 1
        self.flatten(keep)

    def _shows_file(self, link: _Open) -> bool:
        return _is_hidden(next(filter(None, link.pieces), ""), self.hidden)


def _unnest(markup: str, hidden: frozenset[str]) -> str:
    """Takes out what nests: templates, tables, references, links, tags, comments."""
    stack = _Stack(hidden)
    never_closed: set[str] = set()
    position = 0
    while match := _TOKEN.search(markup, position):
        stack.add(markup[position : match.start()])
        position = match.end()
        token = match[0]
        if match["tag"]:
            position = _tag(match, markup, stack, never_closed)
        elif token == "[[":
            stack.push("link")
        elif token.startswith("]]"):
            if len(token) % 2:  # "]]]": an address ends inside the link
                stack.add("]")
            for _ in range(len(token) // 2):
                if stack.top_is("link"):
                    stack.add(_label(stack.close("link") or "", hidden))
        elif token.startswith("{{"):
            for _ in range(len(token) // 2):
                stack.push("template")
        elif token.startswith("}}"):
            for _ in range(len(token) // 2):
                stack.end_template()
        elif token == "<!--":
            end = markup.find("-->", position)
            position = len(markup) if end < 0 else end + 3
        elif token.endswith("{|"):
            stack.push("table")
        elif token.endswith("|}"):
            if not stack.top_is("table") and markup.startswith("}", position):
                position -= 1  # "|}}" ends a template whose last value is empty
            else:
                stack.drop("table", "\n")
        else:
            stack.end_links()
            stack.add("\n\n")
    stack.add(markup[position:])
    stack.flatten(1)
    return "".join(stack.opened[0].pieces)


def _tag(match: re.Match[str], markup: str, stack: _Stack, never_closed: set[str]) -> int:
    """Handles a tag; returns where to go on."""
    tag = match["tag"].lower()
    empty = match["attributes"].endswith("/")
    if tag in _BLOCK:
        stack.add("\n")
    elif tag in _DROPPED:
        if match["end"]:
            stack.drop(tag)
        elif empty:
            stack.add(_GAP)
        else:
            stack.push(tag)
    elif tag in _RAW:
        return _raw(tag, match.end(), markup, stack, never_closed, opens=not (match["end"] or empty))
    elif tag not in _INLINE:
        # "a <b and c> d" is no tag: attributes have an equals sign.
        attributes = match["attributes"].strip(" \t\n/")
        stack.add(match[0] if attributes and "=" not in attributes else _GAP)
    return match.end()


def _raw(tag: str, position: int, markup: str, stack: _Stack, never_closed: set[str], opens: bool) -> int:
    """Passes over what stands between two tags and is no wiki text."""
    shown = _GAP
    if opens and tag not in never_closed:
        closing = re.compile(rf"</{tag}\s*+>", re.IGNORECASE).search(markup, position)
        if closing is None:
            never_closed.add(tag)
        else:
            if tag == "nowiki":
                shown = _NOWIKI.sub(" ", markup[position : closing.start()])
            position = closing.end()
    stack.add(shown)
    return position


def _is_hidden(content: str, hidden: frozenset[str]) -> bool:
    namespace, colon, _ = content[:100].partition(":")
    return bool(colon) and namespace.strip(" _\n").lower() in hidden


def _label(content: str, hidden: frozenset[str]) -> str:
    """What ``[[content]]`` shows in the text."""
    if _is_hidden(content, hidden):
        return _GAP
    target, bar, shown = content.partition("|")
    if bar:
        # the pipe trick: [[Mercury (planet)|]] shows "Mercury"
        return shown if shown.strip() else _PIPE_TRICK.sub("", target.rpartition(":")[2].strip())
    target = target.strip().replace("_", " ")
    if target.startswith(":"):  # [[:Category:Metals]] links to it instead of belonging to it
        return target.rpartition(":")[2]
    return _GAP if _LANGUAGE.match(target) else target


def _first_variant(match: re.Match[str]) -> str:
    flags, _, rules = match[1].rpartition("|")
    if flags.strip() in ("H", "T", "-"):  # rules for the page or its title, shown nowhere
        return _GAP
    variant = _VARIANT.match(rules)
    return variant[1] if variant else rules


def _apostrophes(match: re.Match[str]) -> str:
    """Bold and italics go; of four apostrophes one is text, of more than five all above five."""
    length = len(match[0])
    return "'" if length == 4 else "'" * (length - 5)


def _lines(text: str) -> Iterator[str]:
    """The lines that hold text, without what marks them; headings only where text follows."""
    waiting: list[tuple[int, str]] = []
    for raw in text.split("\n"):
        line = raw.strip(" ")
        if heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            while waiting and waiting[-1][0] >= level:
                waiting.pop()
            waiting.append((level, _bare(heading[2]).strip(" =")))
            continue
        if line.startswith(("|", "----")) or (line.startswith("!") and "|" in line):
            continue
        if found := _LIST.match(line):
            line = line[found.end() :]
        line = _bare(line)
        if not any(map(str.isalnum, line)):
            yield ""
            continue
        for _, title in waiting:
            yield from ("", title, "")
        waiting.clear()
        yield line


def _bare(line: str) -> str:
    """A line without gaps and without brackets that have lost their partner."""
    return _SPACES.sub(" ", _LEFT_OVER.sub(" ", _GAPS.sub("", line))).strip()
