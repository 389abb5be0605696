"""`examples.json`: a few passages of a run with what every head attends to in them, to look at.

    corpus              name, license: whose text it is
    models              one each, of the pretrained weights:
        model, layers, heads, causal
        words           tokens; the numbers below are places in it
        read            number of passages that `pairs` come from
        pairs           by head, layer after layer: [query word, key word, mean attention, how often] of the pairs of
                        different words of one topic and of different topics with most attention
        passages        document (counted from 0), text, spans [start, end, word], attention
        snippets        topic, document, text, spans: of every topic, where most of its words stand together

Spans are counted in characters (code points). Attention is relative to the passage's average: 1 is the average. That of
a passage is one text: a character a number, layer by layer, head by head, query by query, key by key (see `coded`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from probe.errors import ProbeError

FILE = "examples.json"
FORMAT = 1
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
LOWEST, STEPS = -4, 4
"""A code c > 0 stands for 2 ** (LOWEST + (c - 1) / STEPS), from 1/16 to 2,896: right to 9 %. 0 is less, or none."""


def coded(relative: np.ndarray) -> str:
    """Attention as text, a character a number.

    Args:
        relative: attention relative to the average, of any shape; NaN where there is none.
    """
    values = np.nan_to_num(np.asarray(relative, dtype=float).ravel())
    with np.errstate(divide="ignore"):
        code = np.round(STEPS * (np.log2(values) - LOWEST)) + 1
    places = np.clip(np.where(code >= 1, code, 0), 0, len(ALPHABET) - 1).astype(int)
    return "".join(np.array(list(ALPHABET))[places])


def decoded(text: str) -> np.ndarray:
    """What `coded` wrote, to within its steps."""
    place = {letter: number for number, letter in enumerate(ALPHABET)}
    code = np.array([place[letter] for letter in text], dtype=float)
    return np.where(code > 0, 2 ** (LOWEST + (code - 1) / STEPS), 0.0)


def write_examples(folder: Path, examples: dict[str, Any]) -> None:
    """Write `examples.json`: the same examples give the same bytes."""
    text = json.dumps({"format": FORMAT, **examples}, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read_examples(folder: Path) -> dict[str, Any] | None:
    """Read `examples.json`; None where a run has none.

    Raises:
        ProbeError: it is damaged.
    """
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ProbeError(f"{path} cannot be read ({error}): repeat its run, or remove it.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ProbeError(f"{path} is not of this version of probe: repeat its run, or remove it.")
    return content
