"""What the attention pass costs, as ratios to its peers in one run.

    OMP_NUM_THREADS=1 python benchmarks/attention.py [--turns N] [--out results/benchmarks]

Models have random weights and the sizes of BERT-base and of a 6-layer MiniLM; passages are random tokens, of which a
share carries topics under three thresholds and both assignments, as in a run. In turns, on the same batches:

- plain: the forward pass with transformers' own SDPA;
- probe: the forward pass with everything that the tables, nulls and intervals need;
- eager: `output_attentions=True` with the eager implementation, then the same sums made of its maps at once;
- literal: a loop over layers, heads and pairs, for one head of one passage, extrapolated to the batch.

Seconds are processor time of one thread, so that other work on the machine does not count; ratios are of medians.
Peak memory is that of a process of its own for each way, with batches of a run's default size.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
import torch
from transformers import AutoModel, BertConfig

from probe.measures.attention import AttentionReader
from probe.measures.batches import Batch, BatchMaker
from probe.measures.pairs import TopicPairs, pair_states, topic_pairs
from probe.models.eager import Map
from probe.models.examination import examined
from probe.models.families import family_of
from probe.models.interface import IMPLEMENTATION
from probe.models.loaded import LoadedModel
from probe.passages import Passages, SpecialTokens
from probe.tokens import Tokens
from probe.topics import Assignment
from probe.vocabulary import Vocabulary

VOCABULARY, TOPICS, WORDS_PER_TOPIC = 30_522, 100, (15, 30, 59)
BATCH_TOKENS, MEMORY_BATCH_TOKENS = 1024, 4096
SIZES = {
    "BERT-base": BertConfig(vocab_size=VOCABULARY),
    "MiniLM": BertConfig(
        vocab_size=VOCABULARY, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    ),
}
LENGTHS = (128, 512)
SHARES = (0.1, 0.2, 0.4)
WAYS = ("plain", "probe", "eager")


@dataclass
class Row:
    """One setting; ratios of median seconds, and peak memory in MB."""

    model: str
    length: int
    share: float
    plain_seconds: float
    probe_over_plain: float
    eager_over_probe: float
    literal_over_sums: float
    plain_mb: float | None = None
    probe_mb: float | None = None
    eager_mb: float | None = None


def random_pairs(random: np.random.Generator) -> TopicPairs:
    """Topics of random words, frequent ones in several topics: three thresholds, both assignments."""
    weights = 1 / (np.arange(VOCABULARY - 1000) + 100.0) ** 1.2
    weights /= weights.sum()
    most = max(WORDS_PER_TOPIC)
    kept = [1000 + random.choice(len(weights), size=most, replace=False, p=weights) for _ in range(TOPICS)]
    assignments = []
    for count in WORDS_PER_TOPIC:
        words = np.unique(np.concatenate([topic[:count] for topic in kept]))
        member = np.array([np.isin(words, topic[:count]) for topic in kept])
        first = np.arange(TOPICS)[:, None] == member.argmax(axis=0)
        for kind, member_of_kind in (("single", first), ("multiple", member)):
            assignments.append(Assignment(0.001, kind, 0, VOCABULARY, count, words, member_of_kind))
    flags = np.ones(VOCABULARY, dtype=bool)
    vocabulary = Vocabulary([], [str(index) for index in range(VOCABULARY)], flags, flags, ~flags, "")
    return topic_pairs(assignments, np.arange(VOCABULARY), vocabulary)


def random_batch(
    pairs: TopicPairs, length: int, share: float, random: np.random.Generator, batch_tokens: int = BATCH_TOKENS
) -> Batch:
    """Passages of nearly one length, as they are packed."""
    size = batch_tokens // length
    lengths = random.integers(length * 15 // 16, length + 1, size=size) - 2
    lengths[0] = length - 2
    offsets = np.cumsum([0, *lengths])
    ids = random.choice(np.setdiff1d(np.arange(1000, VOCABULARY), pairs.words), size=offsets[-1]).astype(np.int32)
    carries = random.random(offsets[-1]) < share
    ids[carries] = random.choice(pairs.words, size=carries.sum())
    tokens = Tokens(ids, np.ones(len(ids), dtype=bool), offsets, np.arange(size))
    passages = Passages(offsets[:-1], offsets[1:], np.arange(size))
    return BatchMaker(tokens, passages, SpecialTokens((101,), (102,), 0), pairs.words, VOCABULARY)(np.arange(size))


def load(name: str) -> LoadedModel:
    """A model with random weights that can be listened to."""
    torch.manual_seed(0)
    module = AutoModel.from_config(SIZES[name], attn_implementation=IMPLEMENTATION).eval()
    return examined(name, "random", module, family_of(SIZES[name]), "encoder")


class EagerReader(AttentionReader):
    """The same sums, from all maps of a batch at once."""

    @torch.inference_mode()
    def read(self, batch: Batch) -> None:
        output = self._model.module(batch.input_ids, attention_mask=batch.attention_mask, output_attentions=True)
        self._begin(batch)
        for layer, attention in enumerate(output.attentions):
            self._add(layer, Map(self._model.module, attention))
        self._end(batch)


@torch.inference_mode()
def run(way: str, model: LoadedModel, pairs: TopicPairs | None, batch: Batch) -> float:
    """Processor seconds of one way on one batch; plain needs no pairs."""
    module = model.module
    module.set_attn_implementation({"plain": "sdpa", "probe": IMPLEMENTATION, "eager": "eager"}[way])
    if way == "plain":
        start = time.process_time()
        module(batch.input_ids, attention_mask=batch.attention_mask)
    else:
        assert pairs is not None
        reader = (EagerReader if way == "eager" else AttentionReader)(model, pairs, len(batch.documents))
        start = time.process_time()
        reader.read(batch)
    return time.process_time() - start


@torch.inference_mode()
def sums_alone(model: LoadedModel, pairs: TopicPairs, batch: Batch) -> float:
    """Processor seconds of the sums from one layer's maps, for as many layers as there are."""
    reader = AttentionReader(model, pairs, len(batch.documents))
    length = batch.input_ids.shape[1]
    one = Map(model.module, torch.softmax(torch.randn(len(batch.documents), model.heads, length, length), dim=-1))
    start = time.process_time()
    reader._begin(batch)
    for layer in range(model.layers):
        reader._add(layer, one)
    reader._end(batch)
    return time.process_time() - start


