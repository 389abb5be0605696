"""What may be wrong with the files of a model: each ends in one sentence, or in a number that is right."""

import json
import pickle
import shutil
import time
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import probe
from probe.models.loading import load_config, load_tokenizer
from probe.models.sources import find_model
from probe.topics.settings import LdaSettings
from tests.models.helpers import IDS, heard, load, refusal


def test_folders_that_are_no_model(tmp_path):
    assert "no config.json" in refusal(find_model, str(tmp_path))
    assert "no model folder" in refusal(find_model, "./nowhere")
    assert "no model folder" in refusal(find_model, "a name with spaces")


def test_a_file_of_the_model_that_has_vanished(bert):
    weights = bert / "model.safetensors"
    weights.unlink()
    weights.symlink_to("blobs/nowhere")  # as in the hub's cache
    message = refusal(find_model, str(bert))
    assert "cannot be read" in message and "No such file or directory" in message


def test_weights_that_are_missing(bert):
    (bert / "model.safetensors").unlink()
    assert "cannot be loaded" in refusal(load, bert)


def test_weights_that_are_cut_short(bert):
    weights = bert / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    assert "use an intact checkpoint" in refusal(load, bert)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers(bert, value):
    weights = load_file(bert / "model.safetensors")
    weights["encoder.layer.1.attention.self.query.weight"][3, 3] = value
    save_file(weights, bert / "model.safetensors", {"format": "pt"})
    assert "NaN or infinite" in refusal(load, bert)


def test_weights_that_do_not_fill_the_architecture(bert):
    weights = load_file(bert / "model.safetensors")
    del weights["encoder.layer.1.attention.self.query.weight"]
    save_file(weights, bert / "model.safetensors", {"format": "pt"})
    message = refusal(load, bert)
    assert "1 are missing" in message and "encoder.layer.1.attention.self.query.weight" in message


RUN = {"theta": [0.05], "lda": LdaSettings(topics=4), "max_length": 32, "passages": 30, "resamples": 20}


class _Attack:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_checkpoint_of_tensors_is_read_and_no_pickle_is_ever_run(bert, tmp_path):
    weights = load_file(bert / "model.safetensors")
    expected = load(bert).module.get_input_embeddings().weight
    (bert / "model.safetensors").unlink()
    torch.save(weights, bert / "pytorch_model.bin")
    assert torch.equal(load(bert).module.get_input_embeddings().weight, expected)
    touched = tmp_path / "touched"
    torch.save(weights | {"more": _Attack(touched)}, bert / "pytorch_model.bin")
    spoiled = [(bert / "pytorch_model.bin").read_bytes()]
    spoiled += [pickle.dumps(_Attack(touched), protocol) for protocol in range(6)]
    for content in spoiled:
        (bert / "pytorch_model.bin").write_bytes(content)
        message = refusal(load, bert)
        assert "hold code" in message and "not opened: use safetensors, or a .bin of a plain state dict" in message
        assert "weights_only" not in message and "torch.load" not in message
    assert not touched.exists()


@pytest.mark.parametrize("content", [b"<html>Not found</html>", b"version https://git-lfs.github.com", bytes(999), b""])
def test_a_file_that_holds_no_weights_is_not_said_to_hold_code(bert, content):
    (bert / "model.safetensors").unlink()
    (bert / "pytorch_model.bin").write_bytes(content)
    message = refusal(load, bert)
    assert "cannot be loaded" in message and "code" not in message and "weights_only" not in message


def test_code_that_comes_with_a_model_is_never_run(bert, tmp_path):
    touched = tmp_path / "touched"
    config = json.loads((bert / "config.json").read_text())
    config |= {"model_type": "homemade", "auto_map": {"AutoConfig": "homemade.Config", "AutoModel": "homemade.Model"}}
    (bert / "config.json").write_text(json.dumps(config))
    (bert / "homemade.py").write_text(f"open({str(touched)!r}, 'w')\n")
    start = time.monotonic()
    assert "cannot be read" in refusal(load_config, find_model(str(bert)))
    assert time.monotonic() - start < 5
    assert not touched.exists()


