"""What the attention pass costs, as ratios to its peers in one run.

    OMP_NUM_THREADS=1 python benchmarks/attention.py [--turns N] [--out results/benchmarks]

Models have random weights and the sizes of BERT-base and of a 6-layer MiniLM; passages are random tokens, of which a
share carries topics at the widest of the paper's thetas. In turns, on the same batches:

- plain: the forward pass with transformers' own SDPA;
- probe: the forward pass with everything that the tables, nulls and intervals need;
- eager: `output_attentions=True` with the eager implementation, then the same sums of attention made of its maps;
- literal: a loop over layers, heads and pairs, for one head of one passage and one assignment, extrapolated to the
  batch and to three thetas in two assignments, against the vectorized sums for these alone.

Seconds are processor time of one thread; ratios are of medians. Peak memory is that of a process of its own for each
way, at the largest share, with batches of a run's default size. Extra memory is what a way takes beyond plain.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np
import torch
from common import (
    DICTIONARY,
    LENGTHS,
    SIZES,
    forward,
    in_turns,
    one_batch,
    parser,
    pass_reader,
    plain_module,
    processor_seconds,
    random_model,
    random_pairs,
    random_passages,
    random_topics,
    write,
)
from memory import forget_peak, peak_mb
from transformers import PreTrainedModel

from probe.experiment.settings import RunSettings
from probe.measures.batches import Batch
from probe.measures.pairs import TopicPairs, pair_states
from probe.models.eager import Map
from probe.models.families import family_of
from probe.models.loaded import LoadedModel, find_stack
from probe.topics.assignment import assign_topics, words_per_topic

BATCH_TOKENS = 1024
SHARES = (0.1, 0.2, 0.4)
WAYS = ("plain", "probe", "eager")
Hear = Callable[[int, Map], None]


@dataclass(frozen=True)
class EagerModel(LoadedModel):
    """A model in transformers' own hands, whose maps are held all at once."""

    @torch.inference_mode()
    def listen(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, on_attention: Hear, *_: object) -> None:
        output = self.module(input_ids, attention_mask=attention_mask, output_attentions=True)
        for layer, attention in enumerate(output.attentions):
            on_attention(layer, Map(self.module, attention))


@dataclass(frozen=True)
class NoModel(LoadedModel):
    """No model: one random map stands for those of all layers, so that the sums alone are timed."""

    def listen(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, on_attention: Hear, *_: object) -> None:
        del attention_mask
        for layer in range(self.layers):
            on_attention(layer, Map(self.module, random_map(len(input_ids), self.heads, input_ids.shape[1])))


@cache
def random_map(passages: int, heads: int, length: int) -> torch.Tensor:
    """One layer's attention, made once for each shape."""
    return torch.softmax(torch.randn(passages, heads, length, length), dim=-1)


def peer(kind: type[LoadedModel], module: PreTrainedModel) -> LoadedModel:
    """A BERT in transformers' own hands, to be listened to in another way."""
    config = module.config
    family = family_of(config)
    sizes = (config.num_hidden_layers, config.num_attention_heads, config.hidden_size)
    return kind("peer", "random", module, family, find_stack(module, family, "encoder"), *sizes, causal=False)


def reading(model: LoadedModel, pairs: TopicPairs, batch: Batch) -> Callable[[], None]:
    """One reader's work on a batch."""
    reader = pass_reader(model, pairs, len(batch.documents))
    return lambda: reader.read(batch)


