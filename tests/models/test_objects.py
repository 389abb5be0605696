"""Models given as objects: the same bytes as by their folder, and the object comes back as it was."""

import copy
import re
from pathlib import Path

import peft
import pytest
import torch
import transformers

import probe
from probe.errors import ProbeError
from probe.models.borrowing import borrowed
from probe.models.loading import load_config, load_model
from probe.models.objects import take_models
from probe.models.sources import find_model
from tests.experiment.small import SMALL, lda

BODIES = {
    "bert": transformers.BertForMaskedLM,
    "t5": transformers.T5ForConditionalGeneration,
    "deberta": transformers.DebertaForMaskedLM,
}
IDS = torch.arange(10, 30)[None]


def _refusal(call, *arguments, **options) -> str:
    with pytest.raises(ProbeError) as refusal:
        call(*arguments, **options)
    message = str(refusal.value)
    assert "\n" not in message and message.endswith((".", "?"))
    return message


def _pair(folder, kind=transformers.AutoModel):
    return kind.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)


def _output(model):
    more = {"decoder_input_ids": IDS} if model.config.is_encoder_decoder else {}
    training = model.training
    with torch.no_grad():
        found = model.eval()(input_ids=IDS, **more)[0].clone()
    model.train(training)
    return found


def _state(model):
    """Everything about every module but its tensors: mode, hooks, attributes, which buffers; and the config."""
    modules = [
        {name: dict(value) if isinstance(value, dict) else value for name, value in vars(module).items()}
        for module in model.modules()
    ]
    return [{name: str(value) for name, value in one.items()} for one in modules], dict(vars(model.config))


@pytest.fixture(scope="module")
def arguments(small_corpus):
    return {"corpus": str(small_corpus), "lda": lda(), "figures": False, **SMALL}


@pytest.mark.parametrize("family", BODIES)
def test_an_object_gives_the_bytes_of_its_folder_and_comes_back_as_it_was(family, tiny_models, arguments, tmp_path):
    folder = tiny_models(family)
    model, tokenizer = _pair(folder, BODIES[family])
    model.train()
    model.base_model.register_forward_hook(_nothing)
    next(model.parameters()).requires_grad_(False)
    gradients = [torch.ones_like(one) for one in model.parameters()]
    for one, gradient in zip(model.parameters(), gradients, strict=True):
        one.grad = gradient if one.requires_grad else None
    settings = repr(tokenizer), tokenizer.backend_tokenizer.to_str()
    before, state = _output(model), _state(model)
    probe.run({str(folder): (model, tokenizer)}, **arguments, out=tmp_path / "object", cache=tmp_path / "one")
    assert torch.equal(_output(model), before)
    assert _state(model) == state
    assert all(
        one.grad is gradient for one, gradient in zip(model.parameters(), gradients, strict=True) if one.requires_grad
    )
    assert (repr(tokenizer), tokenizer.backend_tokenizer.to_str()) == settings
    probe.run(folder, **arguments, out=tmp_path / "folder", cache=tmp_path / "two")
    for path in (tmp_path / "folder").glob("*.csv"):
        assert path.read_bytes() == (tmp_path / "object" / path.name).read_bytes(), path.name


def _nothing(module, inputs, output):
    """A hook of the user's own that changes nothing."""


def test_a_model_of_another_dtype_is_measured_on_a_copy(tiny_models, arguments, tmp_path):
    model, tokenizer = _pair(tiny_models("llama"))
    half = copy.deepcopy(model).to(torch.bfloat16)
    weights = [one.clone() for one in half.parameters()]
    _, sources = take_models({"half": (half, tokenizer)})
    with borrowed(sources["half"]):
        loaded = load_model(sources["half"], dtype="float32")
        assert {one.dtype for one in loaded.module.parameters()} == {torch.float32}
    assert {one.dtype for one in half.parameters()} == {torch.bfloat16}
    assert all(torch.equal(one, old) for one, old in zip(half.parameters(), weights, strict=True))
    with borrowed(sources["half"]):
        assert load_model(sources["half"], dtype="bfloat16").module is half


