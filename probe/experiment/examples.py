"""A stage beside the estimates: a few passages with what every head attends to in them, to be looked at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.experiment.choosing import Labels, Shown, choose, show, window
from probe.experiment.context import Context, versions
from probe.experiment.plan import Plan
from probe.experiment.topics import Topics
from probe.measures.batches import BatchMaker
from probe.models.borrowing import borrowed
from probe.models.loading import load_model, load_tokenizer
from probe.models.sources import ModelSource
from probe.results.examples import FILE, coded
from probe.text.passages import Passages, cut_passages, pack
from probe.text.spelling import spell
from probe.text.tokens import Tokens
from probe.text.vocabulary import CONTINUES
from probe.topics.assignment import Assignment

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from probe.models.loaded import LoadedModel

# Passages that the pairs of a head come from: a twentieth of the default run's.
_READ = 32
# Passages that are looked through for those worth showing, and for the snippets.
_LOOKED_THROUGH, _LOOKED_THROUGH_FOR_TOPICS = 2_000, 50_000
# Pairs of one topic and of different topics that are kept of a head.
_PAIRS = 6
_SNIPPET = 40
# Numbers of attention that are kept of a model; they decide how many words of a passage are shown.
_NUMBERS = 200_000
_FEWEST, _MOST = 6, 20
_FORMAT = 1
_PACKAGES = ("numpy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class _Choice:
    """What is read.

    Attributes:
        passages: those that are shown come first.
        shown: how many.
        labels: of the words.
        most: words of a passage.
    """

    passages: list[Shown]
    shown: int
    labels: Labels
    most: int


def keep_examples(source: ModelSource, topics: Topics, plan: Plan, shape: tuple[int, int], context: Context) -> Any:
    """Passages of a model with its attention, for `examples.json` (see `probe.results.examples`).

    Args:
        source: the model; its pretrained weights are read.
        topics: of the corpus.
        plan: of its pass.
        shape: its layers and heads.
        context: of the run.
    """
    settings = context.settings
    key = {
        "format": _FORMAT,
        "topics": topics.key,
        "theta": max(settings.theta),
        "examples": settings.examples,
        "seed": settings.seed,
        "passages": settings.passages,
        "held_out": settings.held_out,
        "max_length": settings.max_length,
        "batch_tokens": settings.batch_tokens,
        "model": source.computed_by,
        "attention": settings.attention,
        "device": context.device.split(":")[0],
        "dtype": context.dtype,
        "versions": versions(_PACKAGES),
    }

    def write(folder: Path) -> None:
        with context.progress.stage(f"Reading examples of {source.name}"):
            found = _examples(source, topics, plan, shape, context)
        (folder / FILE).write_text(json.dumps(found), encoding="utf-8")

    with context.timed("examples"):
        folder, _ = context.cache.make("examples", key, write)
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return {"model": source.name, **found}


def _examples(source: ModelSource, topics: Topics, plan: Plan, shape: tuple[int, int], context: Context) -> Any:
    settings, text = context.settings, topics.text
    widest = max(settings.theta)
    assignment = next(one for one in topics.assignments if (one.theta, one.kind) == (widest, "single"))
    choice = _choose(assignment, topics, plan.batch_maker.passages, shape, context)
    with borrowed(source):
        model = load_model(
            source, attention=settings.attention, device=context.device, dtype=context.dtype, random_state=settings.seed
        )
        maps = _read(model, choice, topics, settings.batch_tokens)
    tokenizer, words = load_tokenizer(source), _Words(text.words.tokens)
    passages = []
    for one, attention in zip(choice.passages[: choice.shown], maps, strict=False):
        size = len(one.places)
        spelled = _spelled(text.tokens, one.start, one.stop, one.places, tokenizer, words)
        relative = attention[:, :, :size, :size] * 100
        passages.append({"document": one.document, **spelled, "attention": coded(relative)})
    return {
        "layers": model.layers,
        "heads": model.heads,
        "causal": model.causal,
        "read": len(choice.passages),
        "passages": passages,
        "pairs": _pairs(maps, choice, topics, words),
        "snippets": _snippets(assignment, topics, choice.labels, context, tokenizer, words),
        "words": words.tokens,
    }


class _Words:
    """Words in the order in which they are first asked for."""

    def __init__(self, vocabulary: Sequence[str]):
        self.tokens: list[str] = []
        self._vocabulary = vocabulary
        self._number: dict[int, int] = {}

    def __call__(self, word: int) -> int:
        if word not in self._number:
            self._number[word] = len(self.tokens)
            self.tokens.append(self._vocabulary[word])
        return self._number[word]


def _choose(
    assignment: Assignment, topics: Topics, passages: Passages, shape: tuple[int, int], context: Context
) -> _Choice:
    settings, text = context.settings, topics.text
    topic = np.full(len(text.words), -1)
    topic[topics.bags.words[assignment.words]] = assignment.member.argmax(axis=0)
    labels = Labels(topic, np.unique(text.words.surfaces, return_inverse=True)[1])
    numbers = shape[0] * shape[1] * settings.examples
    most = int(np.clip(np.sqrt(_NUMBERS / numbers), _FEWEST, _MOST))
    candidates = [
        show(text.tokens, int(passages.start[i]), int(passages.stop[i]), int(passages.document[i]), labels, most)
        for i in range(min(len(passages), _LOOKED_THROUGH))
    ]
    chosen = choose(candidates, settings.examples)
    others = np.random.default_rng(settings.seed).permutation(len(candidates)).tolist()
    others = [index for index in others if index not in chosen and len(candidates[index].places) > 1]
    read = [*chosen, *others[: max(0, _READ - len(chosen))]]
    return _Choice([candidates[index] for index in read], len(chosen), labels, most)


def _read(model: LoadedModel, choice: _Choice, topics: Topics, batch_tokens: int) -> np.ndarray:
    """[passages, layers, heads, most, most] attention; 1/100 is the average."""
    from probe.measures.between import attention_between

    maps = np.full((len(choice.passages), model.layers, model.heads, choice.most, choice.most), np.nan, np.float32)
    if not choice.passages:
        return maps
    start, stop, document = (
        np.array([getattr(one, name) for one in choice.passages]) for name in ("start", "stop", "document")
    )
    text, carrying = topics.text, np.flatnonzero(choice.labels.topic >= 0)
    maker = BatchMaker(text.tokens, Passages(start, stop, document), text.specials, carrying, len(text.words))
    maker = maker.on(model.device)
    columns = np.full((len(start), choice.most), -1)
    for row, one in enumerate(choice.passages):
        columns[row, : len(one.columns)] = one.columns
    for batch in pack(maker.lengths, batch_tokens):
        maps[batch] = attention_between(model, maker(batch), columns[batch])
    return maps


def _pairs(maps: np.ndarray, choice: _Choice, topics: Topics, words: _Words) -> list[list[list[float]]]:
    """By head, the pairs with the highest mean attention: first those of one topic, then of different topics."""
    ids, values = [], []
    for one, attention in zip(choice.passages, maps, strict=True):
        here = topics.text.tokens.words(one.start, one.stop)[one.places].astype(np.int64)
        size = len(here)
        first, second = np.repeat(here, size), np.tile(here, size)
        found = attention[:, :, :size, :size].reshape(*attention.shape[:2], -1)
        counted = np.isfinite(found[0, 0]) & (choice.labels.surface[first] != choice.labels.surface[second])
        ids.append(np.stack([first, second], axis=1)[counted])
        values.append(found[..., counted] * 100)
    layers, heads = maps.shape[1:3]
    if not ids or not sum(map(len, ids)):
        return [[] for _ in range(layers * heads)]
    pairs, place = np.unique(np.concatenate(ids), axis=0, return_inverse=True)
    of_heads = np.concatenate(values, axis=-1).reshape(layers * heads, -1)
    counts = np.bincount(place.ravel())
    topic = choice.labels.topic[pairs]
    alike = topic[:, 0] == topic[:, 1]
    kept = []
    for head in of_heads:
        means = np.bincount(place.ravel(), head) / counts
        order = np.argsort(-means, kind="stable")
        best = [index for kind in (alike, ~alike) for index in order[kind[order]][:_PAIRS]]
        kept.append([[*map(words, pairs[i].tolist()), round(float(means[i]), 2), int(counts[i])] for i in best])
    return kept


def _snippets(
    assignment: Assignment,
    topics: Topics,
    labels: Labels,
    context: Context,
    tokenizer: PreTrainedTokenizerFast,
    words: _Words,
) -> list[dict[str, Any]]:
    """Of every topic the passage with most of its words, cut to where they stand together."""
    tokens = topics.text.tokens
    passages = cut_passages(tokens, context.settings.max_length, len(topics.text.specials))
    counts = topics.bags.counts[:_LOOKED_THROUGH_FOR_TOPICS]
    present = np.asarray((counts[:, assignment.words] > 0).astype(np.int32) @ assignment.member.T.astype(np.int32))
    found = []
    for topic, best in enumerate(present.argmax(axis=0)):
        start, stop = int(passages.start[best]), int(passages.stop[best])
        here = tokens.complete_words(start, stop)
        places = np.flatnonzero((here >= 0) & (labels.topic[here] == topic))
        if not len(places):
            continue
        kinds = labels.surface[here[places]]
        first, last = window(places, kinds, np.flatnonzero(here >= 0), len(here), _SNIPPET)
        part = tokens.complete_words(start + first, start + last)
        inside = np.flatnonzero((part >= 0) & (labels.topic[part] == topic))
        spelled = _spelled(tokens, start + first, start + last, inside, tokenizer, words)
        found.append({"topic": topic, "document": int(passages.document[best]), **spelled})
    return found


def _spelled(
    tokens: Tokens, start: int, stop: int, places: np.ndarray, tokenizer: PreTrainedTokenizerFast, words: _Words
) -> dict[str, Any]:
    """The text of some tokens, and where the words at some places stand in it."""
    text, spans = spell(tokens.ids[start:stop].tolist(), tokenizer)
    here = tokens.words(start, stop)
    found = []
    for place in places:
        last = place
        while last + 1 < len(here) and here[last + 1] == CONTINUES:
            last += 1
        found.append([spans[place][0], spans[last][1], words(int(here[place]))])
    return {"text": text, "spans": found}
