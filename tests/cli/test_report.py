"""`probe report`, and `probe run --report`."""

import pytest
import typer
from typer.testing import CliRunner

from probe.cli.report import report
from probe.cli.run import run
from probe.errors import ProbeError
from tests.report_runs import rich_run

app = typer.Typer()
app.command("report")(report)
app.command("run")(run)


def _run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_several_folders_become_one_page(tmp_path):
    folders = [rich_run(tmp_path / name) for name in ("one", "two")]
    result = _run("report", *folders, "--out", tmp_path / "both.html")
    assert result.stderr == f"Report: {tmp_path / 'both.html'}\n" and not result.stdout
    assert (tmp_path / "both.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_where_it_cannot_be_written_nothing_is(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProbeError, match="give a place that can be written to"):
        _run("report", rich_run(tmp_path / "run"), "--out", tmp_path / "file" / "report.html")


def test_a_run_writes_its_report_when_asked(tiny_models, small_corpus, tmp_path):
    small = ["--passages", 40, "--max-length", 48, "--resamples", 20, "--theta", 0.05, "--topics", 4, "--no-figures"]
    models = ["--model", tiny_models("bert"), "--corpus", small_corpus, "--no-baseline", "--quiet"]
    _run("run", *models, *small, "--out", tmp_path / "with", "--report")
    page = (tmp_path / "with" / "report.html").read_text("utf-8")
    assert "Attention in a passage" in page and '"examples":{' in page
    _run("run", *models, *small, "--out", tmp_path / "without")
    assert not (tmp_path / "without" / "report.html").exists()