def test_what_a_model_is_wrapped_in_is_taken_off(tiny_models):
    model, tokenizer = _pair(tiny_models("bert"))
    _, expected = take_models({"x": (model, tokenizer)})
    for wrapped in (torch.compile(model), torch.nn.DataParallel(model), torch.compile(torch.nn.DataParallel(model))):
        _, sources = take_models({"x": (wrapped, tokenizer)})
        assert sources["x"].given.model is model
        assert sources["x"].fingerprint == expected["x"].fingerprint


def test_a_model_compiled_in_place_is_listened_to_and_stays_compiled(tiny_models):
    model, tokenizer = _pair(tiny_models("bert"))
    model.compile()
    compiled = model._compiled_call_impl
    _, sources = take_models({"x": (model, tokenizer)})
    with borrowed(sources["x"]):
        assert load_model(sources["x"]).layers == 3
    assert compiled is not None and model._compiled_call_impl is compiled


def test_what_a_config_asks_a_model_to_return_is_put_back(tiny_models):
    model, tokenizer = _pair(tiny_models("bert"))
    model.config.return_dict, model.config.output_hidden_states = False, True
    _, sources = take_models({"x": (model, tokenizer)})
    with borrowed(sources["x"]):
        assert load_model(sources["x"]).layers == 3
    assert (model.config.return_dict, model.config.output_hidden_states) == (False, True)


def _adapted(folder, **settings):
    torch.manual_seed(0)
    config = peft.LoraConfig(init_lora_weights=False, **settings)
    return peft.get_peft_model(transformers.AutoModel.from_pretrained(folder), config)


def test_a_peft_model_is_measured_with_its_adapter(tiny_models):
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_models("bert"))
    adapted = _adapted(tiny_models("bert"), target_modules=["query", "value"])
    _, sources = take_models({"x": (adapted, tokenizer)})
    merged = copy.deepcopy(adapted).merge_and_unload()
    _, expected = take_models({"x": (merged, tokenizer)})
    one, two = _attention(sources["x"]), _attention(expected["x"])
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)
    assert not torch.allclose(one, _attention(find_model(str(tiny_models("bert")))), atol=1e-3)


def test_an_adapter_that_is_switched_off_is_another_model(tiny_models):
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_models("bert"))
    adapted = _adapted(tiny_models("bert"), target_modules=["query"])
    _, on = take_models({"x": (adapted, tokenizer)})
    with adapted.disable_adapter():
        _, off = take_models({"x": (adapted, tokenizer)})
    assert on["x"].fingerprint != off["x"].fingerprint


def _attention(source):
    with borrowed(source):
        model = load_model(source)
        heard = []
        places = torch.arange(IDS.shape[1])[None]
        model.listen(IDS, torch.ones_like(IDS), lambda _, call: heard.append(call.between(slice(None), places, places)))
    return torch.stack(heard)


def test_peft_models_that_the_weights_alone_do_not_make_are_refused(tiny_models):
    folder = tiny_models("bert")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    prompts = peft.PromptTuningConfig(task_type="FEATURE_EXTRACTION", num_virtual_tokens=3)
    prompted = peft.get_peft_model(transformers.AutoModel.from_pretrained(folder), prompts)
    assert "give its base model" in _refusal(take_models, prompted, tokenizer)
    embedded = _adapted(folder, target_modules=["word_embeddings"])
    assert "merge_and_unload" in _refusal(take_models, embedded, tokenizer)


def test_hooks_that_change_the_model_are_part_of_it_and_their_sums_are_not_used_again(tiny_models, arguments, tmp_path):
    model, tokenizer = _pair(tiny_models("bert"))
    plain = probe.run(model, tokenizer=tokenizer, **arguments, cache=tmp_path, baseline=False)
    query = model.encoder.layer[0].attention.self.query
    for factor in (0.0, 3.0):
        hook = query.register_forward_hook(lambda module, inputs, output, factor=factor: output * factor)
        hooked = probe.run(model, tokenizer=tokenizer, **arguments, cache=tmp_path, baseline=False)
        hook.remove()
        first = hooked.tables["layers"]["layer"] == 0
        assert not hooked.tables["layers"][first].equals(plain.tables["layers"][first])
        if not factor:  # queries of zeros attend to all keys alike
            assert hooked.tables["layers"][first]["ratio"].dropna().between(0.9, 1.1).all()
    again = probe.run(model, tokenizer=tokenizer, **arguments, cache=tmp_path, baseline=False)
    assert again.tables["layers"].equals(plain.tables["layers"])


