"""Plain text out of MediaWiki markup.

One pass from left to right over the places where markup opens or closes, with a stack of what is open: the
time is linear in the length, whatever is nested, left open or closed twice.
"""

import html
import re
from collections.abc import Callable, Iterable

_GAP = "\x00"
"""Left where something was taken out, so that the words on both sides are not glued together."""

FILE_NAMESPACES = frozenset({"file", "image", "media", "category"})
"""English names of the namespaces whose links show no text in the article; always understood."""

_TOKEN = re.compile(
    r"""<!--
    | <(?P<end>/?)(?P<tag>[A-Za-z][A-Za-z0-9]*)(?P<attributes>(?:\s[^<>]*|/)?)>
    | \{\{+ | \}\}+ | \[\[ | \]\]
    | ^[ \t:*\#;]*\{\|
    | ^[ \t]*\|\}
    | \n[ \t]*\n
    """,
    re.VERBOSE | re.MULTILINE,
)

# What stands between these tags is not wiki text and no prose.
_RAW = frozenset(
    {
        "math",
        "chem",
        "ce",
        "gallery",
        "timeline",
        "score",
        "hiero",
        "graph",
        "mapframe",
        "maplink",
        "templatedata",
        "templatestyles",
        "syntaxhighlight",
        "source",
        "imagemap",
        "inputbox",
        "pre",
        "categorytree",
        "indicator",
        "style",
        "script",
    }
)
# What stands between these is wiki text, but not the article's running text.
_DROPPED = frozenset({"ref", "references", "table"})
_BLOCK = frozenset(
    {
        "br",
        "p",
        "div",
        "li",
        "ul",
        "ol",
        "dl",
        "dd",
        "dt",
        "tr",
        "td",
        "th",
        "caption",
        "center",
        "blockquote",
        "poem",
        "hr",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
    }
)
_INLINE = frozenset(
    {
        "b",
        "i",
        "u",
        "s",
        "strike",
        "del",
        "ins",
        "em",
        "strong",
        "small",
        "big",
        "sub",
        "sup",
        "span",
        "font",
        "code",
        "tt",
        "kbd",
        "var",
        "samp",
        "abbr",
        "cite",
        "q",
        "bdi",
        "bdo",
        "mark",
        "ruby",
        "rb",
        "rt",
        "rp",
        "rtc",
        "wbr",
        "time",
        "data",
        "dfn",
        "includeonly",
        "noinclude",
        "onlyinclude",
        "nobr",
        "section",
    }
)

_EXTERNAL = re.compile(
    r"\[(?:(?:https?|ftp|news|irc|git):)?//[^\s\[\]]*[^\S\n]*([^\[\]\n]*)\]", re.IGNORECASE
)
_MAIL = re.compile(r"\[mailto:[^\s\[\]]*[^\S\n]*([^\[\]\n]*)\]", re.IGNORECASE)
_URL = re.compile(r"\b(?:https?|ftp)://[^\s|\[\]<>\"]+", re.IGNORECASE)
_QUOTES = re.compile(r"''+")
_SWITCH = re.compile(r"__[^\W\d_a-z]{3,}__")
_LANGUAGE = re.compile(r"(?:[a-z]{2,3}(?:-[a-z]+)*|simple|be-x-old):\S")
_HEADING = re.compile(r"(={1,6})[ \t]*(\S(?:.*\S)?)[ \t]*\1[ \t\x00]*")
_LIST = re.compile(r"[*#:;]+[ \t]*")
_LEFT_OVER = re.compile(r"\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}")
_NOWIKI = re.compile(r"[\[\]{}|<>]+")
_GAP_IN_WORD = re.compile(r"(?<=\w)\x00+(?=\w)")
_EMPTY_BRACKETS = re.compile(r"[ \t]*\([\s,;:/\x00–-]*\)")
_BRACKET_START = re.compile(r"\((?:[ \t]*\x00+[ \t]*[,;:]?|[ \t]*[,;:])[ \t]*(?=\S)")
_SPACES = re.compile(r"[^\S\n]+")
_SPACE_BEFORE = re.compile(r" \x00+(?=[.,;:)])|\x00")
_BLANK_LINES = re.compile(r"\n{3,}")
_REDIRECT = re.compile(r"\s*#[ \t]?[^\W\d]+[ \t]*:?[ \t]*\[\[[^\]\n]+\]\]")


def is_redirect(markup: str) -> bool:
    """Whether a page only points to another (``#REDIRECT [[...]]`` in any language)."""
    return _REDIRECT.match(markup) is not None


def plain_text(markup: str, namespaces: Iterable[str] = ()) -> str:
    """The running text of an article: words and link texts, headings and list items on lines of their own.

    Templates, tables, references, files, categories, math, comments and tags are taken out; entities become
    their characters; a heading with nothing left under it goes too.

    Args:
        markup: An article in MediaWiki markup.
        namespaces: The wiki's own names for its file, media and category namespaces.
    """
    hidden = FILE_NAMESPACES | {name.lower() for name in namespaces}
    text = _unnest(markup.replace(_GAP, " "), hidden)
    text = _EXTERNAL.sub(r"\1", text)
    text = _MAIL.sub(r"\1", text)
    text = _URL.sub(_GAP, text)
    text = _QUOTES.sub(_apostrophes, text)
    text = _SWITCH.sub(_GAP, text)
    text = html.unescape(text)
    text = _LEFT_OVER.sub(" ", text)
    text = _GAP_IN_WORD.sub(" ", text)
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

    def text(self) -> str:
        return "".join(self.pieces)


