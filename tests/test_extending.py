"""The page on extending shows code that is tested."""

from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_measure_on_the_page_is_the_one_that_is_tested():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    shown = page.split("```python\n")[1].split("```")[0]
    tested = (ROOT / "tests" / "measures" / "nearness.py").read_text(encoding="utf-8")
    missing = [line for line in shown.splitlines() if line not in tested.splitlines()]
    assert missing == []
