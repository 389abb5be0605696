"""Tokens as the text they spell, and where each stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_BROKEN = "�"


def spell(ids: Sequence[int], tokenizer: PreTrainedTokenizerFast) -> tuple[str, list[tuple[int, int]]]:
    """The text that tokens spell.

    Args:
        ids: of a passage, without special tokens.
        tokenizer: that made them.

    Returns:
        The text, and for each token the characters (code points) that it adds, start and end, white space set aside.
        Of several tokens that spell one character together, the last has it.
    """
    text = ""
    spans = []
    for end in range(1, len(ids) + 1):
        longer = tokenizer.decode(list(ids[:end]), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        # Half a character is shown by a placeholder until its other half comes.
        if longer.endswith(_BROKEN) and end < len(ids):
            spans.append((len(text), len(text)))
            continue
        kept = len(text) if longer.startswith(text) else _common(text, longer)
        added = longer[kept:]
        start = kept + len(added) - len(added.lstrip())
        spans.append((start, max(start, kept + len(added.rstrip()))))
        text = longer
    return text, spans


def _common(one: str, other: str) -> int:
    """Length of what two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
