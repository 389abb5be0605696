"""Several runs side by side: the interval of a difference, which rows meet, what is missing."""

import re

import numpy as np
import pytest

from probe.errors import ProbeError
from probe.results.comparison import ABSENT, compare, difference_interval, differing
from probe.results.finished import open_run
from probe.show.comparison import comparison_view
from probe.show.layout import to_text
from tests.finished_runs import REASON, save_run


def test_the_interval_of_a_difference_holds_the_true_one_95_times_in_100():
    random = np.random.default_rng(5)
    true, spread = np.array([1.8, 1.2]), np.array([0.15, 0.25])
    held = 0
    for _ in range(4000):
        # Log-normal estimates, like ratios: their own 95 % intervals are skewed.
        logs = np.log(true) + spread * random.standard_normal(2)
        (one, other) = (
            tuple(np.exp(log + s * np.array([0, -1.96, 1.96]))) for log, s in zip(logs, spread, strict=True)
        )
        low, high = difference_interval(one, other)
        held += low <= true[0] - true[1] <= high
    assert 0.94 < held / 4000 < 0.96


def test_the_interval_of_a_difference_of_symmetric_ones_is_the_usual_one():
    low, high = difference_interval((2.0, 1.7, 2.3), (1.0, 0.6, 1.4))
    assert (low, high) == pytest.approx((1 - 0.5, 1 + 0.5))


def test_differences_are_taken_from_the_first_run(tmp_path):
    runs = [
        open_run(save_run(tmp_path / "a", seed=0)),
        open_run(save_run(tmp_path / "b", seed=1, ratio=1.9, corpus="other")),
    ]
    table = compare(runs, 1)
    row = table[(table["run"] == str(tmp_path / "b")) & (table["weights"] == "pretrained")].iloc[0]
    assert (row["value"], row["reference"], row["difference"]) == pytest.approx((1.9, 1.5, 0.4))
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(
        (0.4 - np.hypot(0.1, 0.2), 0.4 + np.hypot(0.2, 0.1))
    )
    assert table[table["run"] == str(tmp_path / "a")]["difference"].isna().all()
    text = to_text(comparison_view(runs, 1, table), 80)
    assert re.search(r"2 - 1 +\+0\.40 \(0\.18, 0\.62\)", text)
    assert "Differs: seed = 0, 1." in text and "Run 2" in text


def test_runs_of_one_model_each_meet_whatever_the_models(tmp_path):
    runs = [open_run(save_run(tmp_path / name, [name], ratio=ratio)) for name, ratio in (("bert", 1.5), ("bart", 2.0))]
    table = compare(runs, 5)
    mine = table[(table["run"] == str(tmp_path / "bart")) & (table["weights"] == "pretrained")]
    assert set(mine["model"]) == {"bart"}
    np.testing.assert_allclose(mine["difference"], 0.5)


def test_what_one_run_lacks_is_shown_as_absent_and_what_is_withheld_keeps_its_reason(tmp_path):
    runs = [
        open_run(save_run(tmp_path / "a", ["bert", "bart"], withheld=("dot", 0.001))),
        open_run(save_run(tmp_path / "b", ["bart", "roberta"], thetas=[0.001])),
    ]
    table = compare(runs, 1)
    first, second = (table[table["run"] == str(run.folder)] for run in runs)
    assert set(first[first["note"] == ABSENT]["model"]) == {"roberta"}
    absent = second[second["note"] == ABSENT]
    assert {*zip(absent["model"], absent["theta"], strict=True)} == {
        ("bert", 0.0005),
        ("bert", 0.001),
        ("bart", 0.0005),
    }
    withheld = first[first["note"] == REASON]
    assert set(withheld["measure"]) == {"dot"} and withheld["value"].isna().all()
    bart = second[(second["model"] == "bart") & (second["note"] != ABSENT) & (second["weights"] == "pretrained")]
    assert bart.set_index("measure")["difference"].isna().to_dict() == {
        "cosine": False,
        "dot": True,
        "attention": False,
    }
    text = to_text(comparison_view(runs, 1, table), 120)
    assert "absent: the run has no such model, weights or theta." in text
    assert f"- withheld: {REASON}; measures.csv has the means." in text


def test_table_2_has_differences_without_intervals(tmp_path):
    runs = [open_run(save_run(tmp_path / name)) for name in "ab"]
    table = compare(runs, 2)
    assert table["difference_low"].isna().all()
    assert (table[table["run"] == str(tmp_path / "b")]["difference"] == 0).all()
    assert "0.00710" in to_text(comparison_view(runs, 2, table), 80)


def test_a_corpus_that_changed_under_its_name_is_said(tmp_path):
    runs = [open_run(save_run(tmp_path / name)) for name in "ab"]
    assert differing(runs) == []
    runs[1].info["corpus"]["fingerprint"] = "another"
    assert differing(runs) == ["Differs: the content of the corpus, under one name."]


def test_one_run_or_the_same_twice_is_refused(tmp_path):
    run = open_run(save_run(tmp_path / "a"))
    with pytest.raises(ProbeError, match="at least two"):
        compare([run], 1)
    with pytest.raises(ProbeError, match="named twice"):
        compare([run, open_run(tmp_path / "." / "a")], 1)
