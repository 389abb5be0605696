"""What all steps of a run share."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

from probe.experiment.progress import Progress
from probe.experiment.ranks import Ranks
from probe.experiment.settings import RunSettings
from probe.storage.cache import Cache

# What decides the tokens of a text, besides the tokenizer itself.
TOKEN_PACKAGES = ("tokenizers", "topic-probe", "transformers")


@dataclass
class Context:
    """The arguments of a run, where its finished work lies, who listens, and who else takes part."""

    settings: RunSettings
    cache: Cache
    progress: Progress
    ranks: Ranks
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the seconds of a block to a name of `run.json`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The installed versions of some packages."""
    return {package: version(package) for package in packages}
