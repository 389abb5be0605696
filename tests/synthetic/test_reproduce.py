import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from probe.cli.synthetic import app
from probe.errors import ProbeError
from probe.experiment.progress import Silent
from probe.synthetic import figures
from probe.synthetic.comparison import compare
from probe.synthetic.published import TABLE_3, TABLE_4
from probe.synthetic.reproduction.setting import Setting, failed
from probe.synthetic.reproduction.targets import TARGETS, reproduce
from probe.synthetic.reproduction.two_stages import two_stage_score
from probe.synthetic.topic_model import Masking, TopicModel


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_target_of_the_paper_is_there() -> None:
    assert {"table3", "table4", *(f"figure{number}" for number in (1, 2, 4, 7, 8, 9, 10))} <= set(TARGETS)


def test_a_table_carries_the_printed_values_and_names_failed_runs(tmp_path: Path) -> None:
    reproduce("table3", tmp_path, Silent(), share=0.004)
    rows = {(row["optimizer"], float(row["learning_rate"])): row for row in read(tmp_path / "table3.csv")}
    for key, printed in TABLE_3.items():
        assert float(rows[key]["paper_same_topic"]) == printed.same_topic.mean
        assert float(rows[key]["paper_different_topic"]) == printed.different_topic.mean
    assert rows["sgd", 0.003]["paper_same_word"] == ""
    runs = read(tmp_path / "table3-runs.csv")
    assert len(runs) == 24
    assert {row["pattern"] for row in runs} <= {"block", "diagonal", "failed"}


def test_a_figure_is_made_whole_and_twice_the_same(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        figures.matrices(tmp_path / folder / "matrix", [("a", np.eye(3)), ("b", np.zeros((3, 3)))], "W^V")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["matrix.png", "matrix.svg"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_two_stages_are_read_off_the_norms() -> None:
    steps = np.arange(0, 1000, 10.0)
    value = 1 - np.exp(-steps / 50)
    late, early = 1 + (steps > 500) * 5.0, 1 + (steps > 20) * 5.0
    apart = two_stage_score(steps, value, late, late)
    assert (apart.settled, apart.left) == (90, 510)
    assert apart.score > 0.99
    assert two_stage_score(steps, value, late, early).score == pytest.approx(1 - np.exp(-30 / 50), abs=0.01)
    assert two_stage_score(steps, value, np.ones(100), np.ones(100)).left is None


def test_runs_fail_by_their_loss_alone() -> None:
    assert failed([3.2, 3.3, 4.6, np.inf]).tolist() == [False, False, True, True]
    assert failed([np.inf, np.inf]).tolist() == [True, True]


def test_lookup_by_token_id_shifts_topics_by_four_words() -> None:
    labels = Setting(Path(), Silent()).labels_by_token_id
    assert labels[0] == 0
    assert labels[1:7].tolist() == [0] * 6
    assert labels[7] == 1
    assert labels[-4:].tolist() == [-1] * 4


def test_table_4_prints_seven_runs_of_each_rate() -> None:
    assert {row.runs for row in TABLE_4.values()} == {7}


def test_the_theory_command_prints_the_formulas_and_the_optimum_found_without_them() -> None:
    result = CliRunner().invoke(app, ["theory", "--topics", "10", "--words-per-topic", "10", "--json"])
    report = json.loads(result.stdout)
    assert report["value_mask_column"] == pytest.approx(0.0541907514, abs=1e-10)
    assert report["value_largest_difference"] < 1e-8
    assert report["numeric_embedding_gap"] == pytest.approx(report["embedding_gap"], abs=1e-8)
    assert report["theorem3_low"] < report["theorem3_gamma"] < report["theorem3_high"]
    assert report["theorem5_beta_low"] < report["theorem5_beta"] < report["theorem5_beta_high"]


def test_what_a_theorem_does_not_cover_is_empty_and_explained() -> None:
    report = compare(TopicModel(topics=4, words_per_topic=3, topics_per_document=4), Masking(0.15, 0.2, 0.0))
    assert report["value_largest_difference"] is None
    assert report["theorem3_high"] is None
    assert report["theorem5_beta_low"] is None
    assert "alike" in str(report["notes"])


def test_training_from_the_command_line_leaves_tables_and_weights(tmp_path: Path) -> None:
    data = tmp_path / "data"
    arguments = ["--steps", "20", "--seed", "0", "--seed", "1", "--save-data", str(data), "--documents", "80"]
    result = CliRunner().invoke(app, ["train", *arguments, "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert len(read(tmp_path / "run" / "runs.csv")) == 2
    again = CliRunner().invoke(app, ["train", *arguments[:6], "--data", str(data), "--out", str(tmp_path / "again")])
    assert again.exit_code == 0, again.output
    for name in ("runs.csv", "history.csv"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["theory", "--tau", "11"],
        ["theory", "--words-per-topic", "1"],
        ["theory", "--p-correct", "0.6", "--p-random", "0.5"],
        ["train", "--l2", "-1"],
        ["train", "--learning-rate", "0"],
        ["train", "--tau", "11"],
        ["train", "--device", "tpu9"],
        ["train", "--data", "nowhere"],
        ["reproduce", "figure3"],
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, ProbeError)
    assert "\n" not in str(result.exception)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProbeError):
        reproduce("figure7", tmp_path / "file" / "folder", Silent())
