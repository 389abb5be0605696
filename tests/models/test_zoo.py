"""The five models that come with the package."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from probe.models.loading import load_model, load_tokenizer
from probe.models.sources import ZOO_MODELS, expand_models, find_model, group_models, known_models

_WEIGHTS_BYTES = 4_000_000
_ZOO_BYTES = 30_000_000


def test_zoo_means_five_models_one_a_family():
    five = expand_models(["zoo"])
    assert five == ["zoo/bert", "zoo/albert", "zoo/bart", "zoo/electra", "zoo/roberta"]
    assert group_models(five) == ["zoo"]
    assert {"zoo"} <= set(dict(known_models()))


@pytest.mark.parametrize("name", ZOO_MODELS)
def test_a_model_of_the_zoo_loads_is_small_and_has_learned(name):
    source = find_model(name)
    loaded = load_model(source)
    assert loaded.layers == 3
    assert len(load_tokenizer(source)) == 8192
    folder = Path(source.location)
    losses = pd.read_csv(folder / "held_out.csv")["loss"]
    assert losses.iloc[-1] < losses.iloc[0]
    settings = json.loads((folder / "pretrain.json").read_text(encoding="utf-8"))
    assert settings["arguments"]["corpus"] == "enwiki-8k.jsonl.xz"


def test_loading_the_zoo_through_transformers_prints_no_warning():
    code = (
        "import sys; from transformers import AutoModel, AutoTokenizer\n"
        "for folder in sys.argv[1:]: AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)"
    )
    folders = [find_model(name).location for name in ZOO_MODELS]
    # HF's bars say that weights are loaded; what is left of stderr would be a warning.
    finished = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code, *folders],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"},
    )
    lines = [line for line in finished.stderr.replace("\r", "\n").splitlines() if line.strip()]
    assert [line for line in lines if "Loading weights" not in line] == []


def test_the_zoo_is_small_enough_for_a_wheel():
    files = [path for name in ZOO_MODELS for path in Path(find_model(name).location).iterdir()]
    assert sum(path.stat().st_size for path in files) < _ZOO_BYTES
    assert all(path.stat().st_size < _WEIGHTS_BYTES for path in files if path.suffix == ".safetensors")