def _unnest(markup: str, hidden: frozenset[str]) -> str:
    """Takes out what nests: templates, tables, references, links, tags, comments."""
    stack = [_Open("page")]
    open_kinds: dict[str, int] = {}
    no_end: set[str] = set()
    position = 0

    def push(kind: str) -> None:
        stack.append(_Open(kind))
        open_kinds[kind] = open_kinds.get(kind, 0) + 1

    def pop() -> _Open:
        top = stack.pop()
        open_kinds[top.kind] -= 1
        return top

    def flatten() -> None:
        """Something never closed: what it holds is text of what surrounds it."""
        pieces = pop().pieces
        stack[-1].pieces.append(_GAP)
        stack[-1].pieces += pieces

    def close(kind: str, left: Callable[[str], str]) -> None:
        """Closes the innermost thing of a kind, whatever was left open inside it."""
        if not open_kinds.get(kind):
            return
        while stack[-1].kind != kind:
            flatten()
        text = left(pop().text())
        stack[-1].pieces.append(text)

    def gap(_: str) -> str:
        return _GAP

    def line(_: str) -> str:
        return "\n"

    def label(content: str) -> str:
        return _label(content, hidden)

    while match := _TOKEN.search(markup, position):
        stack[-1].pieces.append(markup[position : match.start()])
        position = match.end()
        token = match[0]
        if token == "[[":
            push("link")
        elif token == "]]":
            if stack[-1].kind == "link":
                close("link", label)
        elif token.startswith("{{"):
            for _ in range(len(token) // 2):
                push("template")
        elif token.startswith("}}"):
            for _ in range(len(token) // 2):
                close("template", gap)
        elif token == "<!--":
            end = markup.find("-->", position)
            position = len(markup) if end < 0 else end + 3
        elif match["tag"]:
            tag = match["tag"].lower()
            if match["end"]:
                if tag in _DROPPED:
                    close(tag, gap)
                elif tag in _BLOCK:
                    stack[-1].pieces.append("\n")
                elif tag not in _INLINE:
                    stack[-1].pieces.append(_GAP)
            elif tag in _DROPPED:
                if match["attributes"].endswith("/"):
                    stack[-1].pieces.append(_GAP)
                else:
                    push(tag)
            elif tag in _RAW or tag == "nowiki":
                stack[-1].pieces.append(_GAP)
                if not match["attributes"].endswith("/") and tag not in no_end:
                    end_tag = re.compile(rf"</{tag}\s*>", re.IGNORECASE).search(markup, position)
                    if end_tag is None:
                        no_end.add(tag)
                    else:
                        if tag == "nowiki":
                            stack[-1].pieces[-1] = _NOWIKI.sub(" ", markup[position : end_tag.start()])
                        position = end_tag.end()
            elif tag in _BLOCK:
                stack[-1].pieces.append("\n")
            elif tag not in _INLINE:
                # "a <b and c> d" is no tag: attributes have an equals sign.
                attributes = match["attributes"].strip(" \t\n/")
                stack[-1].pieces.append(token if attributes and "=" not in attributes else _GAP)
        elif token.endswith("{|"):
            push("table")
        elif token.endswith("|}"):
            if stack[-1].kind != "table" and markup.startswith("}", position):
                position -= 1  # "|}}" ends a template whose last value is empty
            else:
                close("table", line)
        else:  # a blank line: no link goes on beyond it but a file's, in its caption
            while stack[-1].kind == "link" and not _is_hidden(stack[-1].text(), hidden):
                flatten()
            stack[-1].pieces.append("\n\n")
    stack[-1].pieces.append(markup[position:])
    while len(stack) > 1:
        flatten()
    return stack[0].text()


def _is_hidden(content: str, hidden: frozenset[str]) -> bool:
    namespace, colon, _ = content[:100].partition(":")
    return bool(colon) and namespace.strip(" _\n").lower() in hidden


def _label(content: str, hidden: frozenset[str]) -> str:
    """What ``[[content]]`` shows in the text."""
    if _is_hidden(content, hidden):
        return _GAP
    target, bar, shown = content.partition("|")
    if bar:
        if shown.strip():
            return shown
        # the pipe trick: [[Mercury (planet)|]] shows "Mercury"
        return re.sub(r"\s*\([^()]*\)\s*$", "", target.rpartition(":")[2])
    target = target.strip()
    if _LANGUAGE.match(target):
        return _GAP
    return target.removeprefix(":").replace("_", " ")


def _apostrophes(match: re.Match[str]) -> str:
    length = len(match[0])
    if length == 4:
        return "'"
    return "'" * (length - 5) if length > 5 else ""


def _lines(text: str) -> Iterable[str]:
    """The lines that hold text, without what marks them; headings only where text follows."""
    waiting: list[tuple[int, str]] = []
    for raw in text.split("\n"):
        line = _SPACES.sub(" ", raw).strip()
        if heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            while waiting and waiting[-1][0] >= level:
                waiting.pop()
            waiting.append((level, _SPACE_BEFORE.sub("", heading[2]).strip(" =")))
            continue
        if line.startswith(("|", "----")) or (line.startswith("!") and "|" in line):
            continue
        if found := _LIST.match(line):
            line = line[found.end() :]
        line = _SPACES.sub(" ", _SPACE_BEFORE.sub("", line)).strip()
        if any(character.isalnum() for character in line):
            for _, title in waiting:
                yield ""
                yield title
            if waiting:
                yield ""
            waiting.clear()
            yield line
        else:
            yield ""
