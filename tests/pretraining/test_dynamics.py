import json
import shutil

import pandas as pd
import pytest

from probe.errors import ProbeError
from probe.pretraining.checkpoints import find_checkpoints, recorded_loss
from probe.pretraining.dynamics import find_onsets, measure_dynamics
from probe.settings import LdaSettings, RunSettings


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
    pairs = found.ratios.groupby(["measure", "site"])["same_pairs" if "same_pairs" in found.ratios else "theta"]
    assert (pairs.nunique() == 1).all()
    assert found.norms["step"].unique().tolist() == [0, 1, 2, 3, 4] and found.norms["layer"].max() == 1
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names >= {"dynamics.csv", "norms.csv", "onsets.csv", "loss.csv", "figure5.png", "topic-structure.svg"}
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
    never = find_onsets(rows.assign(p_value=0.02, ratio=0.9))
    assert never[["onset", "half"]].isna().all(axis=None)
