"""Probe language models for the topics of their corpus.

import probe

result = probe.run(model="minilm", theta=[0.001], passages=200)
print(result)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError

if TYPE_CHECKING:
    from probe.api.measuring import measure, random_baseline
    from probe.api.results import compare, load
    from probe.api.running import run
    from probe.api.topics import assign_topics, fit_topics

__all__ = ["ProbeError", "assign_topics", "compare", "fit_topics", "load", "measure", "random_baseline", "run"]

# Imported when first asked for, so that importing probe takes no time.
_PLACES = {
    "assign_topics": "topics",
    "compare": "results",
    "fit_topics": "topics",
    "load": "results",
    "measure": "measuring",
    "random_baseline": "measuring",
    "run": "running",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'probe' has no attribute {name!r}")
    found = getattr(import_module(f"probe.api.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
