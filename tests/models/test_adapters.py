"""Adapters of peft are merged into the base model that they name."""

import json
import shutil

import peft
import pytest
import torch
import transformers

import probe
from probe.models.loading import load_config, load_model, load_tokenizer
from probe.models.sources import find_model
from tests.models.helpers import IDS, heard, load, refusal
from tests.models.test_faults import RUN

_ATTENTION = ["query", "value"]


def _adapt(base, folder, kind=transformers.AutoModel, config=None):
    """Save an adapter that changes much; return the model that it belongs to."""
    torch.manual_seed(4)
    config = config or peft.LoraConfig(r=4, target_modules=_ATTENTION, init_lora_weights=False)
    model = peft.get_peft_model(kind.from_pretrained(base), config).eval()
    model.save_pretrained(folder)
    return model


def _maps(model) -> torch.Tensor:
    """The attention that a peft model reports itself."""
    model.base_model.model.set_attn_implementation("eager")
    with torch.inference_mode():
        return torch.stack(model(input_ids=IDS, output_attentions=True).attentions)


@pytest.mark.parametrize(
    ("family", "kind", "targets"),
    [
        ("bert", transformers.AutoModel, _ATTENTION),
        ("bert", transformers.AutoModelForMaskedLM, [*_ATTENTION, "dense", "decoder"]),
        ("bert", transformers.AutoModelForSequenceClassification, r"bert\.encoder\..*\.(query|key)"),
        ("llama", transformers.AutoModelForCausalLM, ["q_proj", "k_proj", "lm_head"]),
        ("gpt2", transformers.AutoModelForCausalLM, ["c_attn"]),
    ],
    ids=["no head", "masked words", "classes", "llama", "gpt2"],
)
def test_an_adapter_alone_is_the_base_model_with_its_weights_merged(tiny_models, tmp_path, family, kind, targets):
    base = tiny_models(family)
    more = {"task_type": "SEQ_CLS"} if kind is transformers.AutoModelForSequenceClassification else {}
    config = peft.LoraConfig(r=4, target_modules=targets, init_lora_weights=False, **more)
    expected = _maps(_adapt(base, tmp_path, kind, config))
    model = load(tmp_path)
    torch.testing.assert_close(heard(model), expected, atol=1e-5, rtol=0)
    assert not torch.allclose(heard(model), heard(load(base)), atol=1e-2)
    assert not [name for name, _ in model.module.named_parameters() if "lora" in name]
    assert model.oddities == ()


def test_other_kinds_of_adapters_are_merged_too(tiny_models, tmp_path):
    config = peft.IA3Config(target_modules=["key", "value"], feedforward_modules=[], init_ia3_weights=False)
    expected = _maps(_adapt(tiny_models("bert"), tmp_path, config=config))
    torch.testing.assert_close(heard(load(tmp_path)), expected, atol=2e-6, rtol=0)


def test_matrices_of_the_base_model_that_are_saved_with_an_adapter_take_their_place(tiny_models, tmp_path):
    adapted = _adapt(
        tiny_models("gpt2"), tmp_path, transformers.AutoModelForCausalLM, peft.LoraConfig(task_type="CAUSAL_LM")
    )
    adapted.get_input_embeddings().weight.data.mul_(-1.5)
    adapted.save_pretrained(tmp_path, save_embedding_layers=True)
    torch.testing.assert_close(heard(load(tmp_path)), _maps(adapted), atol=1e-5, rtol=0)


def test_a_run_of_an_adapter_says_what_it_is_of(tiny_models, small_corpus, tmp_path):
    base, folder = tiny_models("bert"), tmp_path / "adapter"
    _adapt(base, folder)
    result = probe.run(str(folder), str(small_corpus), **RUN, cache=tmp_path / "cache", dtype="float32")
    model, random = result.info["models"]
    assert model["adapter_of"] == {"name": str(base), "revision": None}
    alone = probe.run(str(base), str(small_corpus), **RUN, cache=tmp_path / "cache")
    assert alone.info["models"][0]["tokenizer"] == model["tokenizer"]
    assert alone.info["models"][0]["fingerprint"] != model["fingerprint"]
    # The baseline is the architecture with random weights, which no adapter changes.
    ratios = [one.tables["measures"].query("weights == 'random'")["ratio"].to_numpy() for one in (result, alone)]
    assert random["weights"] == "random" and ratios[0] == pytest.approx(ratios[1], nan_ok=True)
    # Another base under the same name is another model.
    torch.manual_seed(8)
    copied = shutil.copytree(base, tmp_path / "base")
    transformers.AutoModel.from_config(load_config(find_model(str(base)))).save_pretrained(copied)
    settings = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(settings | {"base_model_name_or_path": str(copied)}))
    assert find_model(str(folder)).fingerprint != model["fingerprint"]


