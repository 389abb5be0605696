"""Documents cut into passages, sampled, and packed by length.

A passage is what the transformer reads at once: consecutive tokens of one document, at most `max_length` with
the special tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from probe.errors import ProbeError
from probe.text.tokens import Tokens

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

HELD_OUT_EVERY = 50
"""`probe pretrain` keeps one document in so many out of training."""


@dataclass(frozen=True)
class SpecialTokens:
    """The ids a model expects around a passage (BERT: [CLS] before, [SEP] after), and its padding id."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    padding: int

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


def special_tokens(tokenizer: PreTrainedTokenizerFast) -> SpecialTokens:
    """Find which special tokens a tokenizer puts around one text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    start = next(i for i in range(len(full) - len(bare) + 1) if full[i : i + len(bare)] == bare)
    padding = tokenizer.pad_token_id
    return SpecialTokens(
        before=tuple(full[:start]),
        after=tuple(full[start + len(bare) :]),
        # Padding is never attended to, so any id serves a tokenizer that has none (GPT-2).
        padding=padding if padding is not None else 0,
    )


@dataclass(frozen=True)
class Passages:
    """Where each passage lies in the corpus's tokens.

    Attributes:
        start, stop: [passages] int64, positions in `Tokens.ids`, without special tokens.
        document: [passages] int64, equal for passages of one document.
    """

    start: np.ndarray
    stop: np.ndarray
    document: np.ndarray

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, chosen: np.ndarray) -> Passages:
        return Passages(self.start[chosen], self.stop[chosen], self.document[chosen])


def cut_passages(tokens: Tokens, max_length: int, specials: int) -> Passages:
    """Cut every document into consecutive passages.

    Args:
        tokens: the corpus.
        max_length: tokens of a passage at most, special tokens included.
        specials: number of special tokens around a passage.

    Raises:
        ProbeError: `max_length` leaves no room for text.
    """
    body = max_length - specials
    if body < 2:
        raise ProbeError(
            f"--max-length {max_length} leaves room for fewer than two tokens of text beside {specials} special "
            f"tokens: use at least {specials + 2}."
        )
    lengths = np.diff(tokens.offsets)
    counts = -(-lengths // body)
    document = np.repeat(np.arange(len(lengths)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    start = tokens.offsets[document] + within * body
    stop = np.minimum(start + body, tokens.offsets[document + 1])
    return Passages(start, stop, tokens.whole[document])


def held_out(passages: Passages) -> np.ndarray:
    """Which passages are of documents that `probe pretrain` does not train on: [passages] booleans."""
    return passages.document % HELD_OUT_EVERY == 0


def sample_passages(passages: Passages, size: int, random_state: int) -> Passages:
    """Draw `size` passages without replacement, kept in corpus order; all of them where there are fewer."""
    if size >= len(passages):
        return passages
    chosen = np.random.default_rng(random_state).choice(len(passages), size, replace=False)
    return passages[np.sort(chosen)]


def pack(lengths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Group passages of like length, so that a padded batch holds at most `batch_tokens` tokens.

    A batch takes no passage that is shorter than its longest by more than a sixteenth, which keeps padding under
    3 % of all tokens. The longest come first: what does not fit in memory fails at once.

    Args:
        lengths: [passages] tokens a passage, special tokens included.
        batch_tokens: budget of a padded batch; a longer passage makes a batch of its own.

    Returns:
        Batches of passage indices.
    """
    order = np.lexsort((np.arange(len(lengths)), -lengths))
    batches: list[np.ndarray] = []
    sorted_lengths = -lengths[order]
    first = 0
    while first < len(order):
        longest = int(lengths[order[first]])
        alike = int(np.searchsorted(sorted_lengths, -longest * 15 / 16, side="right"))
        last = min(alike, first + max(1, batch_tokens // longest))
        batches.append(order[first:last])
        first = last
    return batches


def padding_share(lengths: np.ndarray, batches: Sequence[np.ndarray]) -> float:
    """Share of padding among all tokens that the model reads."""
    read = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - float(lengths.sum()) / read if read else 0.0
