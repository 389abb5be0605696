"""Weights that a copy which broke off leaves behind are noticed, and sound ones are not suspected."""

import json
import struct

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from probe.models.loading import load_model
from probe.models.sources import ZOO_MODELS, find_model
from tests.models.helpers import load
from tests.tiny import FAMILIES


def _spoil(folder, change) -> tuple[str, ...]:
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, {"format": "pt"})
    return load(folder).oddities


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_as_it_was_made_is_not_suspected(tiny_models, family):
    assert load(tiny_models(family)).oddities == ()


@pytest.mark.parametrize("name", ["minilm", *ZOO_MODELS])
def test_the_trained_models_that_come_along_are_not_suspected(name):
    assert load_model(find_model(name)).oddities == ()


def test_weights_whose_second_half_is_zero_bytes(bert):
    path = bert / "model.safetensors"
    whole = path.read_bytes()
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    half = start + (len(whole) - start) // 2
    path.write_bytes(whole[:half] + bytes(len(whole) - half))
    zeros, norms = load(bert).oddities
    # The last matrix before the middle ends in zeros, and those after it hold nothing else.
    assert zeros == "rows of zeros at the end of embeddings.word_embeddings.weight and 19 more"
    assert norms == "zeros in the norm encoder.layer.0.attention.output.LayerNorm and 5 more"


def test_a_matrix_of_which_the_end_is_zero(bert):
    name = "embeddings.word_embeddings.weight"

    def padded(weights):  # as vocabularies are, to a multiple of 64
        weights[name][-60:] = 0

    assert _spoil(bert, padded) == ()

    def cut(weights):
        weights[name][700:] = 0

    assert _spoil(bert, cut) == (f"rows of zeros at the end of {name}",)


def test_a_norm_of_zeros_is_dead_and_one_that_adds_its_weight_to_1_is_not(bert, tiny_models):
    def zero(weights):
        weights["encoder.layer.0.output.LayerNorm.weight"][:] = 0

    assert _spoil(bert, zero) == ("zeros in the norm encoder.layer.0.output.LayerNorm",)
    gemma = load(tiny_models("gemma2")).module
    assert not gemma.norm.weight.any()


def test_two_layers_that_are_equal(bert):
    def copied(weights):
        for name in list(weights):
            if name.startswith("encoder.layer.1."):
                weights[name.replace("layer.1.", "layer.2.")] = weights[name].clone()

    assert _spoil(bert, copied) == ("the same weights in layers encoder.layer.1 and encoder.layer.2",)
    (bert / "model.safetensors").unlink()
    shared = transformers.AlbertConfig(
        hidden_size=32, embedding_size=16, num_attention_heads=4, num_hidden_layers=4, intermediate_size=48,
        num_hidden_groups=2, vocab_size=99,
    )  # fmt: skip
    torch.manual_seed(1)
    transformers.AutoModel.from_config(shared).save_pretrained(bert)
    assert load(bert).oddities == ()


def test_layers_that_the_config_leaves_out(bert):
    config = json.loads((bert / "config.json").read_text())
    transformers.BertForMaskedLM.from_pretrained(bert).save_pretrained(bert)
    (bert / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 2}))
    assert load(bert).oddities == ("layers beyond the config's: encoder.layer.2",)


def test_token_types_that_no_text_uses_may_be_zero(bert):
    def zero(weights):
        weights["embeddings.token_type_embeddings.weight"][:] = 0

    assert _spoil(bert, zero) == ()