def literal_seconds(model: LoadedModel, topic_word: np.ndarray, pairs: TopicPairs, batch: Batch) -> float:
    """Processor seconds of a loop over layers, heads and pairs, extrapolated from one head and one assignment."""
    length = int(batch.lengths[0])
    attention = np.random.default_rng(0).random((1, 1, length, length), dtype=np.float32)
    known = batch.words[0] >= 0
    words = np.full(length, -1)
    words[batch.rows[0][known]] = batch.words[0][known]
    assignment = assign_topics(topic_word, max(RunSettings.theta), "multiple")
    position = np.searchsorted(pairs.words, DICTIONARY[assignment.words])
    states = np.zeros((len(pairs), len(pairs)), dtype=np.uint8)
    states[np.ix_(position, position)] = pair_states(assignment, pairs.surface[position])
    sums = [0.0, 0.0]

    def loop() -> None:
        for layer, head in np.ndindex(attention.shape[:2]):
            for i in range(length):
                for j in range(length):
                    if words[i] >= 0 and words[j] >= 0 and (state := states[words[i], words[j]]):
                        sums[state - 1] += attention[layer, head, i, j] * length / 100

    maps = model.layers * model.heads * len(batch.documents)
    return processor_seconds(loop) * maps * 2 * len(RunSettings.theta)


def measure(name: str, turns: int) -> list[dict[str, object]]:
    """Seconds of all settings of one model."""
    random = np.random.default_rng(0)
    topic_word = random_topics(random)
    pairs = random_pairs(topic_word)
    three = random_pairs(topic_word, [words_per_topic(theta, len(DICTIONARY)) for theta in RunSettings.theta])
    model, plain = random_model(SIZES[name]), plain_module(SIZES[name])
    eager = peer(EagerModel, plain_module(SIZES[name], attention="eager"))
    none = peer(NoModel, plain)
    rows: list[dict[str, object]] = []
    for length, share in product(LENGTHS, SHARES):
        batch = one_batch(*random_passages(pairs.words, length, share, BATCH_TOKENS, random), pairs.words)
        seconds = in_turns(
            {
                "plain": partial(forward, plain, batch),
                "probe": reading(model, pairs, batch),
                "eager": reading(eager, pairs, batch),
                "sums": reading(none, three, batch),
            },
            turns,
        )
        row: dict[str, object] = {"model": name, "length": length, "share": share}
        row |= {f"{way}_seconds": taken for way, taken in seconds.items()}
        row["probe_over_plain"] = seconds["probe"] / seconds["plain"]
        row["eager_over_probe"] = seconds["eager"] / seconds["probe"]
        row["literal_over_sums"] = literal_seconds(model, topic_word, pairs, batch) / seconds["sums"]
        print(row, flush=True)
        rows.append(row)
    return rows


def measure_memory(name: str, length: int) -> dict[str, object]:
    """Peak memory of a process of its own for each way."""
    row: dict[str, object] = {"model": name, "length": length, "share": max(SHARES)}
    for way in WAYS:
        child = [sys.executable, __file__, "--memory", way, name, str(length)]
        row[f"{way}_mb"] = float(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
    print(row, flush=True)
    return row


def print_peak(way: str, name: str, length: int) -> None:
    """Print the peak memory of one way in this process, in MB."""
    random = np.random.default_rng(0)
    pairs = random_pairs(random_topics(random))
    passages = random_passages(pairs.words, length, max(SHARES), RunSettings.batch_tokens, random)
    batch = one_batch(*passages, pairs.words)
    if way == "plain":
        del pairs  # what a process without a probe would not hold
        work = partial(forward, plain_module(SIZES[name]), batch)
    elif way == "probe":
        work = reading(random_model(SIZES[name]), pairs, batch)
    else:
        work = reading(peer(EagerModel, plain_module(SIZES[name], attention="eager")), pairs, batch)
    forget_peak()
    for _ in range(2):
        work()
    print(peak_mb())


def main() -> None:
    command = parser(__doc__, turns=5)
    command.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    command.add_argument("--memory", nargs=3, help="print the peak memory of one way, model and length alone")
    arguments = command.parse_args()
    torch.set_num_threads(1)
    if arguments.memory:
        way, name, length = arguments.memory
        print_peak(way, name, int(length))
        return
    report: dict[str, object] = {"batch_tokens": BATCH_TOKENS, "turns": arguments.turns}
    report["rows"] = [row for name in arguments.sizes for row in measure(name, arguments.turns)]
    report["memory_batch_tokens"] = RunSettings.batch_tokens
    report["memory"] = [measure_memory(name, length) for name in arguments.sizes for length in LENGTHS]
    write(arguments.out, report)


if __name__ == "__main__":
    main()
