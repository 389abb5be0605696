import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from probe.errors import ProbeError
from probe.experiment.settings import RunSettings
from probe.pretraining.checkpoints import find_checkpoints, recorded_loss
from probe.pretraining.dynamics import measure_dynamics, measure_trainings, read_dynamics
from probe.pretraining.onsets import find_first, find_onsets, find_stages
from probe.topics.settings import LdaSettings


@pytest.fixture
def settings(small_corpus):
    return RunSettings(
        corpus=str(small_corpus),
        theta=(0.01,),
        passages=20,
        lda=LdaSettings(topics=5),
        resamples=20,
        device="cpu",
    )


@pytest.fixture
def as_trainer_leaves_it(trained, tmp_path):
    """The same checkpoints as transformers' Trainer writes them."""
    for step in (0, 2, 4):
        shutil.copytree(trained("bert") / "checkpoints" / f"checkpoint-{step}", tmp_path / f"checkpoint-{step}")
    history = [{"step": 2, "loss": 5.5, "grad_norm": 1.0}, {"step": 4, "loss": 5.0}, {"step": 4, "eval_loss": 9.0}]
    (tmp_path / "checkpoint-4" / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    (tmp_path / "runs2024").mkdir()
    return tmp_path


def test_checkpoints_come_in_the_order_of_their_steps(tmp_path):
    for name in ("step_20", "checkpoint-100", "checkpoint-9", "notes", "seed_0-step_2k"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "checkpoint-7").mkdir()
    found = [(checkpoint.step, checkpoint.folder.name) for checkpoint in find_checkpoints(str(tmp_path))]
    assert found == [(9, "checkpoint-9"), (20, "step_20"), (100, "checkpoint-100"), (2000, "seed_0-step_2k")]


def test_too_few_checkpoints_and_hub_ids_without_revisions_are_refused(tmp_path):
    with pytest.raises(ProbeError, match="holds 0 checkpoints"):
        find_checkpoints(str(tmp_path))
    with pytest.raises(ProbeError, match="--revision step1000"):
        find_checkpoints("owner/name")
    with pytest.raises(ProbeError, match="revision main does not end in a step"):
        find_checkpoints("owner/name", ["main", "step1"])
    with pytest.raises(ProbeError, match="cannot be reached"):
        find_checkpoints("owner/name", ["step1", "step2"])


def test_the_loss_of_either_kind_of_training_is_found(trained, as_trainer_leaves_it):
    folder = str(as_trainer_leaves_it)
    theirs = recorded_loss(folder, find_checkpoints(folder))
    assert theirs.to_dict("list") == {"step": [2, 4], "loss": [5.5, 5.0]}
    ours = recorded_loss(str(trained("bert")), find_checkpoints(str(trained("bert"))))
    assert ours["step"].tolist() == [1, 2, 3, 4]


def test_every_checkpoint_is_measured_with_the_same_topics(trained, settings, tmp_path):
    found = measure_dynamics(str(trained("bert")), settings, tmp_path / "a")
    assert found.ratios["step"].unique().tolist() == [0, 2, 4]
    assert set(zip(found.ratios["measure"], found.ratios["site"], strict=True)) == {
        ("cosine", "word"),
        ("dot", "word"),
        ("cosine", "layer"),
        ("dot", "layer"),
        ("attention", "attention"),
    }
    assert (found.ratios.groupby(["measure", "site"])["same_pairs"].nunique() == 1).all()
    assert found.norms["step"].unique().tolist() == [0, 1, 2, 3, 4] and found.norms["layer"].max() == 1
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {
        *(f"{name}.csv" for name in ("dynamics", "norms", "loss", "onsets", "first", "stages")),
        "dynamics.json",
        *(f"{name}.{kind}" for name in ("figure5", "topic-structure") for kind in ("png", "svg")),
    }
    assert str(tmp_path.parent) not in (tmp_path / "a" / "dynamics.json").read_text().replace(settings.corpus, "")
    measure_dynamics(str(trained("bert")), settings, tmp_path / "b")
    for name in names - {"dynamics.json"}:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_the_checkpoints_of_a_trainer_are_measured_too(as_trainer_leaves_it, settings, tmp_path):
    found = measure_dynamics(str(as_trainer_leaves_it), settings, tmp_path / "out")
    assert found.norms["step"].unique().tolist() == [0, 2, 4]
    assert found.loss["loss"].tolist() == [5.5, 5.0]


def test_checkpoints_with_different_tokenizers_are_refused(trained, settings, tmp_path):
    for step, family in ((1, "bert"), (2, "roberta")):
        shutil.copytree(trained(family) / "checkpoints" / "checkpoint-0", tmp_path / f"checkpoint-{step}")
    with pytest.raises(ProbeError, match="do not share one tokenizer"):
        measure_dynamics(str(tmp_path), settings, tmp_path / "out")


def test_an_onset_lasts_to_the_end():
    rows = pd.DataFrame(
        {
            "step": [0, 10, 20, 30, 40],
            "theta": 0.001,
            "measure": "attention",
            "site": "attention",
            "ratio": [1.0, 1.3, 1.05, 1.2, 1.3],
            "p_value": [0.5, 0.001, 0.2, 0.001, 0.002],
        }
    )
    assert find_onsets(rows)[["onset", "half"]].values.tolist() == [[30, 30]]
    # Half-way to what is not above chance is nowhere.
    never = find_onsets(rows.assign(p_value=0.02))
    assert never[["onset", "half"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("embeddings", "attention", "first"),
    [
        (10, 20, "embeddings"),
        (20, 10, "attention"),
        (10, 10, "together"),
        (None, 20, "attention"),
        (None, None, "neither"),
    ],
)
def test_the_earlier_of_embeddings_and_attention_comes_first(embeddings, attention, first):
    onsets = pd.DataFrame(
        {
            "theta": 0.001,
            "measure": ["cosine", "dot", "attention"],
            "site": ["word", "word", "attention"],
            "onset": pd.array([embeddings, 0, attention], dtype="Int64"),
            "half": pd.array([30, 0, 40], dtype="Int64"),
        }
    )
    found = find_first(onsets).set_index("by")
    assert found["first"].to_dict() == {"onset": first, "half": "embeddings"}
    assert found["attention"]["half"] == 40


def test_half_of_the_growth_is_half_way_to_the_highest_norm():
    steps = [0, 10, 20, 30, 40]
    norms = {"key": [1.0, 1.0, 1.0, 2.0, 3.0], "value": [1.0, 0.9, 3.0, 5.0, 2.0], "query": [2.0, 1.9, 1.8, 1.7, 1.6]}
    rows = [(step, 0, matrix, norm) for matrix in norms for step, norm in zip(steps, norms[matrix], strict=True)]
    stages = find_stages(pd.DataFrame(rows, columns=["step", "layer", "matrix", "norm"]).sample(frac=1, random_state=0))
    found = stages.set_index("matrix")
    assert found.loc["key", ["start", "highest", "half"]].tolist() == [1.0, 3.0, 30]
    assert found.loc["value", ["start", "highest", "half"]].tolist() == [1.0, 5.0, 20]
    assert pd.isna(found["half"]["query"])


def test_several_trainings_stand_side_by_side_and_one_that_is_measured_is_read(trained, settings, tmp_path):
    bert = shutil.copytree(trained("bert"), tmp_path / "one")
    shutil.copytree(trained("roberta"), tmp_path / "two")
    measured = measure_dynamics(str(bert), settings, tmp_path / "measured" / "one")
    shutil.rmtree(bert)
    out = tmp_path / "out"
    models = [str(tmp_path / "measured" / "one"), str(tmp_path / "two")]
    found = measure_trainings(models, settings, out)
    assert list(found) == ["one", "two"]
    pd.testing.assert_frame_equal(found["one"].ratios, measured.ratios, check_dtype=False)
    assert {path.name for path in out.iterdir()} == {
        "two",
        "onsets.csv",
        "first.csv",
        "stages.csv",
        "topic-structure.png",
        "topic-structure.svg",
    }
    for name in ("onsets", "first", "stages"):
        table = pd.read_csv(out / f"{name}.csv")
        assert table.columns[0] == "model" and table["model"].unique().tolist() == ["one", "two"]
        alone = pd.read_csv(tmp_path / "measured" / "one" / f"{name}.csv")
        mine = table[table["model"] == "one"].drop(columns="model")
        pd.testing.assert_frame_equal(mine, alone, check_dtype=False)


def test_trainings_of_one_name_and_damaged_results_are_refused(settings, tmp_path):
    with pytest.raises(ProbeError, match="same name"):
        measure_trainings([str(tmp_path / "a" / "bert"), str(tmp_path / "b" / "bert")], settings, tmp_path)
    (tmp_path / "dynamics.csv").write_text("step\n0\n")
    with pytest.raises(ProbeError, match=r"cannot be read .*: measure it again"):
        read_dynamics(tmp_path)


def test_held_out_passages_are_those_no_training_reads(trained, settings, monkeypatch, tmp_path):
    monkeypatch.setattr("probe.text.passages.HELD_OUT_EVERY", 4)
    found = measure_dynamics(str(trained("bert")), replace(settings, held_out=True, passages=10**6), tmp_path)
    whole = measure_dynamics(str(trained("bert")), replace(settings, passages=10**6), tmp_path)
    assert [one["documents"] for one in found.info["models"]] == [3, 3, 3]
    assert [one["documents"] for one in whole.info["models"]] == [12, 12, 12]
    assert found.info["models"][0]["vocabulary"] == whole.info["models"][0]["vocabulary"]