def test_a_slow_tokenizer(tmp_path):
    (tmp_path / "vocab.json").write_text(json.dumps({"<unk>": 0, "a": 1}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    transformers.CTRLTokenizer(tmp_path / "vocab.json", tmp_path / "merges.txt").save_pretrained(tmp_path)
    transformers.CTRLConfig().save_pretrained(tmp_path)
    assert "slow tokenizer" in refusal(load_tokenizer, find_model(str(tmp_path)))


def test_a_tokenizer_that_is_missing_or_broken(bert):
    (bert / "tokenizer.json").write_text("{")
    assert "tokenizer" in refusal(load_tokenizer, find_model(str(bert)))


def test_a_tokenizer_of_another_model(bert, small_corpus, tmp_path):
    config = transformers.AutoConfig.from_pretrained(bert)
    config.vocab_size = 500
    transformers.AutoModel.from_config(config).save_pretrained(bert)
    message = refusal(
        probe.run, str(bert), str(small_corpus), theta=[0.05], lda=LdaSettings(topics=4), cache=tmp_path, max_length=32
    )
    assert "does not fit its weights" in message


def _change(folder: Path, **fields) -> Path:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | fields))
    return folder


@pytest.mark.parametrize(
    "fields",
    [
        {"output_attentions": True, "_attn_implementation": "flash_attention_2"},
        {"output_attentions": True, "attn_implementation": "flash_attention_2"},
        {"output_attentions": True, "_attn_implementation": "sdpa", "output_hidden_states": True},
        {"_attn_implementation": "no such thing", "_experts_implementation": "neither"},
        {"return_dict": False, "use_cache": True, "torchscript": True},
        {"chunk_size_feed_forward": 3},
        {"eos_token_id": [2, 5, 7]},
    ],
    ids=lambda fields: next(reversed(fields)),
)
def test_how_attention_is_computed_and_what_is_returned_is_not_for_a_config_to_say(bert, fields):
    expected = heard(load(bert))
    assert torch.equal(heard(load(_change(bert, **fields))), expected)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"num_hidden_layers": 2.0}, "'num_hidden_layers' expected int, got float"),
        ({"hidden_dropout_prob": "0.1"}, "'hidden_dropout_prob' with value '0.1'"),
        ({"hidden_size": None}, "'hidden_size' expected int"),
        ({"dtype": "float99"}, "float99"),
        ({"model_type": ["bert"]}, "unhashable"),
        ({"model_type": "no-such-type"}, "no-such-type"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
        ({"hidden_size": 10**6}, "GB by its config"),
        ({"num_attention_heads": 5}, "not a multiple"),
        ({"hidden_act": "nope"}, "nope"),
        ({"layer_norm_eps": -1e9}, "is no number"),
    ],
    ids=lambda value: "".join(value) if isinstance(value, dict) else "",
)
def test_a_config_that_is_wrong_is_refused_and_the_field_is_named(bert, fields, named):
    assert named in refusal(load, _change(bert, **fields))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", b"[" * 100_000])
def test_a_config_that_is_no_object_is_refused(bert, content):
    (bert / "config.json").write_bytes(content)
    assert "config" in refusal(load, bert)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "t5"])
def test_a_folder_without_a_tokenizer_is_told_which_files_are_looked_for(tiny_models, tmp_path, family):
    for name in ("config.json", "model.safetensors"):
        shutil.copy(tiny_models(family) / name, tmp_path)
    message = refusal(load_tokenizer, find_model(str(tmp_path)))
    assert "has no tokenizer" in message and "tokenizer.json, vocab.txt, vocab.json" in message


