"""Words and names that CSV readers take for something else come back as they were."""

import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from probe.cli import main
from probe.results.finished import open_run
from probe.show.report.write import write_report
from probe.show.words import choose_words, find_words
from tests.finished_runs import make_tables, save_run

WORDS = [
    "null", "nan", "NA", "None", "true", "1e5", "=SUM(A1)", "NaN", "n/a", "#N/A", "TRUE", "False", "inf", "-inf",
    "0x10", "007", "1_000", "+1", "@cmd", 'a"b', "a,b", "'", '"', "a\nb", "\ufeffa", "NULL", "<NA>", "-", "é",
]  # fmt: skip
# What docs/reading-the-tables.md says.
DOCUMENTED = {"keep_default_na": False, "dtype": {"token": str, "surface": str}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A finished run whose words are all of the kind."""

    def tables(models, **arguments):
        made = make_tables(models, **arguments)
        words = np.resize(WORDS, len(made["topics"]))
        made["topics"] = made["topics"].assign(token=[f"Ġ{word}" for word in words], surface=words)
        return made

    monkeypatch.setattr("tests.finished_runs.make_tables", tables)
    return save_run(tmp_path / "run", ["null", "nan", "1e5", "=SUM(A1)"])


def test_words_come_back(folder):
    text = (folder / "topics.csv").read_text("utf-8")
    for read in (open_run(folder).table("topics"), pd.read_csv(folder / "topics.csv", **DOCUMENTED)):
        assert read["surface"].tolist() == np.resize(WORDS, len(read)).tolist()
        assert read["token"].tolist() == [f"Ġ{word}" for word in read["surface"]]
        assert set(read["model"]) == {"null", "nan", "1e5", "=SUM(A1)"}
        assert read["likelihood"].dtype == float and read["kept"].dtype == np.int64
        assert read.to_csv(index=False, lineterminator="\n") == text


def test_a_column_that_looks_like_numbers_stays_text():
    table = pd.DataFrame({"token": ["1e5", "007"], "surface": ["true", "false"]})
    read = pd.read_csv(io.StringIO(table.to_csv(index=False)), **DOCUMENTED)
    assert read.to_dict("list") == table.to_dict("list")


@pytest.mark.parametrize("name", ["null", "nan", "none", "1e5"])
def test_such_words_are_found_and_chosen_for_the_figure(name):
    rows = [(0.001, 0, 0, word, word, 0.5, 1) for word in (name, "music")]
    topics = pd.DataFrame(rows, columns=["theta", "topic", "rank", "token", "surface", "likelihood", "kept"])
    assert set(find_words(topics, [name, "music"])["surface"]) == {name, "music"}
    assert set(choose_words(topics, np.array([0.5]), each=2)["surface"]) == {name, "music"}


@pytest.mark.parametrize("form", ["terminal", "markdown", "latex", "csv"])
def test_models_of_such_names_are_shown_and_compared(folder, tmp_path, form, monkeypatch, capsys):
    other = save_run(tmp_path / "other", ["null", "nan", "1e5", "=SUM(A1)"], ratio=1.6)
    for command in (["table", folder], ["compare", folder, other]):
        monkeypatch.setattr(sys, "argv", ["probe", *map(str, command), "--format", form])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr().out
        assert ended.value.code == 0 and all(name in shown for name in ("null", "nan", "1e5", "=SUM(A1)"))


def test_the_report_shows_them(folder, tmp_path):
    page = write_report([folder], tmp_path / "report.html").read_text("utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
    shown = {entry[0] for topic in data["subjects"][0]["topics"]["words"] for entry in topic}
    topics = open_run(folder).table("topics")
    assert shown == set(topics.loc[topics["model"] == "null", "surface"])
