import pytest
import torch
import transformers
from transformers import AutoModel

from probe.errors import ProbeError
from probe.pretraining.architectures import Size, encoder_config
from probe.pretraining.norms import attention_norms

PLACES = {
    "bert": ("encoder.layer.{}.attention.self", "key query value"),
    "electra": ("encoder.layer.{}.attention.self", "key query value"),
    "roberta": ("encoder.layer.{}.attention.self", "key query value"),
    "bart": ("encoder.layers.{}.self_attn", "k_proj q_proj v_proj"),
}
SIZE = Size(width=32, embedding=16, layers=3, heads=2, vocabulary=600)


@pytest.mark.parametrize("family", PLACES)
def test_norms_are_those_of_each_encoder_layer(family, tokenizers):
    model = AutoModel.from_config(encoder_config(family, SIZE, tokenizers[family], 64))
    place, names = PLACES[family]
    expected = [
        (layer, matrix, model.get_submodule(f"{place.format(layer)}.{name}").weight.norm().item())
        for layer in range(3)
        for matrix, name in zip(("key", "query", "value"), names.split(), strict=True)
    ]
    assert [tuple(norm) for norm in attention_norms(model)] == expected


def test_the_shared_layer_of_albert_is_one_layer(tokenizers):
    norms = attention_norms(AutoModel.from_config(encoder_config("albert", SIZE, tokenizers["albert"], 64)))
    assert [(norm.layer, norm.matrix) for norm in norms] == [(0, "key"), (0, "query"), (0, "value")]


@pytest.mark.parametrize(
    ("config", "name", "axis"),
    [
        (transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=50), "h.1.attn.c_attn", "columns"),
        (
            transformers.GPTNeoXConfig(
                hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, vocab_size=50
            ),
            "layers.1.attention.query_key_value",
            "heads",
        ),
    ],
)
def test_fused_matrices_are_taken_apart(config, name, axis):
    model = AutoModel.from_config(config)
    weight = model.get_submodule(name).weight
    with torch.no_grad():  # queries 1, keys 2, values 3
        if axis == "columns":
            weight[:, :16], weight[:, 16:32], weight[:, 32:] = 1, 2, 3
        else:
            for head in range(2):
                for part in range(3):
                    weight[head * 24 + part * 8 : head * 24 + part * 8 + 8] = part + 1
    assert {norm.matrix: norm.norm for norm in attention_norms(model) if norm.layer == 1} == {
        "query": 16.0,
        "key": 32.0,
        "value": 48.0,
    }


def test_an_architecture_without_such_matrices_is_refused():
    config = transformers.FNetConfig(
        hidden_size=16, num_hidden_layers=1, intermediate_size=16, vocab_size=50, type_vocab_size=2
    )
    config.num_attention_heads = 2
    with pytest.raises(ProbeError, match="cannot be found"):
        attention_norms(AutoModel.from_config(config))
