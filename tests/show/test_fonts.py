"""Figures in any script: an installed font is found, or a line says which package brings one."""

from pathlib import Path

import numpy as np
import pytest

from probe.show import fonts
from probe.show.figures import draw_figures
from probe.show.fonts import fonts_for, package_for
from probe.show.words import WordDots
from tests.finished_runs import make_tables

WORDS = {"hi": "विद्यालय", "th": "น้ำ", "ja": "日本", "ko": "한국어", "zh": "漢字", "bn": "বিদ্যুৎ"}
LATIN = ["music", "ėšą", "θάλασσα", "Москва", "مدرسة"]


def _draw(folder: Path, words: list[str]) -> dict[str, str]:
    dots = WordDots(words, [0] * len(words), np.eye(len(words)))
    files = draw_figures(folder, make_tables(["model"], thetas=[0.001]), {"model": dots})
    return {path.stem: path.read_text("utf-8") for path in files if path.suffix == ".svg"}


def test_matplotlibs_own_font_serves_what_it_has():
    assert fonts_for("".join(LATIN) + "\u200d\u200c") == ([fonts.OWN], "")


@pytest.fixture
def installed(monkeypatch):
    """Say which fonts are installed."""

    def put(paths):
        monkeypatch.setattr(fonts, "_installed", lambda: tuple(paths))

    return put


def test_an_installed_font_is_found_for_what_it_lacks(installed, monkeypatch):
    # A font of matplotlib's own that has a letter which another lacks stands for one that a user has installed.
    folder = Path(fonts._own_path()).parent
    monkeypatch.setattr(fonts, "_own_path", lambda: str(folder / "cmr10.ttf"))
    installed([str(folder / "STIXGeneral.ttf")])
    assert fonts_for("ж") == ([fonts.OWN, "STIXGeneral"], "")
    assert fonts_for("a") == ([fonts.OWN], "")


@pytest.mark.parametrize("language", WORDS)
def test_without_a_font_a_line_names_the_package_and_the_svg_keeps_the_text(tmp_path, caplog, installed, language):
    installed([])
    word = WORDS[language]
    drawn = _draw(tmp_path, [word, "music"])
    (said,) = [record.message for record in caplog.records]
    package = "fonts-noto-cjk" if language in ("ja", "ko", "zh") else "fonts-noto-core"
    assert f"install {package} (the SVG keeps the text)" in said
    assert drawn["words-model"].count(f">{word}<") == 2


@pytest.mark.parametrize("language", WORDS)
def test_where_a_font_is_installed_nothing_is_said(tmp_path, caplog, language):
    if fonts_for(WORDS[language])[1]:
        pytest.skip("no font of this script is installed")
    _draw(tmp_path, [WORDS[language], "music"])
    assert not caplog.records


def test_files_that_are_no_fonts_are_passed_over(tmp_path, installed):
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    installed([str(tmp_path / "broken.ttf"), str(tmp_path / "none.ttf")])
    assert fonts_for("日")[1] == "日"
    assert package_for("日न") == "fonts-noto-cjk and fonts-noto-core"
