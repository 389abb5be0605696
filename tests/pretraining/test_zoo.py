"""The zoo: its names, how a folder of it is made, and the models that are there."""

import json
import logging
import re
import subprocess
import sys
import warnings

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModel, AutoTokenizer

from probe.errors import ProbeError
from probe.experiment import default_folder
from probe.models.loading import expand_models, find_model, group_models, known_models, load_model, load_tokenizer
from probe.paper import printed_cooccurrence, printed_ratios
from probe.settings import RunSettings
from probe.zoo import ZOO, zoo_folder
from probe.zoo.card import LARGEST, make_zoo_folder

FILES = {"README.md", "config.json", "model.safetensors", "pretrain.json", "tokenizer.json", "tokenizer_config.json"}
NAMES = [f"zoo/{name}" for name in ZOO]


@pytest.fixture(scope="module")
def made(trained, tmp_path_factory):
    """A folder of a zoo by family, made when first asked for."""
    zoo = tmp_path_factory.mktemp("zoo")

    def get(family):
        if not (zoo / family).is_dir():
            make_zoo_folder(trained(family), zoo / family, "twelve articles", "CC BY-SA 3.0")
        return zoo / family

    return get


def _check_loading(folder, family):
    """The model loads whole, in float32, without a word from transformers."""
    heard = []
    handler = logging.Handler()
    handler.emit = heard.append
    logging.getLogger("transformers").addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model, info = AutoModel.from_pretrained(folder, output_loading_info=True)
            tokenizer = AutoTokenizer.from_pretrained(folder)
    finally:
        logging.getLogger("transformers").removeHandler(handler)
    assert not any(info.values()) and not heard
    assert model.config.model_type == family and model.dtype == torch.float32
    assert tokenizer.is_fast and len(tokenizer) == model.config.vocab_size
    return model


def _check_files(folder, family):
    """Half precision, small enough, a card, and no path of the machine."""
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / "model.safetensors").stat().st_size <= LARGEST
    with safe_open(folder / "model.safetensors", "pt") as weights:
        assert {weights.get_tensor(name).dtype for name in weights.keys()} == {torch.float16}  # noqa: SIM118
        assert weights.metadata() == {"format": "pt"}
    card = (folder / "README.md").read_text()
    for part in ("CC BY-SA 3.0", f"`probe pretrain --family {family} ", "not a substitute", "held-out documents"):
        assert part in card.replace("\n", " ")
    for name in FILES - {"model.safetensors", "tokenizer.json"}:
        assert not re.search(r"""(^|[\s"'`=(])[/~]\w""", (folder / name).read_text()), name
    assert "/" not in json.loads((folder / "pretrain.json").read_text())["arguments"]["corpus"]


def test_zoo_means_its_five_models():
    assert expand_models(["zoo"]) == NAMES and group_models(NAMES) == ["zoo"]
    assert expand_models(["zoo", "minilm", "zoo/bart"]) == [
        *(name for name in NAMES if name != "zoo/bart"),
        *["minilm", "zoo/bart"],
    ]
    assert group_models(NAMES[:4]) == NAMES[:4]
    settings = RunSettings(model=("zoo",))
    assert settings.model == tuple(NAMES) and default_folder(settings, "articles").name == "zoo-articles"
    listed = " ".join(" ".join(line) for line in known_models())
    assert all(name in listed for name in NAMES)


def test_an_unknown_animal_is_refused_without_asking_the_hub(monkeypatch):
    monkeypatch.setattr("probe.models.loading._hub_source", lambda name: pytest.fail("asked the hub"))
    with pytest.raises(ProbeError, match=r"no zoo/brt in the zoo; did you mean zoo/b\w+\?"):
        find_model("zoo/brt")
    with pytest.raises(ProbeError, match="name one of zoo/bert, zoo/albert"):
        find_model("zoo/gpt")


@pytest.mark.parametrize("family", ZOO)
def test_a_name_of_the_zoo_is_its_folder_whatever_lies_here(made, family, monkeypatch, tmp_path):
    monkeypatch.setattr("probe.models.loading.zoo_folder", made)
    (tmp_path / "zoo" / family).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    source = find_model(f"zoo/{family}")
    assert source.location == str(made(family)) and source.name == f"zoo/{family}"
    model = load_model(source)
    assert model.name == f"zoo/{family}" and len(load_tokenizer(source)) == model.module.config.vocab_size


@pytest.mark.parametrize("family", ZOO)
def test_a_folder_of_the_zoo_is_made_from_a_training(made, trained, family):
    _check_files(made(family), family)
    model, before = _check_loading(made(family), family), AutoModel.from_pretrained(trained(family))
    # Weights with several names (BART's embeddings) are written once.
    assert (made(family) / "model.safetensors").stat().st_size <= 2 * model.num_parameters() + 20_000
    for name, weight in before.state_dict().items():
        assert torch.equal(model.state_dict()[name], weight.half().float()), name


def test_the_card_says_what_the_training_was(made, trained, small_corpus):
    card = (made("albert") / "README.md").read_text()
    info = json.loads((trained("albert") / "pretrain.json").read_text())
    assert (
        f"`probe pretrain --family albert --corpus {small_corpus.name} --size tiny --steps 4 --batch-tokens 512 "
        "--checkpoint-every 2 --dtype float16 --out albert`"
    ) in card
    for part in ("# zoo/albert", "A small ALBERT", "twelve articles: 12 documents", f"{info['held_out_loss']:.3f}"):
        assert part in card


def test_an_unfinished_training_and_a_model_too_large_are_refused(trained, tmp_path, monkeypatch):
    with pytest.raises(ProbeError, match="no finished training"):
        make_zoo_folder(tmp_path, tmp_path / "out", "", "")
    monkeypatch.setattr("probe.zoo.card.LARGEST", 1000)
    with pytest.raises(ProbeError, match="more than 1,000"):
        make_zoo_folder(trained("bert"), tmp_path / "out", "", "")
    assert not (tmp_path / "out").exists()


def test_the_papers_numbers_are_not_shown_beside_the_zoo():
    for name in NAMES:
        for weights in ("pretrained", "random"):
            assert printed_ratios(1, name, weights, 0.001) is None and printed_ratios(5, name, weights, 0.001) is None
        assert printed_cooccurrence(name, 0.001) is None


def test_names_of_the_zoo_cost_no_heavy_import():
    code = "import probe.zoo, probe.settings, sys; print({'torch', 'transformers', 'numpy'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "set()\n"


@pytest.mark.parametrize("family", ZOO)
def test_the_models_that_are_there(family):
    folder = zoo_folder(family)
    if not (folder / "config.json").is_file():
        pytest.skip("this checkout has no trained models")
    _check_files(folder, family)
    model = _check_loading(folder, family)
    assert 1e6 <= sum(parameter.numel() for parameter in model.parameters()) <= 2.1e6
