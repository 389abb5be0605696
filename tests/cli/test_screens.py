"""What a console or pipe that cannot show every letter receives, and how foreign text is shown."""

import os
import subprocess
import sys

import pytest

from probe.cli import main
from tests.finished_runs import save_run

NAME = "日本語[/bold]τ"


def _probe(*arguments, encoding, **environment):
    command = [sys.executable, "-m", "probe", *map(str, arguments)]
    return subprocess.run(
        command, env=os.environ | environment | {"PYTHONIOENCODING": encoding}, capture_output=True, check=False
    )


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize("form", ["terminal", "markdown", "csv"])
def test_letters_that_cannot_be_shown_are_replaced_and_said(tmp_path, encoding, form):
    folder = save_run(tmp_path / NAME.replace("/", ""), [NAME])
    finished = _probe("table", folder, "--format", form, encoding=encoding)
    assert finished.returncode == 0, finished.stderr
    assert b"???[/bold]?" in finished.stdout.replace(b"\\", b"")
    said = finished.stderr.decode("ascii")
    assert said.count("\n") == 1 and f"Letters that {encoding} cannot show" in said
    assert NAME in (folder / "table1.csv").read_text("utf-8")


def test_everything_is_shown_where_it_can_be(tmp_path):
    finished = _probe("table", save_run(tmp_path, [NAME]), encoding="utf-8")
    assert NAME in finished.stdout.decode() and finished.stderr == b""


@pytest.mark.parametrize("command", [["--help"], ["run", "--help"], ["synthetic", "train", "--help"]])
def test_help_is_shown_in_any_encoding(command):
    assert _probe(*command, encoding="ascii", COLUMNS="120").returncode == 0


def test_a_refusal_of_any_name_is_one_line(monkeypatch, capsys):
    for name in ("./x[/bold]", "./two\nlines", "./\x1b[31mred", "./\udcff", "./:smile:"):
        monkeypatch.setattr(sys, "argv", ["probe", "table", name])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err
        assert ended.value.code == 2 and said.startswith("probe: ") and said.count("\n") == 1 and "\x1b" not in said


def test_a_catalog_with_markup_is_listed_as_it_is(tmp_path, monkeypatch, capsys):
    catalog = tmp_path / "catalog.toml"
    catalog.write_text('["x[/bold]"]\nsource = "a.txt"\ndescription = "[red]all[/red] :smile:"\n')
    monkeypatch.setenv("PROBE_CATALOG", str(catalog))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["probe", "corpora"])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert "x[/bold]" in shown and "[red]all[/red] :smile:" in shown
