"""What every target shares: data, masking, folder, and when a run counts as failed.

All runs use section 6.1's data (T = v = 10, Dirichlet 0.1, lengths 100 to 150) and masking (0.15, 0.1, 0.1), 10,000
training documents, attention read on 1,000 others, and batches of 40. Whether a run failed, and whether its W^V
is of blocks or a diagonal, is decided by `failed` and `DIAGONAL` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from probe.experiment.progress import Progress
from probe.synthetic.measures import attention_by_class
from probe.synthetic.runs import Result, Training
from probe.synthetic.topic_model import Documents, MaskedDocuments, Masking, TopicModel, mask_documents
from probe.synthetic.training import train
from probe.synthetic.transformer import Architecture, Initialization

Numbers = NDArray[np.float64]
Cells = dict[str, object]

DIAGONAL = 0.5
"""Diagonal score from which W^V counts as a diagonal; below it counts as blocks (Tables 3 and 4)."""

FAILED = 0.5
"""Nats above the lowest development loss of its table from which a run counts as failed."""

NEAR_ZERO = Initialization(scale=0.001)
ONE_HOT = Architecture()
ATTENTION_WITHOUT_BIASES = Architecture(biases=False)
SMALL = TopicModel(topics=4, words_per_topic=4)


@dataclass(frozen=True)
class Setting:
    """What every target shares.

    Attributes:
        out: Folder of the files.
        progress: Is told what is under way.
        share: Share of each target's steps and documents that is taken; 1 is what is reported.
    """

    out: Path
    progress: Progress
    share: float = 1.0

    model = TopicModel()
    masking = Masking()

    def documents(self, model: TopicModel) -> Documents:
        """Training documents."""
        return model.sample(max(100, round(10_000 * self.share)), random_state=0)

    def development(self, model: TopicModel) -> Documents:
        """Documents of the development loss."""
        return model.sample(400, random_state=1)

    @cached_property
    def read(self) -> MaskedDocuments:
        """Masked documents on which attention is read."""
        return mask_documents(self.model.sample(1000, random_state=2), self.masking, 2)

    def train(
        self,
        name: str,
        architecture: Architecture,
        training: Training,
        start: Initialization,
        model: TopicModel | None = None,
    ) -> Result:
        """Train runs under a line of progress."""
        steps = max(2, round(training.steps * self.share))
        training = replace(training, steps=steps, evaluate_every=max(1, steps // 5), stage_steps=max(1, steps // 2))
        with self.progress.stage(f"{name}: {len(training.runs)} runs", steps) as stage:
            model = model or self.model
            return train(
                model,
                self.masking,
                architecture,
                training,
                self.documents(model),
                self.development(model),
                start,
                progress=stage.at,
            )

    def attention(self, result: Result, labels: NDArray[np.int64] | None = None) -> Numbers:
        """Means by class of pair, [runs, 3]."""
        labels = self.model.topic_of_token if labels is None else labels
        return attention_by_class(result.architecture, result.parameters, self.read, labels).means

    @property
    def labels_by_token_id(self) -> NDArray[np.int64]:
        """Topics as the paper's released code looks them up: by token id, where word w has id w + 3 and [MASK] 1."""
        size = self.model.vocabulary
        ids = np.concatenate([[1], np.arange(1, size) + 3])
        return np.where(ids < size - 1, ids // self.model.words_per_topic, -1)


def failed(losses: Sequence[float] | Numbers) -> NDArray[np.bool_]:
    """Which runs failed: development loss `FAILED` nats or more above the lowest of the table, or infinite."""
    losses = np.asarray(losses, dtype=float)
    return ~(losses < losses.min() + FAILED)
