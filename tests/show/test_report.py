"""The report without a browser: what it says, what it leaves out, what it refuses, and that it repeats."""

import html
import json
import re
import time

import pandas as pd
import pytest

from probe.errors import ProbeError
from probe.show.report.answer import answer
from probe.show.report.how import spelled
from probe.show.report.sources import open_sources
from probe.show.report.subjects import find_subjects
from probe.show.report.svg import Scale
from probe.show.report.write import write_report
from tests.report_runs import rich_run, training


def _data(path):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    return json.loads(found[1])


def test_the_same_folders_give_the_same_bytes(tmp_path):
    run, watched = rich_run(tmp_path / "run"), training(tmp_path / "training")
    first, second = (write_report([run, watched], tmp_path / f"{name}.html") for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_it_asks_the_network_for_nothing(tmp_path):
    page = write_report([rich_run(tmp_path / "run")], tmp_path / "report.html").read_text("utf-8")
    assert "default-src 'none'" in page
    # The only addresses are the name of SVG and places on the page itself.
    assert set(re.findall(r"https?://[^\s\"'<>)]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert all(link.startswith("#") for link in re.findall(r"(?:href|src)=\"([^\"]*)\"", page))


def test_an_old_run_is_shown_without_the_views_that_it_has_no_files_for(tmp_path):
    folder = rich_run(tmp_path / "old", optional=False, passages=0)
    page = write_report([folder], tmp_path / "old.html")
    subject = _data(page)["subjects"][0]
    assert subject["examples"] is None and subject["topics"]["map"] is None and subject["topics"]["effects"] is None
    assert set(subject["heads"]["weights"]["pretrained"][0]) == {"ratio", "same", "different"}
    text = page.read_text("utf-8")
    assert "Hidden states" not in text and 'id="explain"' not in text
    whole = write_report([rich_run(tmp_path / "new")], tmp_path / "new.html").read_text("utf-8")
    assert "Hidden states" in whole and 'id="explain"' in whole


def test_the_answer_is_made_of_the_numbers(tmp_path):
    [subject] = find_subjects(open_sources([rich_run(tmp_path / "run")]).runs)
    found = answer(subject)
    assert found.sentences[0] == (
        "At theta 0.001, words of one topic are 1.50 (1.40 to 1.70) times as similar (cosine) as words of different "
        "topics, and get 1.70 (1.60 to 1.90) times the attention."
    )
    assert "1.15 (0.90 to 2.00) of the similarity with all controls together" in found.sentences[1]
    assert any("One topic model was fitted" in caveat for caveat in found.caveats)


def test_what_speaks_against_the_answer_is_said(tmp_path):
    folder = rich_run(tmp_path / "run", optional=False)
    measures = pd.read_csv(folder / "measures.csv", dtype={"note": str})
    here = (measures["theta"] == 0.001) & (measures["assignment"] == "single")
    cosine = here & (measures["measure"] == "cosine") & (measures["weights"] == "pretrained")
    measures.loc[cosine, ["low", "p_value"]] = 0.98, 0.2
    attention = here & (measures["measure"] == "attention")
    measures.loc[attention & (measures["weights"] == "pretrained"), ["ratio", "low", "high"]] = None
    measures.loc[attention & (measures["weights"] == "pretrained"), "note"] = "too few pairs"
    measures.loc[attention & (measures["weights"] == "random"), "ratio"] = 1.2
    measures.to_csv(folder / "measures.csv", index=False)
    [subject] = find_subjects(open_sources([folder]).runs)
    said = " ".join(answer(subject).caveats)
    assert "The interval of similarity holds 1" in said and "(p = 0.2)" in said
    assert "The ratio of attention is withheld: too few pairs." in said
    assert "Random weights give 1.20" in said
    assert "an undetermined number of times" in answer(subject).sentences[0]
    assert "no matched control" in answer(subject).sentences[1]


def test_why_a_word_is_kept_or_dropped_is_in_the_data(tmp_path):
    page = write_report([rich_run(tmp_path / "run")], tmp_path / "report.html")
    words = _data(page)["subjects"][0]["topics"]["words"]
    # By theta: the first word is topic 0's everywhere; topic 1 keeps it at the widest theta, where topic 0 has it.
    assert words[0][0] == ["music", 0.5, [0, 0, 0]]
    assert words[0][2] == ["band", 0.1667, [-1, -1, 0]]
    assert words[1][-1] == ["music", 0.05, [-1, -1, 0]]


def test_several_runs_are_compared_and_trainings_watched(tmp_path):
    runs = [rich_run(tmp_path / "one"), rich_run(tmp_path / "two")]
    trainings = training(tmp_path / "zoo" / "bert").parent
    page = write_report([*runs, trainings], tmp_path / "report.html").read_text("utf-8")
    assert "Table 1 of 2 runs" in page and "bert-base-uncased (run 2, two)" in page
    assert 'id="dynamics"' in page and "tiny-bert" in page
    alone = write_report([trainings], tmp_path / "training.html").read_text("utf-8")
    assert 'id="dynamics"' in alone and 'id="table1"' not in alone


def test_the_command_spells_every_argument_and_quotes_it():
    arguments = {"model": ["my model"], "theta": [0.001, 0.002], "documents": None, "baseline": False, "max_length": 64}
    arguments["lda"] = {"engine": "gensim", "topics": 100, "passes": 2, "random_state": 0}
    assert spelled("probe run", arguments) == (
        "probe run --model 'my model' --theta 0.001 --theta 0.002 --no-baseline --max-length 64 --lda gensim "
        "--topics 100 --lda-passes 2"
    )


def test_hostile_names_and_words_are_data(tmp_path):
    evil = "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)>\"'&\u2028"
    words = [f"{evil}{number}" for number in range(9)]
    folder = rich_run(tmp_path / "run", [evil], words=words, corpus=evil, license=evil)
    path = write_report([folder], tmp_path / "report.html")
    page = path.read_text("utf-8")
    assert page.count("<script") == 2 and page.count("</script>") == 2 and "<img" not in page
    assert _data(path)["subjects"][0]["topics"]["words"][0][0][0] == words[0]
    assert html.escape(evil, quote=False)[:20] in page


def test_what_is_no_run_is_refused_and_nothing_is_written(tmp_path):
    out = tmp_path / "report.html"
    run = rich_run(tmp_path / "run")
    for folders, reason in (
        ([], "at least one"),
        ([run, run], "named twice"),
        ([tmp_path / "none"], "is no folder"),
        ([tmp_path], "holds no run.json"),
    ):
        with pytest.raises(ProbeError, match=reason):
            write_report(folders, out)
    (run / "examples.json").write_text("{")
    with pytest.raises(ProbeError, match=r"examples.json cannot be read"):
        write_report([run], out)
    (training(tmp_path / "training") / "dynamics.json").write_text("[]")
    with pytest.raises(ProbeError, match="not written by probe dynamics"):
        write_report([tmp_path / "training"], out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("low", "high", "log"), [(0.9, 9.0, True), (0.98, 1.03, True), (-0.4, 0.6, False), (0, 1800, False)]
)
def test_ticks_are_round_lie_inside_and_stand_apart(low, high, log):
    scale = Scale(low, high, 0, 300, log)
    ticks = scale.ticks()
    assert len(ticks) >= 2 and low <= min(ticks) and max(ticks) <= high
    assert min(b - a for a, b in zip(map(scale, ticks), map(scale, ticks[1:]), strict=False)) >= 30


def test_a_report_of_three_models_of_the_papers_size_is_small_and_soon_made(tmp_path):
    words = [f"word{number}" for number in range(100 * 59)]
    models = ["bert-base-uncased", "roberta-base", "albert-base-v2"]
    folder = rich_run(tmp_path / "run", models, words=words, topics=100, layers=12, heads=12, passages=8)
    started = time.process_time()
    path = write_report([folder], tmp_path / "report.html")
    assert time.process_time() - started < 10
    assert path.stat().st_size < 3_000_000
