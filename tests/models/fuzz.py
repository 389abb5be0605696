"""Seeded random faults in the config or the tokenizer of a small model, and what a run makes of them."""

import copy
import json
import math
import os
import random
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from probe.errors import ProbeError
from probe.experiment.run import run_experiment
from probe.experiment.settings import RunSettings
from probe.topics.settings import LdaSettings

CONFIG, TOKENIZER, TOKENIZER_CONFIG = "config.json", "tokenizer.json", "tokenizer_config.json"
WHOLE = [0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 900, 3000, -1, -3, 10**12, 2**31, 2**63]
PARTS = [0.0, 1.0, 2.0, 0.1, -0.5, 1e-30, 1e300, math.nan, math.inf]
NAMES = ["", "2", "0.1", "gelu", "relu", "silu", "eager", "flash_attention_2", "[/bold]", "\u0000"]
WRONG = [
    None, True, False, *WHOLE, *PARTS, *NAMES, [], [1], [1, 2], [[]], {}, {"a": 1}, {"0": [1]}, ["a", None],
]  # fmt: skip
TYPES = ["bert", "gpt2", "t5", "llama", "mamba", "vit", "clip", "nothing", "roberta", "longformer", "xlnet", "gemma3"]
UNKNOWN = ["pruned_heads", "quantization_config", "auto_map", "rope_scaling", "text_config", "per_layer_config", "kind"]
NO_OBJECT = [b"", b"{", b"[]", b"3", b'"config"', b"null", b"\xff\xfe\x00", b"[" * 100_000, b'{"model_type": ["bert"]}']


def damaged_config(whole: dict, draw: random.Random) -> bytes:
    """A config with one to three faults: types, sizes, missing and unknown keys."""
    if draw.random() < 0.03:
        return draw.choice(NO_OBJECT)
    config = copy.deepcopy(whole)
    for _ in range(draw.randint(1, 3)):
        key = draw.choice([*whole, *whole, *UNKNOWN, "model_type"])
        value = whole.get(key)
        kind = draw.random()
        if kind < 0.15:
            config.pop(key, None)
        elif key == "model_type":
            config[key] = draw.choice(TYPES)
        else:
            config[key] = _wrong(value, draw)
    return json.dumps(config).encode()


def _wrong(value: object, draw: random.Random) -> object:
    """Something in the place of a value, mostly of its type, so that it gets beyond the first check."""
    same = {bool: [True, False], int: WHOLE, float: PARTS, str: NAMES}.get(type(value), WRONG)
    return draw.choice(same if draw.random() < 0.7 else WRONG)


def _places(tree: object) -> list[tuple]:
    """Where something stands in a tree of JSON: its holder and key; of a vocabulary a few entries only."""
    entries = list(tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ())
    found = []
    for key, value in entries[:20]:
        found += [(tree, key), *_places(value)]
    return found


def damaged_tokenizer(whole: dict[str, bytes], draw: random.Random) -> dict[str, bytes]:
    """The files of a tokenizer with one to three faults, in their JSON or in their bytes."""
    files = dict(whole)
    name = draw.choice([TOKENIZER, TOKENIZER, TOKENIZER, TOKENIZER_CONFIG])
    if draw.random() < 0.15:
        start = draw.randrange(len(files[name]))
        files[name] = draw.choice([files[name][:start], files[name][:start] + b"\x00}" + files[name][start + 3 :], b""])
        return files
    tree = json.loads(files[name])
    for _ in range(draw.randint(1, 3)):
        holder, key = draw.choice(_places(tree) or [({}, "")])
        if isinstance(holder, dict) and draw.random() < 0.25:
            holder.pop(key, None)
        elif isinstance(holder, dict) or key < len(holder):
            holder[key] = _wrong(holder.get(key) if isinstance(holder, dict) else holder[key], draw)
    return files | {name: json.dumps(tree).encode()}


def outcome(model: Path, corpus: Path, cache: Path, baseline: bool) -> str:
    """What a run of a model ends in: "number", or the sentence of its refusal.

    Raises:
        AssertionError: the sentence is none, or a ratio is missing without a note.
    """
    settings = RunSettings(
        model=(str(model),), corpus=str(corpus), theta=(0.05,), passages=20, max_length=32, resamples=20,
        lda=LdaSettings(topics=4, passes=1, chunksize=16, iterations=10), device="cpu", baseline=baseline,
    )  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measures = run_experiment(settings, write=False, cache=cache).tables["measures"]
    except ProbeError as error:
        sentence = str(error)
        assert "\n" not in sentence and sentence.endswith((".", "?")) and len(sentence) < 1000, sentence
        return sentence
    assert (np.isfinite(measures["ratio"]) | (measures["note"] != "")).all(), measures
    return "number"


def fuzz(kind: str, cases: int, models: list[Path], corpus: Path, folder: Path, first: int = 0) -> Counter[str]:
    """Run damaged copies of models; how often each ended in a number and in a sentence.

    Args:
        kind: "config" or "tokenizer".
        cases: how many; each has its number as its seed.
        models: whole ones.
        corpus: what they read.
        folder: for the copies.
        first: the first seed.

    Raises:
        AssertionError: a case ended otherwise; it names the seed.
    """
    counts: Counter[str] = Counter()
    for seed in range(first, first + cases):
        draw = random.Random(f"{kind} {seed}")
        whole = models[seed % len(models)]
        copied = folder / f"{kind}-{seed}"
        copied.mkdir()
        files = {path.name: path.read_bytes() for path in whole.iterdir() if path.suffix == ".json"}
        if kind == "config":
            files[CONFIG] = damaged_config(json.loads(files[CONFIG]), draw)
        else:
            files |= damaged_tokenizer({name: files[name] for name in (TOKENIZER, TOKENIZER_CONFIG)}, draw)
        for name, content in files.items():
            (copied / name).write_bytes(content)
        os.link(whole / "model.safetensors", copied / "model.safetensors")
        try:
            found = outcome(copied, corpus, folder / "cache", baseline=draw.random() < 0.2)
        except BaseException as error:
            raise AssertionError(f"{kind} {seed} of {whole.name}: {type(error).__name__}: {error}") from error
        counts["a number" if found == "number" else "a sentence"] += 1
    return counts
