"""What the benchmarks share: models, passages, clocks, and how results are written."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, BertConfig, PreTrainedModel

from probe.experiment.context import begin
from probe.experiment.plan import Plan, asked_sizes, plan_pass
from probe.experiment.settings import RunSettings
from probe.experiment.text import open_text, tokenize_corpus
from probe.experiment.topics import Topics, fit_topics
from probe.measures.batches import Batch, BatchMaker
from probe.measures.cooccurring import TopPairs
from probe.measures.pairs import TopicPairs, topic_pairs
from probe.measures.protocol import Probed
from probe.measures.reading import PassReader
from probe.measures.registry import find_measures
from probe.models.loaded import LoadedModel
from probe.models.loading import load_model
from probe.models.sources import find_model
from probe.text.passages import Passages, SpecialTokens
from probe.text.tokens import Tokens
from probe.text.vocabulary import Vocabulary

VOCABULARY = 30_522
SIZES = {
    "BERT-base": BertConfig(vocab_size=VOCABULARY),
    "MiniLM": BertConfig(
        vocab_size=VOCABULARY, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    ),
}
LENGTHS = (128, 512)
# Of a vocabulary as large as the paper's, so that its thetas keep 15, 30 and 59 words a topic.
DICTIONARY = np.arange(VOCABULARY - 29_400, VOCABULARY)
_TOPICS = 100


def random_model(config: BertConfig, dtype: str = "float32") -> LoadedModel:
    """A model with random weights, as `probe` loads its baseline."""
    with TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        return load_model(find_model(folder), "random", dtype=dtype)


def plain_module(config: BertConfig, dtype: str = "float32", attention: str = "sdpa") -> PreTrainedModel:
    """The same weights as those of `random_model`, as transformers alone makes and runs them."""
    torch.manual_seed(0)
    # Of a copy, since a module writes its attention into its config.
    module = AutoModel.from_config(deepcopy(config), dtype=torch.float32, attn_implementation=attention)
    return module.to(getattr(torch, dtype)).eval()


def random_topics(random: np.random.Generator) -> np.ndarray:
    """[topics, n] p(w | t): frequent words are likely in several topics."""
    weights = 1 / (np.arange(len(DICTIONARY)) + 100.0) ** 1.2
    topic_word = weights * np.exp(random.gumbel(size=(_TOPICS, len(DICTIONARY))))
    return topic_word / topic_word.sum(axis=1, keepdims=True)


def random_pairs(
    topic_word: np.ndarray, sizes: list[int] | None = None, more_words: Collection[int] = ()
) -> TopicPairs:
    """Pairs for all numbers of words per topic that a run of the paper's thetas makes its pass for, or for `sizes`."""
    flags = np.ones(VOCABULARY, dtype=bool)
    vocabulary = Vocabulary([], [str(index) for index in range(VOCABULARY)], flags, flags, ~flags, "")
    sizes = sizes or asked_sizes(RunSettings.theta, len(DICTIONARY))
    return topic_pairs([topic_word], sizes, DICTIONARY, vocabulary, more_words)


def random_passages(
    words: np.ndarray, length: int, share: float, batch_tokens: int, random: np.random.Generator
) -> tuple[Tokens, Passages]:
    """A batch of passages of nearly one length, as they are packed; a share of their tokens are among the words."""
    size = batch_tokens // length
    lengths = random.integers(length * 15 // 16, length + 1, size=size) - 2
    lengths[0] = length - 2
    offsets = np.cumsum([0, *lengths])
    ids = random.choice(np.setdiff1d(DICTIONARY, words), size=offsets[-1]).astype(np.int32)
    carries = random.random(offsets[-1]) < share
    ids[carries] = random.choice(words, size=carries.sum())
    tokens = Tokens(ids, np.ones(len(ids), dtype=bool), offsets, np.arange(size))
    return tokens, Passages(offsets[:-1], offsets[1:], np.arange(size))


def one_batch(tokens: Tokens, passages: Passages, words: np.ndarray) -> Batch:
    """All passages as one batch."""
    maker = BatchMaker(tokens, passages, SpecialTokens((101,), (102,), 0), words, VOCABULARY)
    return maker(np.arange(len(passages)))


def pass_reader(model: LoadedModel, pairs: TopicPairs, documents: int) -> PassReader:
    """What a run reads with: all measures of the package."""
    none = np.zeros(0, dtype=np.int64)
    return PassReader(model, find_measures(), Probed(pairs, TopPairs(none, none, none), documents))


def sample_plan(cache: Path, **settings: Any) -> tuple[Topics, Plan]:
    """What a run makes of the Wikipedia sample before its pass, with the tokenizer of minilm."""
    context = begin(RunSettings(**settings), cache)
    opened = open_text(context)
    text = tokenize_corpus(find_model("minilm"), opened, context)
    assert text is not None  # as on every rank 0
    topics = fit_topics(text, opened.corpus, context)
    return topics, plan_pass(topics, asked_sizes(context.settings.theta, len(topics.bags.words)), context)


@torch.inference_mode()
def forward(module: PreTrainedModel, batch: Batch) -> None:
    """The plain forward pass."""
    module(batch.input_ids, attention_mask=batch.attention_mask)


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of this process and of the children that it waits for, so that other work does not count."""
    start = _processor_time()
    work()
    return _processor_time() - start


def _processor_time() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def in_turns(ways: Mapping[str, Callable[[], object]], turns: int, warm_up: bool = True) -> dict[str, float]:
    """Median processor seconds of each way; all are taken in turns, and one turn before the first warms up."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(turns + warm_up):
        for way, work in ways.items():
            taken = processor_seconds(work)
            if turn >= warm_up:
                seconds[way].append(taken)
    return {way: median(taken) for way, taken in seconds.items()}


def parser(description: str | None, turns: int) -> argparse.ArgumentParser:
    """The arguments that all benchmarks have."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--turns", type=int, default=turns)
    found.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    return found


def write(out: Path, report: Mapping[str, Any]) -> None:
    """Write a benchmark's JSON file, with its command and machine."""
    script = Path(sys.argv[0])
    head = {"command": shlex.join(["python", f"benchmarks/{script.name}", *sys.argv[1:]]), "machine": _machine()}
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{script.stem}.json").write_text(json.dumps(head | dict(report), indent=1) + "\n", encoding="utf-8")


def _machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    packages = ("torch", "transformers", "numpy", "gensim")
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "versions": {package: version(package) for package in packages},
    }
