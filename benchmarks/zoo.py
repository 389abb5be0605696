"""The models of the zoo, trained again for their first steps: does the committed curve come out?

    OMP_NUM_THREADS=1 python benchmarks/zoo.py enwiki-8k.jsonl.xz [--steps 200] [--out results/benchmarks]

Each training uses the arguments of `probe/zoo/FAMILY/pretrain.json` and the tokenizer that stands beside it (trained
anew, a tokenizer comes out slightly different). It ends after so many steps of the card's schedule. The largest
difference from the losses of `training.csv` is written to `zoo.json`, with the peak memory; 1e-4 is allowed.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd

from probe.experiment.progress import Silent, Stage
from probe.models.sources import ZOO_MODELS, find_model
from probe.pretraining.settings import CHECKPOINT, CHECKPOINTS, PretrainSettings
from probe.pretraining.training import pretrain

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = 1e-4


class EndedError(Exception):
    """The steps asked for are done."""


class EndAfter(Silent):
    """Progress that ends a training one step after a checkpoint, which is then on disk."""

    def __init__(self, step: int):
        self._step = step

    @contextmanager
    def stage(self, description: str, total: float | None = None) -> Iterator[Stage]:
        yield self if description.startswith("Training ") and total else Silent()

    def at(self, done: float, total: float | None = None) -> None:
        del total
        if done > self._step:
            raise EndedError


def train_again(name: str, corpus: str, steps: int, cache: Path) -> dict[str, float | str]:
    """Train one model for its first steps, and compare."""
    model = Path(find_model(name).location)
    arguments = json.loads((model / "pretrain.json").read_text(encoding="utf-8"))["arguments"]
    settings = replace(PretrainSettings(**arguments), corpus=corpus, device="cpu", checkpoint_every=steps)
    with tempfile.TemporaryDirectory() as place:
        begun = Path(place) / CHECKPOINTS / CHECKPOINT.format(step=0)
        begun.mkdir(parents=True)
        for path in model.glob("*.json"):
            if path.name != "pretrain.json":
                shutil.copy(path, begun)
        with suppress(EndedError):
            pretrain(settings, place, cache=cache, progress=EndAfter(steps))
        found = pd.read_csv(Path(place) / "training.csv")["loss"]
    committed = pd.read_csv(model / "training.csv")["loss"][: len(found)]
    return {
        "model": name,
        "steps": len(found),
        "largest_difference": float((found - committed).abs().max()),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def main() -> None:
    """Train each model in a process of its own, so that its peak memory is its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "benchmarks")
    parser.add_argument("--model", choices=ZOO_MODELS)
    parser.add_argument("--cache", type=Path)
    chosen = parser.parse_args()
    if chosen.model:
        print(json.dumps(train_again(chosen.model, chosen.corpus, chosen.steps, chosen.cache)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for name in ZOO_MODELS:
            command = [sys.executable, __file__, chosen.corpus, "--steps", str(chosen.steps)]
            command += ["--model", name, "--cache", cache]
            rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
            print(rows[-1], flush=True)
            (chosen.out / "zoo.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    if max(row["largest_difference"] for row in rows) > ALLOWED:
        sys.exit(f"A curve differs from the committed one by more than {ALLOWED:g}.")


if __name__ == "__main__":
    main()
