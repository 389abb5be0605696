"""Train a small model of one family from nothing.

A loop of its own rather than transformers' Trainer: what a step reads, hides and samples depends on the seed and the
step alone, so a run that is stopped ends with the same bytes of weights; ELECTRA has two networks; and the norms of
Figure 5 are taken between steps.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.experiment.context import TOKEN_PACKAGES, versions
from probe.experiment.progress import Progress, Silent
from probe.pretraining.architectures import check_family, encoder_config, size_of
from probe.storage.cache import Cache
from probe.storage.files import alone_in, rust_errors, whole_file

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from corpora import Corpus
    from probe.pretraining.objectives import Objective
    from probe.pretraining.passages import TrainingPassages

CHECKPOINTS = "checkpoints"
CHECKPOINT = "checkpoint-{step}"
MAX_LENGTH = 128
LEARNING_RATE = 1.5e-3
MASKED_SHARE = 0.4
_STATE = "training.pt"
_WARM_UP = 0.06
_BETAS = (0.9, 0.98)
_WEIGHT_DECAY = 0.01
_LARGEST_GRADIENT = 1.0
_HELD_OUT_BATCHES = 4
_ROWS_OF_NORMS = 200
_SAVED_DTYPES = ("float32", "float16", "bfloat16")
_PACKAGES = ("numpy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class PretrainSettings:
    """Every argument of a training.

    Attributes:
        family: bert, albert, bart, electra or roberta.
        corpus: name or path of a corpus (see `probe corpora`).
        size: tiny, small or base (see `probe.pretraining.architectures.SIZES`).
        steps: optimizer steps.
        batch_tokens: tokens of a batch at most, padding included.
        masked_share: share of the tokens that a masked language model predicts; BART's text infilling has its own.
        learning_rate: the highest; it rises over the first steps and falls to 0 over the others.
        seed: of the weights, the order of the passages, and what is hidden.
        documents: read at most so many documents of the corpus; None for all.
        checkpoint_every: steps between two checkpoints; None for a tenth of the steps.
        device: a torch device, or "auto": a GPU where there is one.
        dtype: of the saved weights; the training is in float32.
    """

    family: str
    corpus: str = "wikipedia-sample"
    size: str = "small"
    steps: int = 500
    batch_tokens: int = 8192
    masked_share: float = MASKED_SHARE
    learning_rate: float = LEARNING_RATE
    seed: int = 0
    documents: int | None = None
    checkpoint_every: int | None = None
    device: str = "auto"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_family(self.family)
        size_of(self.size)
        for name, least in (("steps", 1), ("batch_tokens", MAX_LENGTH), ("seed", 0), ("checkpoint_every", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ProbeError(f"--{name.replace('_', '-')} {value} is too small: use at least {least}.")
        if not 0 < self.masked_share < 1:
            raise ProbeError(f"--masked-share {self.masked_share:g} cannot be used: give one between 0 and 1.")
        if not 0 < self.learning_rate < 1:
            raise ProbeError(f"--learning-rate {self.learning_rate:g} cannot be used: give one between 0 and 1.")
        if self.dtype not in _SAVED_DTYPES:
            raise ProbeError(f"--dtype {self.dtype} is not known: use one of {', '.join(_SAVED_DTYPES)}.")


@dataclass
class _History:
    """What is recorded as the model learns; kept with the state, so that a resumed run has it whole."""

    losses: list[dict[str, float]] = field(default_factory=list)
    held_out: list[dict[str, float]] = field(default_factory=list)
    norms: list[dict[str, float | str]] = field(default_factory=list)
    seconds: float = 0.0
    processor_seconds: float = 0.0


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
        corpus = open_corpus(settings.corpus, documents=settings.documents)
    key = {"arguments": asdict(settings) | {"device": ""}, "corpus": corpus.fingerprint()}
    if (folder / "pretrain.json").is_file():
        return _finished(folder, key, progress)
    check_writable(folder)
    with progress.stage("Loading libraries"):
        import torch

        from probe.models.devices import choose_device
        from probe.pretraining.objectives import make_objective

    device = choose_device(settings.device)
    tokenizer = _tokenizer(settings, corpus, folder, Cache(cache), progress)
    train, held_out = _passages(settings, corpus, tokenizer, Cache(cache), progress)
    config = encoder_config(settings.family, size_of(settings.size), tokenizer, MAX_LENGTH)
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        objective = make_objective(settings.family, config, tokenizer, settings.masked_share)
        objective = objective.to(device)
        run = _Run(settings, objective, tokenizer, train, held_out, folder, key, device)
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
    _check_same(folder, info, key)
    progress.note(f"The model in {folder} is found finished.")
    return info


def _check_same(folder: Path, found: dict[str, Any], key: dict[str, Any]) -> None:
    if found.get("corpus") != key["corpus"]:
        raise ProbeError(f"The folder {folder} holds a training on another corpus: name another with --out DIR.")
    for name, value in key["arguments"].items():
        if found["arguments"].get(name) != value and name != "corpus":
            raise ProbeError(
                f"The folder {folder} holds a training with --{name.replace('_', '-')} "
                f"{found['arguments'].get(name)}, not {value}: name another with --out DIR."
            )


def _tokenizer(
    settings: PretrainSettings, corpus: Corpus, folder: Path, cache: Cache, progress: Progress
) -> PreTrainedTokenizerFast:
    """The tokenizer that a stopped run has begun with, or one that was trained before, or a new one."""
    from transformers import AutoTokenizer

    from probe.pretraining.tokenizers import KINDS, train_tokenizer

    begun = folder / CHECKPOINTS / CHECKPOINT.format(step=0)
    if (begun / "config.json").is_file():
        return AutoTokenizer.from_pretrained(begun)
    vocabulary = size_of(settings.size).vocabulary
    key = {
        "corpus": corpus.fingerprint(),
        "trained": KINDS[settings.family],
        "vocabulary": vocabulary,
        "versions": versions(TOKEN_PACKAGES),
    }

    def write(place: Path) -> None:
        with progress.stage(f"Training a tokenizer for {settings.family} on {corpus.name}"):
            tokenizer = train_tokenizer(settings.family, _Texts(corpus), vocabulary, MAX_LENGTH)
        with rust_errors():
            tokenizer.save_pretrained(place)

    return AutoTokenizer.from_pretrained(cache.make("tokens", key, write)[0])


class _Texts:
    """The texts of a corpus, as often as needed."""

    def __init__(self, corpus: Corpus):
        self._corpus = corpus

    def __iter__(self) -> Iterator[str]:
        return (document.text for document in self._corpus)


def _passages(
    settings: PretrainSettings, corpus: Corpus, tokenizer: PreTrainedTokenizerFast, cache: Cache, progress: Progress
) -> tuple[TrainingPassages, TrainingPassages]:
    from probe.pretraining.passages import split_passages
    from probe.text.passages import special_tokens
    from probe.text.tokens import Tokens, tokenize
    from probe.text.vocabulary import build_vocabulary

    vocabulary = build_vocabulary(tokenizer, ())

    def write(place: Path) -> None:
        with progress.stage(f"Tokenizing {corpus.name}", settings.documents) as stage:
            tokenize(corpus, tokenizer, vocabulary, place, stage.at)

    key = {
        "corpus": corpus.fingerprint(),
        "pretraining": vocabulary.fingerprint,
        "versions": versions(TOKEN_PACKAGES),
    }
    entry, _ = cache.make("tokens", key, write)
    return split_passages(Tokens.load(entry), special_tokens(tokenizer), MAX_LENGTH, settings.seed)


class _Run:
    """One training, from its first step or from where it was stopped."""

    def __init__(
        self,
        settings: PretrainSettings,
        objective: Objective,
        tokenizer: PreTrainedTokenizerFast,
        train: TrainingPassages,
        held_out: TrainingPassages,
        folder: Path,
        key: dict[str, Any],
        device: str,
    ):
        import torch

        self.settings, self.objective, self.tokenizer = settings, objective, tokenizer
        self.passages, self.held_out = train, held_out
        self.folder, self.key, self.device = folder, key, device
        self.history = _History()
        self.step = 0
        self.parameters = sum(parameter.numel() for parameter in objective.encoder.base_model.parameters())
        self._batch = settings.batch_tokens // MAX_LENGTH
        self._checkpoint_every = settings.checkpoint_every or max(1, settings.steps // 10)
        self._norms_every = max(1, settings.steps // _ROWS_OF_NORMS)
        matrices = [parameter for parameter in objective.parameters() if parameter.ndim > 1]
        others = [parameter for parameter in objective.parameters() if parameter.ndim <= 1]
        self._optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": _WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}],
            betas=_BETAS,
        )

    def resume(self, progress: Progress) -> None:
        """Take up the state of a stopped run, where there is one."""
        import torch

        path = self.folder / _STATE
        if not path.is_file():
            return
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
        except Exception as error:  # torch raises unrelated types for damaged files
            raise ProbeError(f"The state {path} is damaged: remove it to train from nothing.") from error
        _check_same(self.folder, state, self.key)
        self.objective.load_state_dict(state["objective"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.step, self.history = state["step"], _History(**state["history"])
        progress.note(f"Training goes on after step {self.step} of {self.settings.steps}.")

    def train(self, progress: Progress) -> None:
        """Take the steps that are left."""
        started, before = time.perf_counter(), self.history.seconds
        used, used_before = time.process_time(), self.history.processor_seconds
        steps = self.settings.steps
        self.objective.train()
        with progress.stage(
            f"Training {self.settings.family} ({self.parameters / 1e6:.1f} M parameters)", steps
        ) as bar:
            if self.step == 0:
                self._record_norms()
                self._checkpoint()
            while self.step < steps:
                losses = self._take_step()
                self.step += 1
                bar.at(self.step)
                if self.step % self._norms_every == 0 or self.step == steps:
                    self._record_norms()
                if self.step % self._checkpoint_every == 0 or self.step == steps:
                    self.history.seconds = before + time.perf_counter() - started
                    self.history.processor_seconds = used_before + time.process_time() - used
                    self._checkpoint()
                    held_out = self.history.held_out[-1]["loss"]
                    progress.note(
                        f"Step {self.step} of {steps}: loss {losses['loss']:.3f}, held-out loss {held_out:.3f}"
                    )

    def finish(self, info: dict[str, Any]) -> None:
        """Write the model and the records; the state is no longer needed."""
        from probe.pretraining.saving import save_model

        save_model(self.objective.encoder, self.tokenizer, self.folder, self.settings.dtype)
        with whole_file(self.folder / "pretrain.json") as place:
            place.write_text(json.dumps(info, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        (self.folder / _STATE).unlink(missing_ok=True)

    def _take_step(self) -> dict[str, float]:
        import torch

        # What is hidden and sampled depends on the seed and the step alone.
        torch.manual_seed(_step_seed(self.settings.seed, self.step))
        rate = self.settings.learning_rate * _schedule(self.step, self.settings.steps)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        input_ids, mask = (part.to(self.device) for part in self.passages.batch(self.step, self._batch))
        losses = self.objective.losses(input_ids, mask)
        losses["loss"].backward()
        torch.nn.utils.clip_grad_norm_(self.objective.parameters(), _LARGEST_GRADIENT)
        self._optimizer.step()
        self._optimizer.zero_grad()
        values = {name: float(value.detach()) for name, value in losses.items()}
        if not all(value == value for value in values.values()):
            raise ProbeError(
                f"The loss is not a number after step {self.step}: use a smaller --learning-rate than "
                f"{self.settings.learning_rate:g}."
            )
        seen = int(mask.sum()) + (self.history.losses[-1]["tokens"] if self.history.losses else 0)
        self.history.losses.append({"step": self.step + 1, "tokens": seen, "learning_rate": rate, **values})
        return values

    def _record_norms(self) -> None:
        from probe.pretraining.norms import attention_norms

        self.history.norms += [
            {"step": self.step, **norm._asdict()} for norm in attention_norms(self.objective.encoder.base_model)
        ]

    def _checkpoint(self) -> None:
        import torch

        from probe.pretraining.saving import save_model

        self.history.held_out.append({"step": self.step, **self._held_out_losses()})
        place = self.folder / CHECKPOINTS / CHECKPOINT.format(step=self.step)
        save_model(self.objective.encoder, self.tokenizer, place)
        for name in ("losses", "held_out", "norms"):
            _write_csv(self.folder / f"{name.replace('losses', 'training')}.csv", getattr(self.history, name))
        state = {
            **self.key,
            "step": self.step,
            "history": asdict(self.history),
            "objective": self.objective.state_dict(),
            "optimizer": self._optimizer.state_dict(),
        }
        with whole_file(self.folder / _STATE) as place, place.open("wb") as file:
            torch.save(state, file)  # given a path, it would not tell of a full disk as an OSError

    def _held_out_losses(self) -> dict[str, float]:
        """Losses on the same held-out passages, hidden in the same way, at every checkpoint."""
        import torch

        total: dict[str, float] = {}
        self.objective.eval()
        with torch.no_grad():
            for number in range(_HELD_OUT_BATCHES):
                torch.manual_seed(_step_seed(self.settings.seed, number))
                ids, mask = (part.to(self.device) for part in self.held_out.batch(number, self._batch))
                for name, value in self.objective.losses(ids, mask).items():
                    total[name] = total.get(name, 0.0) + float(value) / _HELD_OUT_BATCHES
        self.objective.train()
        return total


def _schedule(step: int, steps: int) -> float:
    """Share of the highest learning rate: a linear rise over the first 6 % of the steps, a linear fall to 0."""
    warm_up = max(1, round(_WARM_UP * steps))
    return min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))


def _step_seed(seed: int, step: int) -> int:
    import numpy as np

    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> 1)


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    if rows:
        with whole_file(path) as place:
            pd.DataFrame(rows).to_csv(place, index=False, lineterminator="\n")
