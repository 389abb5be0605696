"""Foreign names, words and paths: never markup, never more than a line, never a path of ours."""

import re
from pathlib import Path
from xml.dom.minidom import parseString

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import probe
from corpora import open_corpus
from probe.errors import ProbeError
from probe.experiment.run import default_folder
from probe.experiment.settings import RunSettings
from probe.results.finished import open_run
from probe.show.figures import draw_figures
from probe.show.foreign import as_markdown, file_name, one_line
from probe.show.layout import to_latex, to_markdown, to_text
from probe.show.progress import ConsoleProgress
from probe.show.terminal import plain_console
from probe.show.views import ratio_view
from probe.show.words import WordDots
from tests.finished_runs import make_tables, save_run

NAMES = [
    "x[/bold]",
    "[red]x",
    ":smile:",
    "a\\[b]",
    "$x^2$",
    "<b>|`*_&#",
    "\x1b[31mred",
    "two\nlines",
    "日本語",
    "ab\u202e",
]


def test_only_one_place_makes_a_console():
    made = [path for path in Path(probe.__file__).parent.rglob("*.py") if re.search(r"\bConsole\(", path.read_text())]
    assert [path.name for path in made] == ["terminal.py"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("terminal", [False, True])
def test_progress_shows_a_name_as_it_is(name, terminal, capsys, monkeypatch):
    progress = ConsoleProgress()
    console = plain_console(stderr=True, soft_wrap=True, force_terminal=terminal, color_system=None, width=200)
    monkeypatch.setattr(progress, "_console", console)
    with progress.stage(f"Loading {name}", 2) as stage:
        stage.at(1)
    progress.note(f"Done: {name}")
    lines = capsys.readouterr().err.encode("utf-8", "backslashreplace").decode().splitlines()
    assert f"Done: {one_line(name)}" in lines[-1] and f"Loading {one_line(name)}" in "".join(lines)
    assert not any("\x1b[31m" in line for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_shows_a_name_as_it_is(name):
    tables = make_tables([name], thetas=[0.001])
    view = ratio_view(1, tables["table1"], tables["measures"])
    assert f"\n{one_line(name)}, pretrained weights" in to_text(view, 120)
    markdown = to_markdown(view)
    assert as_markdown(name) in markdown
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in markdown.splitlines() if line.startswith("|")} == {10}
    assert "\n\n" not in to_latex(view) and "\x1b" not in to_latex(view)


def test_markdown_marks_are_escaped():
    assert as_markdown("a*b_c<d>`e`|[f](g)~&amp;\\") == r"a\*b\_c\<d\>\`e\`\|\[f\](g)\~\&amp;\\"


@pytest.mark.parametrize("name", NAMES)
def test_figures_hold_any_name_and_word(name, tmp_path):
    words = WordDots([name, "opera", "law", "court"], [4, 4, 9, 9], np.arange(16.0).reshape(4, 4) / 16)
    files = draw_figures(tmp_path, make_tables([name], thetas=[0.001]), {name: words})
    for path in files:
        assert path.parent == tmp_path / "figures"
        if path.suffix == ".svg":
            parseString(path.read_bytes())


def test_two_names_are_two_figures(tmp_path):
    words = WordDots(["music", "opera"], [0, 1], np.eye(2))
    models = ["a/b", "a-b", "A b"]
    files = draw_figures(tmp_path, make_tables(models, thetas=[0.001]), dict.fromkeys(models, words))
    assert [path.name for path in files if path.match("words-*.svg")] == [
        "words-a-b.svg",
        "words-a-b-2.svg",
        "words-A-b-3.svg",
    ]


@given(st.text(max_size=300))
def test_a_file_name_is_one_part_of_a_path(text):
    name = file_name(text)
    assert Path(name).name == name and 0 < len(name.encode()) <= 80 and not name.startswith((".", "-"))


def test_long_names_of_any_script_stay_two_and_fit_a_folder(tmp_path):
    names = ["模" * 60 + end for end in "ab"]
    (tmp_path / "語料庫.txt").write_text("a\n\nb\n", "utf-8")
    path = (tmp_path / "語料庫.txt").rename(tmp_path / ("語" * 80 + ".txt"))
    corpus = open_corpus(str(path))
    folders = [default_folder(RunSettings(model=(name, "x" * 300)), corpus.name) for name in names]
    assert folders[0] != folders[1]
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    assert default_folder(RunSettings(model=("a/b", "c d")), "corpus") == Path("results/a-b+c-d-corpus")


@pytest.mark.parametrize("name", NAMES)
def test_a_run_keeps_any_name(name, tmp_path):
    run = open_run(save_run(tmp_path, [name]))
    assert run.info["arguments"]["model"] == [name]
    assert set(run.table("table1")["model"]) == {name}


def test_a_name_that_is_no_utf8_is_refused_and_that_of_a_corpus_is_kept(tmp_path):
    with pytest.raises(ProbeError, match=r"'x\\udcff' holds bytes that are no UTF-8: rename its folder"):
        RunSettings(model=("x\udcff",))
    assert open_run(save_run(tmp_path, corpus="x\udcff")).info["corpus"]["name"] == "x\udcff"
    assert one_line("x\udcff") == "x\ufffd"
