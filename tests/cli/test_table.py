"""`probe table` and `probe compare`: every format, every width, every refusal."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from probe.cli.compare import compare
from probe.cli.table import table
from probe.errors import ProbeError
from probe.results.finished import open_run
from probe.show.layout import text_lines, to_latex, to_markdown, to_text
from probe.show.terminal import show_cooccurrence_table, show_ratio_table
from probe.show.views import cooccurrence_view, digits_of, ratio_view, rounded
from tests.finished_runs import REASON, make_tables, save_run

app = typer.Typer()
app.command("table")(table)
app.command("compare")(compare)


def _run(*arguments) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def folder(tmp_path):
    return save_run(tmp_path / "run", ["bert-base-uncased", "my_model|50%"], withheld=("dot", 0.001))


@pytest.mark.parametrize("number", [1, 2, 5])
def test_csv_is_the_file_itself(folder, number):
    assert _run("table", folder, "--table", number, "--format", "csv") == (folder / f"table{number}.csv").read_text()


def test_a_table_is_read_back_as_it_was_written(folder):
    written = make_tables(["bert-base-uncased", "my_model|50%"], withheld=("dot", 0.001))
    for name in ("table1", "table2", "table5", "measures"):
        pd.testing.assert_frame_equal(open_run(folder).table(name), written[name], check_dtype=False, rtol=1e-14)


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_every_line_has_as_many_cells_as_the_head(folder, number, form):
    text = _run("table", folder, "--table", number, "--format", form)
    if form == "markdown":
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")}
    else:
        counts = {len(re.findall(r"(?<!\\)&", line)) for line in text.splitlines() if line.endswith(r" \\")}
        assert r"my\_model|50\%" in text and text.count("{") == text.count("}")
    assert len(counts) == 1


def test_numbers_are_rounded_and_what_is_withheld_has_its_reason_below(folder):
    text = _run("table", folder, "--table", 1)
    assert re.search(r"0\.0005 +15 +1\.50 \(1\.40, 1\.70\) +1\.60 \(1\.50, 1\.80\) +1\.70 \(1\.60, 1\.90\)\n", text)
    assert re.search(r"printed +1\.21 +1\.19 +1\.32\n", text)
    assert re.search(r"0\.001 +30 +1\.50 \(1\.40, 1\.70\) +- +1\.70", text)
    assert f"- withheld: {REASON} (dot); measures.csv has the means." in text
    assert re.search(r"0\.0005 +105 +0\.00710 +0\.00820 +0\.410 +0\.330\n", _run("table", folder, "--table", 2))


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_of_numbers_is_longer_than_the_terminal(width):
    tables = make_tables(["google/electra-base-discriminator"])
    narrow = tables["table1"].copy()
    for measure in ("cosine", "dot", "attention"):
        narrow[f"{measure}_ratio_low"] = narrow[f"{measure}_ratio"] - 0.0001
        narrow[f"{measure}_ratio_high"] = narrow[f"{measure}_ratio"] + 0.0001
    for view in (
        ratio_view(1, tables["table1"], tables["measures"]),
        ratio_view(1, narrow, tables["measures"]),
        cooccurrence_view(tables["table2"]),
    ):
        lines = [line for kind, line in text_lines(view, width) if kind in ("head", "row", "minor")]
        assert max(map(len, lines)) <= width
    shown = io.StringIO()
    console = Console(file=shown, width=width)
    show_ratio_table(console, 1, narrow, tables["measures"])
    show_cooccurrence_table(console, tables["table2"])
    assert "1.5000" in shown.getvalue() and "(1.4999, 1.5001)" in shown.getvalue()


def test_the_spread_between_topic_models_stands_beneath_the_ratio():
    tables = make_tables()
    spread = tables["table1"].assign(cosine_ratio_seed_sd=0.061, dot_ratio_seed_sd=np.nan, attention_ratio_seed_sd=0.2)
    text = to_text(ratio_view(1, spread, tables["measures"]), 80)
    assert re.search(r"seed sd +0\.06 +- +0\.20\n", text) and "standard deviation between topic models" in text
    assert "seed sd" not in to_text(ratio_view(1, tables["table1"], tables["measures"]), 80)


def test_decimals_follow_the_intervals():
    assert digits_of([1.2, 1.3], [1.8, 1.9]) == 2
    assert digits_of([0.995, 0.996], [1.003, 1.002]) == 3
    assert digits_of([1.0], [1.000001]) == 4
    assert digits_of([float("nan")], [float("nan")]) == 2
    assert rounded(-0.001, 2) == "0.00" and rounded(0.5, 2, signed=True) == "+0.50" and rounded(float("nan"), 2) == "-"


def test_a_negative_number_in_latex_has_a_minus_and_an_empty_cell_a_dash():
    tables = make_tables(["m-1"], ratio=-1.5, withheld=("dot", 0.001))
    text = to_latex(ratio_view(1, tables["table1"], tables["measures"]))
    assert "$-$1.50 ($-$1.60, $-$1.30)" in text and " & -- & " in text and "m-1 &" in text
    assert "-1.50 (-1.60, -1.30)" in to_markdown(ratio_view(1, tables["table1"], tables["measures"]))


def test_compare_takes_every_format(tmp_path):
    runs = [save_run(tmp_path / "a"), save_run(tmp_path / "b", ratio=1.9)]
    assert pd.read_csv(io.StringIO(_run("compare", *runs, "--format", "csv")))["difference"].max() == pytest.approx(0.4)
    assert "| 2 - 1 | +0.40 (0.18, 0.62) |" in _run("compare", *runs, "--format", "markdown")
    assert "2 - 1 & +0.40 (0.18, 0.62) &" in _run("compare", *runs, "--format", "latex")
    assert "Table 5 of 2 runs" in _run("compare", *runs, "--table", 5)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "run.json").unlink(), "holds no run.json"),
        (lambda folder: (folder / "run.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "run.json").write_text("[]"), "was not written by probe run"),
        (lambda folder: (folder / "run.json").write_text(json.dumps({"format": 999})), "newer probe .*upgrade"),
        (lambda folder: (folder / "run.json").write_text(json.dumps({"format": 0})), "older probe .*repeat its run"),
        (lambda folder: (folder / "table1.csv").unlink(), "has no table1.csv"),
        (lambda folder: (folder / "measures.csv").unlink(), "has no measures.csv"),
        (lambda folder: (folder / "table1.csv").write_text(""), "is damaged"),
        (lambda folder: (folder / "table1.csv").write_bytes(b"\xff\xfe"), "is damaged"),
        (lambda folder: (folder / "table1.csv").write_text("model\nx\n"), "no column weights"),
    ],
)
def test_a_folder_that_is_no_whole_run_is_refused_in_one_sentence(folder, spoil, sentence):
    spoil(folder)
    with pytest.raises(ProbeError, match=sentence) as refused:
        table(folder)
    assert "\n" not in str(refused.value)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ProbeError, match="is no folder"):
        table(tmp_path / "nowhere")


def test_a_folder_of_the_earlier_format_is_still_read(folder, tmp_path):
    other = save_run(tmp_path / "other", ["bert-base-uncased", "my_model|50%"])
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(info | {"format": 1, "seconds": {"total": 12.5}}))
    assert "my_model|50%" in _run("table", folder)
    assert "1.2" in _run("compare", folder, other)
