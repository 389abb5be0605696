"""What a run is given as objects, beside the settings that name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from probe.models.sources import ModelSource


@dataclass(frozen=True)
class Given:
    """Objects in place of names.

    Attributes:
        models: where the models come from that are objects, by the name that `RunSettings.model` has for them.
        corpus: texts, in any of the ways that `corpora.open_corpus` takes; None where `RunSettings.corpus` names them.
    """

    models: Mapping[str, ModelSource] = field(default_factory=dict)
    corpus: Any = None


NOTHING = Given()
