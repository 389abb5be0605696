import re
import time
from itertools import product

import pytest

from corpora import Document, open_corpus
from corpora.markup import is_redirect, plain_text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("'''Mercury''' is a ''metal''.", "Mercury is a metal."),
        ("l''''amour'''' et '''''tout'''''", "l'amour' et tout"),
        ("a [[metal]], [[Mercury (planet)|planets]] and [[dog]]s", "a metal, planets and dogs"),
        ("see [[Mercury (planet)|]] and [[:Category:Metals|metals]]", "see Mercury and metals"),
        ("[[File:A.jpg|thumb|A [[metal]] {{x}}\n\nin a jar]]It", "It"),
        ("x [[Datei:A.jpg|mini]] y [[fr:Mercure]] [[Category:Metals]]", "x y"),
        ("Avatar: [[Mission: Impossible]]", "Avatar: Mission: Impossible"),
        ("about {{convert|5|km|{{x|{{y}}}}}} long", "about 5 kilometres long"),
        ("word{{sfn|A|1999}}. Next{{x}}word", "word. Next word"),
        ("{{Infobox\n| name = A\n| born =\n|}}\nText", "Text"),
        ("a<ref name=x/> b<ref>{{cite|[[x]]}} <b>c</b></ref>. d", "a b. d"),
        (
            "before\n{| class=x\n|-\n! h !! i\n|-\n| a || {{b}}\n{|\n| nested\n|}\n|}\nafter",
            "before\n\nafter",
        ),
        (":{|\n| a\n|}\nafter <table><tr><td>b</td></tr></table>it", "after it"),
        ("| a left-over || row\n! head | x\n!Kung is kept", "!Kung is kept"),
        ("H<sub>2</sub>O and <span style='x'>CO<sub>2</sub></span>", "H2O and CO2"),
        ("one<br/>two<br>three", "one\ntwo\nthree"),
        ("an <math>x < y {{</math> equation <nowiki>[[kept]] 's</nowiki>", "an equation kept 's"),
        ("a <!-- [[ {{ --> b <!-- never closed", "a b"),
        ("5&nbsp;km &ndash; R&amp;D &lt;b&gt;", "5 km – R&D <b>"),
        ("if x <y and z> w", "if x <y and z> w"),
        (
            "[http://x.org the site], [http://x.org], [//x.org there] http://x.org/a?b=c.",
            "the site,, there.",
        ),
        ("__NOTOC__ Text __БЕЗСЪДЪРЖАНИЕ__", "Text"),
        ("== A ==\n\n=== B ===\ntext\n== References ==\n{{reflist}}\n== End ==\n", "A\n\nB\n\ntext"),
        ("* one\n** [[two]]\n# three\n; term : x\n----\n: four", "one\ntwo\nthree\nterm : x\nfour"),
        (
            "Aristotle ({{IPA|x}}; {{lang|el|y}}, Aristotélēs) and ({{x}}) it",
            "Aristotle (y, Aristotélēs) and it",
        ),
        ("[[left open {{and this {| and that", "left open and this and that"),
        ("closed twice }} ]] |} </ref> ok", "closed twice ok"),
        ("[[File:A.jpg|thumb|see [http://x.org here]]]It, [[a|[http://x.org b]]] [[[c]]]", "It, b [c]"),
        ("电-{zh-hans:脑; zh-hant:腦}-是-{A|zh:物}--{H|zh:x}-，-{原文}-", "电脑是物，原文"),
        ("[[a|b\n\nc]] d", "a|b\n\nc d"),
        ("{{open [[x]] }} {{{1|}}} {{{{{a}}}}} end", "end"),
    ],
)
def test_what_reaches_the_text(markup: str, text: str) -> None:
    assert re.sub(r"\n\n+", "\n\n", plain_text(markup, ["Datei"])) == text


def test_redirects_in_any_language() -> None:
    assert is_redirect("#REDIRECT [[Mercury]]")
    assert is_redirect("\n#виж [[Живак]]")
    assert is_redirect("#WEITERLEITUNG: [[Quecksilber]]")
    assert not is_redirect("# [[one]]\n# [[two]]")
    assert not is_redirect("A #REDIRECT [[x]]")


LEFT_OVER = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|^[|!]|''|</?(?:ref|br|math|div|span|table|nowiki)\b|&[a-z]+;|\x00"
    r"|\b(?:File|Image|Category|Файл):|\b(?:colspan|rowspan|bgcolor|cellpadding|valign)\b|https?://|__\w+__",
    re.MULTILINE,
)


@pytest.mark.parametrize("name", ["wikipedia-sample", "bgwiki-sample", "tables"])
def test_no_markup_is_left_in_the_dumps_of_gensim(name: str, tables: str, sample: list[Document]) -> None:
    documents = sample if name == "wikipedia-sample" else open_corpus(tables if name == "tables" else name)
    left = [
        (d.title, m[0], d.text[m.start() - 30 : m.end() + 30]) for d in documents for m in LEFT_OVER.finditer(d.text)
    ]
    assert left == []


@pytest.fixture(scope="session")
def tables() -> str:
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("gensim")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "test/test_data/enwiki-table-markup.xml.bz2")


def test_words_agree_with_another_stripper(sample: list[Document]) -> None:
    """gensim's own stripper keeps captions and table cells: nearly all of these words are among its, but templates'."""
    import bz2
    from collections import Counter

    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    with bz2.open(open_corpus("wikipedia-sample").source) as stream:
        theirs = {title: filter_wiki(text) for title, text, _ in extract_pages(stream) if title in TITLES}
    ours = {document.title: document.text for document in sample if document.title in TITLES}
    assert ours.keys() == theirs.keys() == TITLES
    for title in TITLES:
        mine, other = (Counter(re.findall(r"\w+", texts[title].casefold())) for texts in (ours, theirs))
        assert sum((mine - other).values()) < 0.02 * sum(mine.values())
        assert sum((mine & other).values()) > 0.8 * sum(other.values())


TITLES = {"Aristotle", "Alaska", "Albedo", "Anarchism", "Algorithm", "Autism"}


PIECES = [
    "{{lang|x|",
    "[[",
    "{{",
    "<ref>",
    "[[File:",
    "\n\n",
    "{|\n",
    "\n|}",
    "}}",
    "]]",
    "<math>",
    "(",
    "<!--",
    "[http://",
    " ",
    "=",
]


def test_time_is_linear_in_the_length() -> None:
    """Each pattern repeated 200,000 characters long: quadratic time would be minutes."""
    started = time.process_time()
    for one, two in product(PIECES, PIECES[::4]):
        plain_text((one + two) * (20_000 // len(one + two)))
    for piece in PIECES:
        plain_text(piece * (200_000 // len(piece)))
    assert time.process_time() - started < 15
