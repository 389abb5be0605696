"""The examples of docs/python.md are run as they stand, one after another."""

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "python.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL | doctest.FAIL_FAST
_DECIMAL = re.compile(r"\d+\.\d+")


class _Nearly(doctest.OutputChecker):
    """Takes decimals that differ by less than a twentieth: another processor sums in another order."""

    def check_output(self, want, got, optionflags):
        wanted, found = ([float(one) for one in _DECIMAL.findall(text)] for text in (want, got))
        near = len(wanted) == len(found) and all(
            abs(a - b) <= 0.05 * max(1, a) for a, b in zip(wanted, found, strict=True)
        )
        if "..." in want or not near:
            return super().check_output(want, got, optionflags)
        return super().check_output(_DECIMAL.sub("#", want), _DECIMAL.sub("#", got), optionflags)


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
