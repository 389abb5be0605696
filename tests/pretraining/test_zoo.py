import logging

import pytest
from safetensors import safe_open
from transformers import AutoModel, AutoTokenizer

from probe.zoo import ZOO, zoo_folder

LARGEST = 4_000_000


@pytest.mark.parametrize("name", ZOO)
def test_a_model_of_the_zoo_is_small_and_loads_without_a_warning(name, caplog):
    folder = zoo_folder(name)
    assert (folder / "model.safetensors").stat().st_size <= LARGEST
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    model, info = AutoModel.from_pretrained(folder, output_loading_info=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    logger.removeHandler(caplog.handler)
    assert not any(info.values()) and not caplog.records
    assert model.config.model_type == name and len(tokenizer) == model.config.vocab_size
    assert 1e6 <= sum(parameter.numel() for parameter in model.parameters()) <= 2.1e6


@pytest.mark.parametrize("name", ZOO)
def test_a_model_of_the_zoo_has_a_card_and_no_path_of_its_maker(name):
    card = (zoo_folder(name) / "README.md").read_text()
    for word in ("CC BY-SA 3.0", "probe pretrain --family " + name, "held-out loss", "not a substitute"):
        assert word in card
    for path in zoo_folder(name).glob("*.json"):
        assert "/tmp" not in path.read_text() and "/work" not in path.read_text()
    with safe_open(zoo_folder(name) / "model.safetensors", "pt") as weights:
        assert weights.metadata() == {"format": "pt"}
