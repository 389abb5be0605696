"""Which measures there are: those of the package, those that other packages announce, and files of the user's own."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from probe.errors import ProbeError
from probe.measures.protocol import Measure

BUILT_IN = {
    "embeddings": "probe.measures.embeddings:Embeddings",
    "attention": "probe.measures.attention:Attention",
    "cooccurrence": "probe.measures.cooccurrence:Cooccurrence",
}
ENTRY_POINTS = "probe.measures"
"""The group of entry points in which a distribution announces its measures."""


def find_measures(more: Iterable[str] = ()) -> list[Measure]:
    """The measures of the package, and more by name.

    Args:
        more: names that an installed distribution announces, or `MODULE:CLASS`, or `FILE.py:CLASS`.

    Raises:
        ProbeError: there is no such measure, or two have one name.
    """
    found = [_loaded(place, place) for place in BUILT_IN.values()]
    announced = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}
    for name in more:
        if name not in announced and ":" not in name:
            near = difflib.get_close_matches(name, announced, n=1)
            hint = f"did you mean {near[0]}?" if near else "name it as FILE.py:CLASS or MODULE:CLASS."
            raise ProbeError(f"There is no measure {name}; {hint}")
        found.append(_loaded(name, announced.get(name, name)))
    names = [measure.name for measure in found]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ProbeError(f"Two measures have the name {doubled.pop()}: give each a name of its own.")
    return found


def identity(measure: Measure) -> str:
    """What decides a measure's sums besides this package: the text of its file, where it comes from elsewhere."""
    if type(measure).__module__ in {place.split(":")[0] for place in BUILT_IN.values()}:
        return measure.name
    return hashlib.sha256(Path(inspect.getfile(type(measure))).read_bytes()).hexdigest()[:32]


def _loaded(name: str, place: str) -> Measure:
    module, _, attribute = place.rpartition(":")
    try:
        kind = getattr(_module(module), attribute)
    except (ImportError, AttributeError, OSError) as error:
        raise ProbeError(
            f"The measure {name} cannot be imported ({error}): name it as FILE.py:CLASS or MODULE:CLASS."
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Measure)) or not getattr(kind, "name", "").isidentifier():
        raise ProbeError(
            f"{name} is no measure: derive a class from probe.measures.protocol.Measure, and give it a name such as "
            "nearness."
        )
    return kind()


def _module(name: str) -> ModuleType:
    if not name.endswith(".py"):
        return import_module(name)
    path = Path(name)
    # Named by its content, so that two files of one name are two modules.
    title = f"probe_measure_{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
    if title not in sys.modules:
        spec: Any = importlib.util.spec_from_file_location(title, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[title] = module
    return sys.modules[title]
