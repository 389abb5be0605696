"""Which passages are worth looking at, and which of their words are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probe.text.tokens import Tokens


@dataclass(frozen=True)
class Labels:
    """What is known of every word by its number (see `Tokens.words`).

    Attributes:
        topic: [words] the topic a word carries; -1 where it carries none.
        surface: [words] int, equal for words of one surface.
    """

    topic: np.ndarray
    surface: np.ndarray


@dataclass(frozen=True)
class Shown:
    """A passage and its words.

    Attributes:
        start, stop: where it lies in the corpus's tokens.
        document: of the corpus.
        places: [words] of the words that are shown, counted from the start.
        columns: [words] which of the passage's words that carry a topic they are.
        pairs: number of pairs of different shown words of one topic.
        topic: that most of them are of; -1 where there are none.
    """

    start: int
    stop: int
    document: int
    places: np.ndarray
    columns: np.ndarray
    pairs: int
    topic: int


def show(tokens: Tokens, start: int, stop: int, document: int, labels: Labels, most: int) -> Shown:
    """A passage with at most `most` of its words: first those whose topic another word shares, then in order.

    Args:
        tokens: the corpus.
        start, stop: of the passage.
        document: it belongs to.
        labels: of the words.
        most: words that are shown.
    """
    words = tokens.complete_words(start, stop)
    places = np.flatnonzero((words >= 0) & (labels.topic[words] >= 0))
    topic, surface = labels.topic[words[places]], labels.surface[words[places]]
    shared = np.array([len(np.unique(surface[topic == one])) > 1 for one in topic], dtype=bool)
    columns = np.sort(np.argsort(~shared, kind="stable")[:most])
    topic, surface = topic[columns], surface[columns]
    sizes = {int(one): len(np.unique(surface[topic == one])) for one in np.unique(topic)}
    pairs = sum(size * (size - 1) // 2 for size in sizes.values())
    main = max(sizes, key=lambda one: (sizes[one], -one), default=-1)
    return Shown(start, stop, document, places[columns], columns, pairs, main)


def choose(candidates: Sequence[Shown], number: int) -> list[int]:
    """Which passages are shown: those with most pairs of one topic, first of different topics and documents.

    Args:
        candidates: passages.
        number: how many are wanted.

    Returns:
        Places in `candidates`, in the order of the corpus; fewer where fewer have two words.
    """
    order = sorted(range(len(candidates)), key=lambda index: (-candidates[index].pairs, index))
    order = [index for index in order if len(candidates[index].places) > 1]
    chosen: list[int] = []
    for apart in (True, False):
        for index in order:
            if len(chosen) == number:
                break
            one = candidates[index]
            alike = any(candidates[c].topic == one.topic or candidates[c].document == one.document for c in chosen)
            if index not in chosen and not (apart and alike):
                chosen.append(index)
    return sorted(chosen)


def window(places: np.ndarray, kinds: np.ndarray, starts: np.ndarray, length: int, size: int) -> tuple[int, int]:
    """Where most different words stand together.

    Args:
        places: [words] ascending, of a topic's words in a passage.
        kinds: [words] int, equal for equal words.
        starts: where the window may start.
        length: of the passage.
        size: of the window.

    Returns:
        Its start and its end.
    """
    # A little of what goes before is shown, too.
    before = size // 6
    best, most = 0, -1
    for place in places:
        possible = starts[(starts <= place) & (starts >= place - before)]
        start = int(possible[0]) if len(possible) else int(place)
        inside = len(np.unique(kinds[(places >= start) & (places < start + size)]))
        if inside > most:
            best, most = start, inside
    return best, min(best + size, length)