def literal(model: LoadedModel, pairs: TopicPairs, batch: Batch) -> float:
    """Processor seconds of a loop over layers, heads and pairs, extrapolated from one head and one assignment."""
    length = int(batch.lengths[0])
    attention = np.random.default_rng(0).random((1, 1, length, length), dtype=np.float32)
    known = batch.words[0] >= 0
    words = np.full(length, -1)
    words[batch.rows[0][known]] = batch.words[0][known]
    position = pairs.position[-1]
    states = np.zeros((len(pairs), len(pairs)), dtype=np.uint8)
    states[np.ix_(position, position)] = pair_states(pairs.assignments[-1], pairs.surface[position])
    sums = [0.0, 0.0]
    start = time.process_time()
    for layer, head in np.ndindex(attention.shape[:2]):
        for i in range(length):
            for j in range(length):
                if words[i] >= 0 and words[j] >= 0 and (state := states[words[i], words[j]]):
                    sums[state - 1] += attention[layer, head, i, j] * length / 100
    maps = model.layers * model.heads * len(batch.documents)
    return (time.process_time() - start) * maps * len(pairs.assignments)


def forget_peak() -> None:
    """Let the peak of this process's memory begin anew (Linux)."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mb() -> float:
    """Peak resident memory of this process since then (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def memory_of(way: str, name: str, length: int, share: float) -> float:
    """Peak memory of a process that takes one way alone."""
    child = [sys.executable, __file__, "--memory", way, name, str(length), str(share)]
    return float(subprocess.run(child, check=True, capture_output=True, text=True).stdout)


def measure_memory(way: str, name: str, length: int, share: float) -> None:
    random = np.random.default_rng(0)
    model, pairs = load(name), random_pairs(random)
    batch = random_batch(pairs, length, share, random, MEMORY_BATCH_TOKENS)
    run(way, model, pairs, batch)
    if way == "plain":
        del pairs  # what a process without a probe would not hold
        pairs = None
    forget_peak()
    for _ in range(3):
        run(way, model, pairs, batch)
    print(peak_mb())


def measure(name: str, turns: int, with_memory: bool) -> Iterator[Row]:
    """All settings of one model."""
    random = np.random.default_rng(0)
    model, pairs = load(name), random_pairs(random)
    for length, share in product(LENGTHS, SHARES):
        batch = random_batch(pairs, length, share, random)
        seconds: dict[str, list[float]] = {way: [] for way in (*WAYS, "sums")}
        for turn in range(turns + 1):
            for way in WAYS:
                taken = run(way, model, pairs, batch)
                if turn:  # the first warms up
                    seconds[way].append(taken)
            seconds["sums"].append(sums_alone(model, pairs, batch))
        plain, probe, eager, sums = (median(seconds[way]) for way in (*WAYS, "sums"))
        row = Row(name, length, share, plain, probe / plain, eager / probe, literal(model, pairs, batch) / sums)
        if with_memory:
            row.plain_mb, row.probe_mb, row.eager_mb = (memory_of(way, name, length, share) for way in WAYS)
        yield row


def markdown(rows: list[Row], command: str) -> str:
    """A table of the rows."""
    lines = [
        "# The attention pass",
        "",
        f"`{command}`",
        "",
        f"Batches of {BATCH_TOKENS} tokens, processor time of one thread, medians in turns; memory is the peak of a",
        f"process of its own with batches of {MEMORY_BATCH_TOKENS} tokens, a run's default. Shares are of tokens that",
        "carry topics. Literal is a loop over layers, heads and pairs, extrapolated from one head of one passage,",
        "against the sums alone.",
        "",
        "| model | length | share | plain, s | probe / plain | eager / probe | literal / sums | plain, MB "
        "| memory, probe / plain | memory, eager / plain |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        memory = ["", "", ""]
        if row.plain_mb and row.probe_mb and row.eager_mb:
            memory = [f"{row.plain_mb:.0f}", f"{row.probe_mb / row.plain_mb:.2f}", f"{row.eager_mb / row.plain_mb:.2f}"]
        cells = [row.model, str(row.length), str(row.share), f"{row.plain_seconds:.2f}", f"{row.probe_over_plain:.3f}"]
        cells += [f"{row.eager_over_probe:.2f}", f"{row.literal_over_sums:,.0f}", *memory]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write(rows: list[Row], out: Path, turns: int, command: str) -> None:
    """Write `attention.json` and `attention.md`."""
    out.mkdir(parents=True, exist_ok=True)
    report = {
        "command": command,
        "batch_tokens": BATCH_TOKENS,
        "turns": turns,
        "versions": {package: version(package) for package in ("torch", "transformers", "numpy")},
        "rows": [asdict(row) for row in rows],
    }
    (out / "attention.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (out / "attention.md").write_text(markdown(rows, command), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    parser.add_argument("--memory", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.memory:
        way, name, length, share = arguments.memory
        measure_memory(way, name, int(length), float(share))
        return
    command = " ".join(["OMP_NUM_THREADS=1 python benchmarks/attention.py", *sys.argv[1:]])
    rows: list[Row] = []
    for name in arguments.sizes:
        for row in measure(name, arguments.turns, not arguments.no_memory):
            print(row, flush=True)
            rows.append(row)
            write(rows, arguments.out, arguments.turns, command)


if __name__ == "__main__":
    main()
