"""The examples of docs/python.md are run as they stand, one after another."""

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "python.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL | doctest.FAIL_FAST
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_RULE = re.compile(r"-{3,}")


class _Nearly(doctest.OutputChecker):
    """Takes a number for one that is near it: how a text is cleaned, or a processor's order of sums, moves figures."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = ([float(one.replace(",", "")) for one in _NUMBER.findall(text)] for text in (want, got))
        near = len(wanted) == len(found) and all(
            abs(a - b) <= max(0.3, 0.1 * abs(a)) for a, b in zip(wanted, found, strict=True)
        )
        want, got = (_RULE.sub("---", _NUMBER.sub("#", text)) for text in (want, got))
        return near and super().check_output(want, got, optionflags)


def test_every_example_gives_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    # The page with what is no example blanked out, so that line numbers are the page's.
    inside = False
    lines = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        fence = line.startswith("```")
        inside = line == "```pycon" if fence else inside
        lines.append(line if inside and not fence else "")
    example = doctest.DocTestParser().get_doctest("\n".join(lines), {}, "docs/python.md", str(PAGE), 0)
    assert len(example.examples) > 20
    said = []
    doctest.DocTestRunner(_Nearly(), optionflags=FLAGS).run(example, out=said.append)
    assert not said, "".join(said)


def test_the_page_names_every_public_name():
    import probe

    table = re.findall(r"^\| `probe\.(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(table) == sorted(probe.__all__)