def test_an_adapter_with_a_tokenizer_of_its_own_is_read_with_it(tiny_models, tmp_path):
    _adapt(tiny_models("bert"), tmp_path)
    load_tokenizer(find_model(str(tiny_models("bert"))))
    assert load_tokenizer(find_model(str(tmp_path))).name_or_path == str(tiny_models("bert"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_models("bert") / name, tmp_path)
    assert load_tokenizer(find_model(str(tmp_path))).name_or_path == str(tmp_path)


def test_without_peft_the_base_model_and_the_extra_are_named(tiny_models, tmp_path, monkeypatch):
    _adapt(tiny_models("bert"), tmp_path)
    monkeypatch.setattr("probe.models.adapters.find_spec", lambda name: None)
    message = refusal(find_model, str(tmp_path))
    assert f"adapter of the base model {tiny_models('bert')}" in message
    assert "pip install 'topic-probe[peft]'" in message


def _rewrite(folder, **fields):
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_adapters_that_cannot_be_merged_are_refused(tiny_models, tmp_path):
    bert, folder = tiny_models("bert"), tmp_path / "adapter"
    _adapt(bert, folder)
    _rewrite(folder, base_model_name_or_path="./nowhere")
    message = refusal(find_model, str(folder))
    assert "base model of the adapter" in message and "no model folder ./nowhere" in message
    _rewrite(folder, base_model_name_or_path=None)
    assert "does not say which base model" in refusal(find_model, str(folder))
    _rewrite(folder, base_model_name_or_path=str(folder))
    assert "is an adapter, too" in refusal(find_model, str(folder))
    _rewrite(folder, base_model_name_or_path=str(tiny_models("electra")), target_modules=["query", "key"])
    assert "does not fit its base model" in refusal(load, folder)
    _rewrite(folder, base_model_name_or_path=str(tiny_models("llama")))
    assert "cannot be merged" in refusal(load, folder)
    _rewrite(folder, base_model_name_or_path=str(bert), target_modules=_ATTENTION, peft_type="NONE SUCH")
    assert "cannot be merged" in refusal(load, folder)
    _rewrite(folder, peft_type="LORA")
    (folder / "adapter_model.safetensors").write_bytes(b"cut")
    assert "cannot be merged" in refusal(load, folder)
    (folder / "adapter_config.json").write_text("{")
    assert "cannot be read" in refusal(find_model, str(folder))


def test_prompts_that_change_no_weights_are_refused(tiny_models, tmp_path):
    config = peft.PromptTuningConfig(task_type="FEATURE_EXTRACTION", num_virtual_tokens=3)
    _adapt(tiny_models("bert"), tmp_path, config=config)
    assert "PROMPT_TUNING, which changes no weights" in refusal(load, tmp_path)


def test_a_folder_of_a_whole_model_and_an_adapter_is_refused(tiny_models, tmp_path):
    folder = shutil.copytree(tiny_models("bert"), tmp_path / "both")
    _adapt(tiny_models("bert"), folder)
    assert "a whole model and an adapter" in refusal(find_model, str(folder))


def test_an_adapter_in_the_cache_of_the_hub_needs_no_hub(tiny_models, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    snapshot = tmp_path / "hub" / "models--some--adapter" / "snapshots" / ("0" * 40)
    expected = _maps(_adapt(tiny_models("bert"), snapshot))
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0" * 40)
    source = find_model("some/adapter")
    assert (source.name, source.revision) == ("some/adapter", "0" * 40)
    torch.testing.assert_close(heard(load_model(source)), expected, atol=2e-6, rtol=0)
    (snapshot / "adapter_model.safetensors").unlink()
    assert "not whole in its cache" in refusal(find_model, "some/adapter")
