"""Train a small model of one family from nothing."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

from probe.experiment.context import versions
from probe.experiment.progress import Progress, Silent
from probe.pretraining.architectures import encoder_config, size_of
from probe.pretraining.settings import CHECKPOINTS, MAX_LENGTH, PretrainSettings, check_same
from probe.storage.cache import Cache
from probe.storage.files import alone_in

_PACKAGES = ("numpy", "tokenizers", "torch", "transformers")


def pretrain(
    settings: PretrainSettings,
    out: Path | str,
    *,
    cache: Path | str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a tokenizer and a model, or go on from what a stopped run has finished.

    `out` receives the model (`config.json`, `model.safetensors` and the tokenizer's files), `checkpoints/` with a
    model every so many steps, `training.csv` (`step, tokens, learning_rate, loss` and the loss's parts),
    `held_out.csv` (`step, loss`), `norms.csv` (`step, layer, matrix, norm`), and `pretrain.json`.

    Args:
        settings: every argument.
        out: the folder.
        cache: folder of finished work; `probe.storage.cache.default_cache()` by default.
        progress: receives the stages.

    Returns:
        The content of `pretrain.json`.

    Raises:
        ProbeError: an argument or the folder cannot be used.
        CorpusError: the corpus cannot be read.
    """
    from corpora import open_corpus
    from probe.results.writing import check_writable

    folder, progress = Path(out), progress or Silent()
    with progress.stage(f"Opening corpus {settings.corpus}"):
        corpus = open_corpus(settings.corpus, documents=settings.documents, language=settings.language)
    key = {"arguments": asdict(settings) | {"device": ""}, "corpus": corpus.fingerprint()}
    if (folder / "pretrain.json").is_file():
        return _finished(folder, key, progress)
    check_writable(folder)
    with progress.stage("Loading libraries"):
        import torch

        from probe.models.devices import choose_device
        from probe.pretraining.inputs import trained_tokenizer, training_passages
        from probe.pretraining.loop import TrainingLoop
        from probe.pretraining.objectives import make_objective

    device = choose_device(settings.device)
    tokenizer = trained_tokenizer(settings, corpus, folder, Cache(cache), progress)
    train, held_out = training_passages(settings, corpus, tokenizer, Cache(cache), progress)
    config = encoder_config(settings.family, size_of(settings.size), tokenizer, MAX_LENGTH)
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        objective = make_objective(settings.family, config, tokenizer, settings.masked_share)
        objective = objective.to(device)
        run = TrainingLoop(settings, objective, tokenizer, train, held_out, folder, key, device)
        # Not the folder itself: files of a probe or of dynamics may come to stand there meanwhile.
        (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
        with alone_in(folder / CHECKPOINTS):
            run.resume(progress)
            run.train(progress)
    info = {
        **key,
        "corpus_name": corpus.name,
        "corpus_license": corpus.license,
        "corpus_documents": train.tokens.documents,
        "corpus_tokens": len(train.tokens.ids),
        "passages": len(train.passages),
        "vocabulary": len(tokenizer),
        "parameters": run.parameters,
        "device": device,
        "tokens": run.history.losses[-1]["tokens"],
        "loss": run.history.losses[-1]["loss"],
        "held_out_loss": run.history.held_out[-1]["loss"],
        "seconds": round(run.history.seconds, 1),
        "processor_seconds": round(run.history.processor_seconds, 1),
        "versions": {"python": platform.python_version()} | versions(_PACKAGES),
    }
    run.finish(info)
    return info


def _finished(folder: Path, key: dict[str, Any], progress: Progress) -> dict[str, Any]:
    info = json.loads((folder / "pretrain.json").read_text(encoding="utf-8"))
    check_same(folder, info, key)
    progress.note(f"The model in {folder} is finished already.")
    return info
