"""The steps of a training, from the first or from where it was stopped.

A loop of its own rather than transformers' Trainer: what a step reads, hides and samples depends on the seed and the
step alone, so a run that is stopped ends with the same bytes of weights; ELECTRA has two networks; and the norms of
Figure 5 are taken between steps.
"""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.experiment.progress import Progress
from probe.pretraining.memory import return_free_memory
from probe.pretraining.settings import CHECKPOINT, CHECKPOINTS, MAX_LENGTH, PretrainSettings, check_same
from probe.storage.files import whole_file

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from probe.pretraining.objectives import Objective
    from probe.pretraining.passages import TrainingPassages

_STATE = "training.pt"
_WARM_UP = 0.06
_BETAS = (0.9, 0.98)
_WEIGHT_DECAY = 0.01
_LARGEST_GRADIENT = 1.0
_HELD_OUT_BATCHES = 4
_ROWS_OF_NORMS = 200
_MEMORY_EVERY = 20
# Where matrix products are in bfloat16; the weights, the softmax and the sums stay in float32.
_MIXED_PRECISION = frozenset({"cuda"})


@dataclass
class History:
    """What is recorded as the model learns; kept with the state, so that a resumed run has it whole."""

    losses: list[dict[str, float]] = field(default_factory=list)
    held_out: list[dict[str, float]] = field(default_factory=list)
    norms: list[dict[str, float | str]] = field(default_factory=list)
    seconds: float = 0.0
    processor_seconds: float = 0.0


class TrainingLoop:
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
        self.history = History()
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
        check_same(self.folder, state, self.key)
        self.objective.load_state_dict(state["objective"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.step, self.history = state["step"], History(**state["history"])
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
                if self.step % _MEMORY_EVERY == 0:
                    return_free_memory()
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
        with self._precision():
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

    def _precision(self) -> AbstractContextManager[Any]:
        import torch

        kind = torch.device(self.device).type
        return torch.autocast(kind, torch.bfloat16, enabled=kind in _MIXED_PRECISION)

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
        with torch.no_grad(), self._precision():
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
