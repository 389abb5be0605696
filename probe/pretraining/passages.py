"""The passages a model is trained on, in an order that depends on the seed and the step alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from probe.errors import ProbeError
from probe.text.passages import Passages, SpecialTokens, cut_passages, held_out
from probe.text.tokens import Tokens


@dataclass(frozen=True)
class TrainingPassages:
    """Passages of one document each, as padded batches.

    Attributes:
        tokens: the corpus.
        passages: where the passages lie.
        specials: around every passage.
        seed: of the order; every epoch has its own.
    """

    tokens: Tokens
    passages: Passages
    specials: SpecialTokens
    seed: int

    def batch(self, step: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The batch of a step, counted from 0.

        Args:
            step: the step.
            size: passages of a batch.

        Returns:
            [size, length] token ids and attention mask, both int64.
        """
        epoch, within = np.divmod(np.arange(step * size, (step + 1) * size), len(self.passages))
        orders = {
            number: np.random.default_rng([self.seed, number]).permutation(len(self.passages))
            for number in range(int(epoch[0]), int(epoch[-1]) + 1)
        }
        return self.read(np.array([orders[number][place] for number, place in zip(epoch, within, strict=True)]))

    def read(self, chosen: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Some passages by index, padded to the longest: [passages, length] token ids and attention mask."""
        before, after = np.array(self.specials.before), np.array(self.specials.after)
        texts = [self.tokens.ids[self.passages.start[at] : self.passages.stop[at]] for at in chosen]
        lengths = np.array([len(text) for text in texts]) + len(self.specials)
        filled = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(filled.shape, self.specials.padding, dtype=np.int64)
        ids[filled] = np.concatenate([part for text in texts for part in (before, text, after)])
        return torch.from_numpy(ids), torch.from_numpy(filled.astype(np.int64))


def split_passages(
    tokens: Tokens, specials: SpecialTokens, max_length: int, seed: int
) -> tuple[TrainingPassages, TrainingPassages]:
    """Cut a corpus into passages to train on and passages of held-out documents.

    Args:
        tokens: the corpus.
        specials: around every passage.
        max_length: tokens of a passage at most, special tokens included.
        seed: of the order.

    Raises:
        ProbeError: the corpus holds one document.
    """
    passages = cut_passages(tokens, max_length, len(specials))
    kept_out = held_out(passages)
    if kept_out.all():
        raise ProbeError(
            "The corpus holds one document, and some are kept out of training: give a corpus of several "
            "(a folder of .txt files, or a .jsonl with a document a line)."
        )
    return (
        TrainingPassages(tokens, passages[np.flatnonzero(~kept_out)], specials, seed),
        TrainingPassages(tokens, passages[np.flatnonzero(kept_out)], specials, seed),
    )
