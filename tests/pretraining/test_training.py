import importlib.metadata
import logging
import warnings
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

from probe.errors import ProbeError
from probe.pretraining.architectures import FAMILIES
from probe.pretraining.passages import split_passages
from probe.pretraining.settings import PretrainSettings
from probe.pretraining.training import pretrain
from probe.text.passages import SpecialTokens
from probe.text.tokens import Tokens

CLASSES = {
    "bert": "BertModel",
    "albert": "AlbertModel",
    "bart": "BartModel",
    "electra": "ElectraModel",
    "roberta": "RobertaModel",
}


class KilledError(Exception):
    pass


class KilledAt:
    """Progress that ends the training after a step, as a signal would."""

    def __init__(self, step):
        self._step = step

    @contextmanager
    def stage(self, description, total=None):
        yield self

    def at(self, done, total=None):
        if done == self._step and total is None:
            raise KilledError

    def note(self, message):
        pass


@pytest.fixture
def settings(small_corpus):
    return PretrainSettings(
        "electra",
        corpus=str(small_corpus),
        size="tiny",
        steps=5,
        batch_tokens=512,
        checkpoint_every=2,
        device="cpu",
    )


@pytest.mark.parametrize("family", ["electra", "bart"])
def test_a_killed_training_ends_with_the_same_bytes(settings, tmp_path, family):
    settings = replace(settings, family=family)
    pretrain(settings, tmp_path / "whole")
    with pytest.raises(KilledError):
        pretrain(settings, tmp_path / "killed", progress=KilledAt(3))
    pretrain(settings, tmp_path / "killed")
    for name in ("model.safetensors", "tokenizer.json", "training.csv", "held_out.csv", "norms.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert not list(tmp_path.glob("*/training.pt")) and not list(tmp_path.glob("*/.*"))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_matrix_products_in_bfloat16_change_a_loss_by_rounding_alone(settings, tmp_path, monkeypatch, family):
    settings = replace(settings, family=family)
    pretrain(settings, tmp_path / "float32")
    monkeypatch.setattr("probe.pretraining.loop._MIXED_PRECISION", {"cpu"})
    pretrain(settings, tmp_path / "mixed")
    whole, mixed = (pd.read_csv(tmp_path / name / "training.csv")["loss"] for name in ("float32", "mixed"))
    assert not whole.equals(mixed)
    np.testing.assert_allclose(mixed, whole, rtol=5e-3)
    assert {value.dtype for value in load_file(tmp_path / "mixed" / "model.safetensors").values()} == {torch.float32}


class Beginning(KilledAt):
    """Progress that does something when a stage begins, and when it has got to the first step."""

    def __init__(self, beginning, act):
        super().__init__(None)
        self._beginning, self._act = beginning, act

    @contextmanager
    def stage(self, description, total=None):
        if description.startswith(self._beginning):
            self._act()
        yield self


@pytest.mark.parametrize(
    ("beginning", "way_out"),
    [("Training a tokenizer", "--cache DIR"), ("Tokenizing", "--cache DIR"), ("Training electra", "--out DIR")],
)
def test_a_full_disk_is_told_and_the_same_command_goes_on(settings, tmp_path, full_disk, beginning, way_out):
    with pytest.raises(ProbeError) as refusal, full_disk() as fill:
        pretrain(settings, tmp_path / "out", cache=tmp_path / "cache", progress=Beginning(beginning, fill))
    assert way_out in str(refusal.value) and "(File too large)" in str(refusal.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and tmp_path / "out" in path.parents]
    pretrain(settings, tmp_path / "out", cache=tmp_path / "cache")
    pretrain(settings, tmp_path / "whole", cache=tmp_path / "cache")  # a tokenizer trained anew may differ
    for name in ("model.safetensors", "training.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_a_cache_of_another_version_is_not_trusted(settings, tmp_path, monkeypatch):
    stages = []

    class Told(Beginning):
        @contextmanager
        def stage(self, description, total=None):
            stages.append(description)
            yield self

    version = importlib.metadata.Distribution.version.fget
    for number in ("0.0.1", "0.0.2", "0.0.2"):
        monkeypatch.setattr(
            importlib.metadata.Distribution,
            "version",
            property(lambda one, number=number: number if one.metadata["Name"] == "topic-probe" else version(one)),
        )
        pretrain(settings, tmp_path / f"out{len(stages)}", cache=tmp_path / "cache", progress=Told("", None))
    assert sum(stage.startswith("Training a tokenizer") for stage in stages) == 2
    assert sum(stage.startswith("Tokenizing") for stage in stages) == 2


def test_two_trainings_in_one_folder_at_once_are_one_and_a_refusal(settings, tmp_path):
    refusals = []

    def second():
        with pytest.raises(ProbeError) as refusal:
            pretrain(replace(settings, seed=1), tmp_path)
        refusals.append(str(refusal.value))

    pretrain(settings, tmp_path, progress=Beginning("Training electra", second))
    assert len(refusals) == 1 and "Another run is at work in the folder" in refusals[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_loads_whole_without_a_warning(trained, family, recwarn, caplog):
    logging.getLogger("transformers").addHandler(caplog.handler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, info = AutoModel.from_pretrained(trained(family), output_loading_info=True)
        tokenizer = AutoTokenizer.from_pretrained(trained(family))
    logging.getLogger("transformers").removeHandler(caplog.handler)
    assert not any(info.values()) and not caplog.records
    assert type(model).__name__ == CLASSES[family]
    # Half precision is for the disk alone.
    assert model.dtype == torch.float32 and AutoConfig.from_pretrained(trained(family)).dtype == torch.float32
    assert tokenizer.is_fast and len(tokenizer) == model.config.vocab_size
    assert tokenizer.model_max_length == 128
    with torch.inference_mode():
        output = model(**tokenizer("a text " * 200, truncation=True, return_tensors="pt"))
    assert output.last_hidden_state.shape[1] == 128 and torch.isfinite(output.last_hidden_state).all()


def test_a_finished_training_is_found_and_another_one_refused(settings, tmp_path):
    info = pretrain(settings, tmp_path)
    before = (tmp_path / "model.safetensors").stat().st_mtime_ns
    assert pretrain(settings, tmp_path) == info
    assert (tmp_path / "model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(ProbeError, match="--steps 5, not 6"):
        pretrain(replace(settings, steps=6), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"family": "gpt"}, "--family gpt: use one of bert"),
        ({"size": "huge"}, "--size huge: use one of tiny"),
        ({"steps": 0}, "--steps 0 is too small"),
        ({"batch_tokens": 64}, "--batch-tokens 64 is too small"),
        ({"learning_rate": 0.0}, "--learning-rate 0"),
        ({"dtype": "int8"}, "--dtype int8"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(settings, change, message):
    with pytest.raises(ProbeError, match=message):
        replace(settings, **change)


def test_a_loss_that_is_no_number_ends_the_training(settings, tmp_path, monkeypatch):
    from probe.pretraining.objectives import ReplacedTokenDetection

    losses = ReplacedTokenDetection.losses

    def overflow(self, ids, mask):
        return {name: value * float("nan") for name, value in losses(self, ids, mask).items()}

    monkeypatch.setattr(ReplacedTokenDetection, "losses", overflow)
    with pytest.raises(ProbeError, match=r"not a number after step 0.*--learning-rate"):
        pretrain(settings, tmp_path)


def test_an_epoch_reads_every_passage_once_and_none_that_is_held_out():
    tokens = Tokens(
        ids=np.arange(10, 1010, dtype=np.int32),
        is_word=np.ones(1000, dtype=bool),
        offsets=np.arange(0, 1001, 10),
        whole=np.arange(100),
    )
    train, held_out = split_passages(tokens, SpecialTokens((1,), (2,), 0), 7, seed=0)
    assert len(held_out.passages) == 4 and len(train.passages) == 196
    read = [tuple(row[row > 2].tolist()) for step in range(28) for row in train.batch(step, 7)[0]]
    assert len(set(read)) == 196
    assert not {token for row in read for token in row} & set(held_out.read(np.arange(4))[0].flatten().tolist())
    again = [tuple(row[row > 2].tolist()) for row in train.batch(28, 7)[0]]
    assert set(again) <= set(read) and again != read[:7]
    ids, mask = train.batch(3, 7)
    assert ids.shape == mask.shape and ((ids == 0) == (mask == 0)).all()
