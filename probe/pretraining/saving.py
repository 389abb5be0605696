"""A model in Hugging Face's format, as `AutoModel` and `AutoTokenizer` load it without a warning."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from probe.errors import ProbeError
from probe.pretraining.architectures import bare_model
from probe.storage.files import rust_errors

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_READABLE = 0o644


def save_model(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, folder: Path, dtype: str = "float32"
) -> None:
    """Save a model without its pretraining head, and its tokenizer; every file is there whole or not at all.

    Args:
        network: the model, with its head.
        tokenizer: its tokenizer.
        folder: made if missing.
        dtype: of the weights on disk; whatever it is, they are loaded as float32 unless asked otherwise.

    Raises:
        ProbeError: the folder cannot be written.
    """
    import torch
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    # What `from_pretrained` notes of where a tokenizer was read says nothing of where it will be.
    for name in ("is_local", "local_files_only"):
        tokenizer.init_kwargs.pop(name, None)
    model = bare_model(network)
    # Converted once each, so that weights of several names (BART's embeddings) are written once.
    weights, converted = {}, dict[int, torch.Tensor]()
    for name, value in model.state_dict().items():
        weights[name] = converted.setdefault(value.data_ptr(), value.detach().to("cpu", getattr(torch, dtype)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder, prefix=".writing-"))
        try:
            with rust_errors():
                model.save_pretrained(temporary, state_dict=weights)
                tokenizer.save_pretrained(temporary)
            # The config last: a folder with one is a whole model.
            for path in sorted(temporary.iterdir(), key=lambda path: path.name == "config.json"):
                path.chmod(_READABLE)  # safetensors writes files that only their owner can read
                path.replace(folder / path.name)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise ProbeError(
            f"The folder {folder} cannot be written ({error.strerror or error}): name another with --out DIR."
        ) from error