def test_a_tokenizer_that_gives_up_leaves_one_sentence(bert, capfd):
    tokenizer = json.loads((bert / "tokenizer.json").read_text())
    tokenizer["post_processor"]["special_tokens"] = {}
    (bert / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert "cannot be loaded" in refusal(load_tokenizer, find_model(str(bert)))
    assert capfd.readouterr().err == ""


def test_a_tokenizer_may_leave_ids_out(bert, small_corpus, tmp_path):
    tokenizer = json.loads((bert / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    # What was the last token has an id far beyond the number of tokens.
    last = max(vocabulary, key=vocabulary.get)
    vocabulary[last] = 2000
    (bert / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = transformers.AutoConfig.from_pretrained(bert)
    config.vocab_size = 2001
    transformers.AutoModel.from_config(config).save_pretrained(bert)
    options = {**RUN, "cache": tmp_path}
    assert probe.run(str(bert), str(small_corpus), **options).tables["measures"]["ratio"].notna().any()
    vocabulary[last] = 2**31
    (bert / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert "id 2147483648" in refusal(probe.run, str(bert), str(small_corpus), **options)


@pytest.mark.parametrize("name", ["a..b", "-x", "x/-y", "a.git", "a" * 120, "~nobody/x", "b" * 300, "a\0b"])
def test_a_name_that_no_model_can_have(name):
    assert name in refusal(find_model, name)


def test_shards_whose_index_is_broken_are_not_whole(bert, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    snapshot = tmp_path / "hub" / "models--some--bert" / "snapshots" / ("0" * 40)
    shutil.copytree(bert, snapshot)
    (snapshot / "model.safetensors").unlink()
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    for index in ("{", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": 3}}'):
        (snapshot / "model.safetensors.index.json").write_text(index)
        assert "not whole in its cache" in refusal(find_model, "some/bert")


def test_pruned_heads_are_refused_where_the_matrices_are_narrower_and_read_where_they_are_not(bert):
    expected = heard(load(bert))
    _change(bert, pruned_heads={"1": [0, 2]})
    assert torch.equal(heard(load(bert)), expected)
    weights = load_file(bert / "model.safetensors")
    layer = "encoder.layer.1.attention"
    for part in ("query", "key", "value"):
        for kind in ("weight", "bias"):
            weights[f"{layer}.self.{part}.{kind}"] = weights[f"{layer}.self.{part}.{kind}"][16:].clone()
    weights[f"{layer}.output.dense.weight"] = weights[f"{layer}.output.dense.weight"][:, 16:].clone()
    save_file(weights, bert / "model.safetensors", {"format": "pt"})
    message = refusal(load, bert)
    assert "7 differ in shape" in message and "heads were pruned from it" in message
    _change(bert, pruned_heads={})
    assert "they are of another model" in refusal(load, bert)


_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 48, "vocab_size": 99}
_SMALL_T5 = {"d_model": 32, "num_layers": 2, "d_ff": 48, "vocab_size": 99, "decoder_start_token_id": 0}


@pytest.mark.parametrize(
    ("make", "heads", "sizes"),
    [
        (transformers.LlamaConfig, 4, {**_SMALL, "num_key_value_heads": 2, "head_dim": 4}),
        (transformers.LlamaConfig, 4, {**_SMALL, "num_key_value_heads": 1, "head_dim": 32}),
        (transformers.Qwen3Config, 6, {**_SMALL, "num_key_value_heads": 3, "head_dim": 4}),
        (transformers.T5Config, 3, {**_SMALL_T5, "d_kv": 4}),
        (transformers.T5Config, 6, {**_SMALL_T5, "d_kv": 16}),
    ],
    ids=["narrower", "wider, one key head", "no divisor of the width", "narrower T5", "wider T5"],
)
def test_heads_narrower_or_more_than_the_width_equal_eager_maps(tmp_path, make, heads, sizes):
    config = make(num_attention_heads=heads, **sizes)
    torch.manual_seed(3)
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    model = load(tmp_path)
    eager = transformers.AutoModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    stack = eager.get_encoder() if config.is_encoder_decoder else eager
    with torch.inference_mode():
        maps = torch.stack(stack(IDS, output_attentions=True).attentions)
    assert maps.shape[2] == model.heads == heads
    torch.testing.assert_close(heard(model), maps, atol=1e-6, rtol=0)


def test_heads_and_matrices_that_a_model_has_besides_are_left_out(bert):
    """A head for masked words with weights of its own (untied), and one for classes."""
    expected = heard(load(bert))
    config = transformers.AutoConfig.from_pretrained(bert)
    body = load(bert).module
    untied = (transformers.BertForMaskedLM, {"tie_word_embeddings": False})
    for kind, more in (untied, (transformers.BertForSequenceClassification, {"num_labels": 3})):
        for field, value in more.items():
            setattr(config, field, value)
        whole = kind(config)
        whole.bert.load_state_dict(body.state_dict(), strict=False)
        whole.save_pretrained(bert)
        model = load(bert)
        assert torch.equal(heard(model), expected) and model.oddities == ()
