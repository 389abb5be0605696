"""Probe language models for the topics of their corpus.

import probe

result = probe.run(model="minilm", theta=[0.001], passages=200)
print(result.tables["table1"])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError

if TYPE_CHECKING:
    from probe.api.running import run

__all__ = ["ProbeError", "run"]

# Imported when first asked for, so that importing probe takes no time.
_PLACES = {"run": "running"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'probe' has no attribute {name!r}")
    found = getattr(import_module(f"probe.api.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