def test_a_fingerprint_is_of_the_weights(tiny_models):
    model, tokenizer = _pair(tiny_models("bert"))

    def fingerprint():
        return take_models({"x": (model, tokenizer)})[1]["x"].fingerprint

    first = fingerprint()
    assert fingerprint() == first
    with torch.no_grad():
        model.encoder.layer[2].output.dense.bias[5] += 1e-7
    assert fingerprint() != first


def test_run_json_names_class_and_fingerprint_and_repeating_from_it_asks_for_the_object(
    tiny_models, arguments, tmp_path
):
    model, tokenizer = _pair(tiny_models("bert"))
    info = probe.run([{"mine": (model, tokenizer)}], **arguments, cache=tmp_path, baseline=False).info
    (named,) = info["arguments"]["model"]
    assert re.fullmatch(r"object:BertModel:[0-9a-f]{32}", named)
    assert info["models"][0]["name"] == "mine" and info["models"][0]["object"] == "BertModel"
    assert "give it again" in _refusal(probe.run, named)


def test_models_may_be_mixed_and_are_called_by_class_and_weights_unless_named(tiny_models):
    bert, albert = _pair(tiny_models("bert")), _pair(tiny_models("albert"))
    names, sources = take_models([bert[0], "minilm", Path("some/folder"), {"mine": albert}, albert], bert[1])
    assert names == (
        f"BertModel-{sources[names[0]].fingerprint[:8]}", "minilm", "./some/folder", "mine", names[4]
    )  # fmt: skip
    assert re.fullmatch("AlbertModel-[0-9a-f]{8}", names[4])
    assert load_config(sources["mine"]).to_dict() == albert[0].config.to_dict()


class _TensorFlowModel:
    __module__ = "tensorflow.python.keras"


def test_objects_that_are_no_model_are_refused(tiny_models):
    model, tokenizer = _pair(tiny_models("bert"))
    assert "tensorflow._TensorFlowModel, no PyTorch model" in _refusal(take_models, _TensorFlowModel(), tokenizer)
    assert "no PyTorch model of transformers" in _refusal(take_models, torch.nn.Linear(2, 2), tokenizer)
    assert "without its tokenizer" in _refusal(take_models, model)
    assert "no tokenizer" in _refusal(take_models, model, "bert")
    assert "wrap it" in _refusal(take_models, model, tokenizer.backend_tokenizer)
    assert "leave it out" in _refusal(take_models, "minilm", tokenizer)
    assert "means something else" in _refusal(take_models, {"paper": (model, tokenizer)})
    assert "cannot be called" in _refusal(take_models, {3: (model, tokenizer)})
    assert "at least one --model" in _refusal(probe.run, [])
    assert "given twice" in _refusal(probe.run, [model, model], tokenizer=tokenizer)


def test_a_slow_tokenizer_is_refused(tiny_models, tmp_path):
    (tmp_path / "vocab.json").write_text('{"<unk>": 0, "a": 1}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    slow = transformers.CTRLTokenizer(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert "slow tokenizer (CTRLTokenizer)" in _refusal(take_models, _pair(tiny_models("bert"))[0], slow)


def test_weights_that_are_not_in_memory_or_no_numbers_are_refused(tiny_models):
    model, tokenizer = _pair(tiny_models("bert"))
    with torch.no_grad():
        model.encoder.layer[1].output.dense.bias[0] = torch.nan
    _, sources = take_models({"x": (model, tokenizer)})
    with borrowed(sources["x"]):
        assert "NaN or infinite" in _refusal(load_model, sources["x"])
    model.encoder.to("meta")
    assert "not in memory" in _refusal(take_models, model, tokenizer)


class _Own(transformers.BertPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.embeddings = torch.nn.Embedding(config.vocab_size, config.hidden_size)

    def get_input_embeddings(self):
        return self.embeddings

    def forward(self, input_ids, **more):
        return self.embeddings(input_ids)


def test_a_class_of_ones_own_that_is_no_bert_is_refused_in_a_sentence(tiny_models):
    model, tokenizer = _pair(tiny_models("bert"))
    _, sources = take_models({"x": (_Own(model.config), tokenizer)})
    with borrowed(sources["x"]):
        assert "x is no BERT model as transformers has them" in _refusal(load_model, sources["x"])
