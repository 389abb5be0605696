"""A result is looked at, kept, read back and compared."""

import html
import json
import shutil

import pandas as pd
import pytest

import probe
from probe.errors import ProbeError
from probe.experiment.result import RunResult
from tests.experiment.small import SMALL, lda

MARKUP = '<b>me</b> & "you"'


@pytest.fixture(scope="module")
def result(tiny_models, small_corpus, tmp_path_factory) -> RunResult:
    import transformers

    folder = tiny_models("bert")
    pair = transformers.AutoModel.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    cache = tmp_path_factory.mktemp("cache")
    return probe.run([{MARKUP: pair}, folder], small_corpus, cache=cache, lda=lda(), lda_seeds=2, **SMALL)


@pytest.fixture(scope="module")
def saved(result, tmp_path_factory):
    return result.save(tmp_path_factory.mktemp("saved") / "run")


def test_every_frame_comes_back_from_its_folder_to_the_last_digit(result, saved):
    loaded = probe.load(saved)
    assert list(loaded.tables) == list(result.tables)
    for name, frame in result.tables.items():
        pd.testing.assert_frame_equal(loaded.tables[name], frame, check_exact=True)
    assert loaded.info == json.loads(json.dumps(result.info))
    assert (loaded.folder, dict(loaded.seconds)) == (saved, dict(result.seconds))
    assert RunResult.load(str(saved)).measures.equals(result.measures)


def test_saving_again_gives_the_same_bytes_and_takes_the_place_of_what_was_there(result, saved, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.png").write_bytes(b"")
    probe.load(saved).save(tmp_path)
    for path in saved.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name
    assert not list(tmp_path.glob("figures/*"))


def test_it_prints_as_the_table_of_the_command(result):
    text = repr(result)
    assert text.startswith("Table 1. ") and MARKUP in text and ".figure" in text.splitlines()[-1]
    assert str(result) == text


def test_a_notebook_gets_tables_in_which_names_are_text(result):
    shown = result._repr_html_()
    assert shown.count("<table>") == 3
    assert MARKUP not in shown and "<b>" not in shown and html.escape(MARKUP) in shown


def test_tables_and_figures_are_asked_for_by_name(result):
    assert result.table(5) is result.tables["table5"] and result.table("layers") is result.layers
    for name in ("theta", "theta-table5", "heads"):
        assert result.figure(name)._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(ProbeError, match="has no table 3; it has table1"):
        result.table(3)
    with pytest.raises(ProbeError, match="There is no figure words: draw one of theta"):
        result.figure("words")


def test_results_are_compared_in_memory_as_their_folders_are(result, saved, tmp_path):
    changed = RunResult({**result.tables}, result.info, None)
    table1 = changed.table(1).copy()
    table1["cosine_ratio"] += 0.25
    changed.tables["table1"] = table1
    in_memory = result.compare(changed)
    shutil.copytree(saved, tmp_path / "other")
    table1.to_csv(tmp_path / "other" / "table1.csv", index=False)
    by_folder = probe.compare(saved, str(tmp_path / "other"))
    pd.testing.assert_frame_equal(in_memory.drop(columns="run"), by_folder.drop(columns="run"))
    first, second = in_memory["run"].unique()
    assert second == f"{first} (2)"
    mixed = probe.compare(result, probe.load(saved))
    assert mixed["difference"].dropna().eq(0).all()
    with pytest.raises(ProbeError, match="at least two"):
        result.compare()


def test_a_folder_that_cannot_be_written_or_read_is_refused(result, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProbeError, match="cannot be written"):
        result.save(tmp_path / "file")
    with pytest.raises(ProbeError, match="holds no run"):
        probe.load(tmp_path)


def test_a_rank_without_tables_says_so():
    other = RunResult({}, {}, None)
    assert "rank 0" in repr(other) and "rank 0" in other._repr_html_()


def test_a_result_writes_its_report_from_its_folder_or_from_memory(result, saved, tmp_path, monkeypatch):
    loaded = probe.load(saved)
    assert loaded.report() == saved / "report.html"
    page = (saved / "report.html").read_text("utf-8")
    assert html.escape(MARKUP, quote=False)[:26] in page and MARKUP not in page
    monkeypatch.chdir(tmp_path)
    assert result.report(tmp_path / "mine.html") == tmp_path / "mine.html"
    assert "Table 1" in (tmp_path / "mine.html").read_text("utf-8")
    with pytest.raises(ProbeError, match="no table 1"):
        RunResult({}, {}, None).report()
