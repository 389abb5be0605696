"""What more passages cost in memory, and what more ranks give in speed.

    python benchmarks/scale.py [--corpus FILE] [--passages 1000 20000] [--turns N] [--out results/benchmarks]

Memory: the peak of `probe run` in a process of its own, at each number of passages, with tokens and topics found
finished. The model is a tiny BERT with random weights. A corpus that is not named is drawn from a topic model (100
topics over the words of the Wikipedia sample, seeded), large enough for the passages.

Ranks: `torchrun --nproc-per-node 2 -m probe run` against `probe run`, one thread each, with minilm on the Wikipedia
sample; in turns, tokens and topics already finished. Passages a second are those of the pass (`seconds` in run.json);
all numbers of all tables are compared.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from common import VOCABULARY, parser, plain_module, write
from transformers import AutoTokenizer, BertConfig
from transformers.utils import logging as transformers_logging

from corpora import open_corpus
from probe.models.sources import find_model

TINY = BertConfig(
    vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256
)
TABLES = ("table1", "table2", "table5", "measures", "layers")
_LENGTH = 128
_DOCUMENT_WORDS = 500


def synthetic_corpus(path: Path, words: int) -> None:
    """Write documents of a topic model over the words of the Wikipedia sample until there are so many words."""
    random = np.random.default_rng(0)
    texts = (document.text for document in open_corpus("wikipedia-sample"))
    found, counts = np.unique([word for text in texts for word in re.findall("[a-z]{2,}", text)], return_counts=True)
    topics = counts * random.gamma(0.1, size=(100, len(found)))
    topics /= topics.sum(axis=1, keepdims=True)
    with path.open("w", encoding="utf-8") as file:
        for number in range(-(-words // _DOCUMENT_WORDS)):
            share = random.dirichlet(np.full(len(topics), 0.1))
            chosen = random.choice(found, size=_DOCUMENT_WORDS, p=share @ topics)
            file.write(json.dumps({"id": str(number), "title": f"Document {number}", "text": " ".join(chosen)}) + "\n")


def tiny_model(folder: Path) -> None:
    """Save a tiny BERT with random weights and the tokenizer of minilm."""
    transformers_logging.disable_progress_bar()
    plain_module(TINY).save_pretrained(folder)
    AutoTokenizer.from_pretrained(find_model("minilm").location).save_pretrained(folder)


def probe(
    command: Sequence[str], arguments: Sequence[str], out: Path, prepared: Path | None = None
) -> dict[str, object]:
    """Run `probe run` in processes of its own, one thread each, on a copy of a cache; gives its run.json."""
    cache = out.with_suffix(".cache")
    if prepared:
        shutil.copytree(prepared, cache)
    run = [*command, "run", *arguments, "--no-figures", "--quiet", "--out", str(out), "--cache", str(cache)]
    subprocess.run(run, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    return json.loads((out / "run.json").read_text(encoding="utf-8"))


def prepare(arguments: Sequence[str], folder: Path) -> Path:
    """A cache with the tokens and topics of a run, but no pass."""
    probe([sys.executable, "-m", "probe"], [*arguments, "--passages", "100", "--no-baseline"], folder / "first")
    cache = folder / "first.cache"
    shutil.rmtree(cache / "sums")
    return cache


def measure_memory(corpus: Path | None, passages: Sequence[int], folder: Path) -> list[dict[str, float]]:
    if corpus is None:
        corpus = folder / "corpus.jsonl"
        # A word has one token or more.
        synthetic_corpus(corpus, max(passages) * _LENGTH)
    tiny_model(folder / "tiny")
    arguments = ["--model", str(folder / "tiny"), "--corpus", str(corpus), "--max-length", str(_LENGTH)]
    cache = prepare(arguments, folder)
    child = [sys.executable, str(Path(__file__).with_name("memory.py")), str(folder / "peak")]
    rows = []
    for number in passages:
        out = folder / str(number)
        info = probe(child, [*arguments, "--passages", str(number), "--no-baseline"], out, cache)
        row = {"passages": info["models"][0]["passages"], "peak_mb": float((folder / "peak").read_text())}
        print(row, flush=True)
        rows.append(row)
    return rows


def measure_ranks(passages: int, turns: int, folder: Path) -> dict[str, object]:
    ways = {
        "one": [sys.executable, "-m", "probe"],
        "two": [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "probe"],
    }
    # Few draws, since only the pass is timed.
    arguments = ["--passages", str(passages), "--resamples", "100"]
    cache = prepare(arguments, folder)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    largest = 0.0
    for turn in range(turns):
        outs = {way: folder / f"{way}-{turn}" for way in ways}
        for way, command in ways.items():
            info = probe(command, arguments, outs[way], cache)
            seconds[way].append(info["seconds"]["passes"] / sum(model["passages"] for model in info["models"]))
        largest = max(largest, *(largest_difference(outs["one"], outs["two"], table) for table in TABLES))
        print({way: taken[-1] for way, taken in seconds.items()}, largest, flush=True)
    one, two = (1 / median(seconds[way]) for way in ways)
    return {
        "passages": passages,
        "turns": turns,
        "one_rank_passages_a_second": one,
        "two_ranks_passages_a_second": two,
        "two_over_one": two / one,
        "largest_relative_difference": largest,
    }


def largest_difference(one: Path, two: Path, table: str) -> float:
    """The largest relative difference between the numbers of two runs' tables, whose other cells must be equal."""
    frames = [pd.read_csv(folder / f"{table}.csv") for folder in (one, two)]
    numbers = [frame.select_dtypes("number") for frame in frames]
    pd.testing.assert_frame_equal(*(frame.drop(columns=number) for frame, number in zip(frames, numbers, strict=True)))
    first, second = (number.to_numpy(dtype=float) for number in numbers)
    assert first.shape == second.shape and (np.isnan(first) == np.isnan(second)).all()
    larger = np.maximum(np.abs(first), np.abs(second))
    return float(np.max(np.abs(first - second) / np.where(larger > 0, larger, 1), initial=0, where=larger > 0))


def main() -> None:
    command = parser(__doc__, turns=3)
    command.add_argument("--corpus", type=Path, help="of the memory; a synthetic one by default")
    command.add_argument("--passages", type=int, nargs="+", default=[1000, 20000])
    command.add_argument("--rank-passages", type=int, default=400)
    arguments = command.parse_args()
    with TemporaryDirectory() as folder:
        memory = measure_memory(arguments.corpus, arguments.passages, Path(folder))
    growth = memory[-1]["peak_mb"] / memory[0]["peak_mb"] - 1
    with TemporaryDirectory() as folder:
        ranks = measure_ranks(arguments.rank_passages, arguments.turns, Path(folder))
    print({"growth": growth} | ranks)
    write(arguments.out, {"memory": memory, "growth": growth, "ranks": ranks})


if __name__ == "__main__":
    main()
