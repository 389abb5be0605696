"""What all stages of a run share."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from probe.errors import ProbeError
from probe.experiment.given import NOTHING, Given
from probe.experiment.progress import Progress, Silent
from probe.experiment.ranks import ALONE, Ranks, join_ranks
from probe.experiment.settings import RunSettings
from probe.models.devices import SPREAD, choose_device, choose_dtype
from probe.storage.cache import Cache

if TYPE_CHECKING:
    from probe.measures.protocol import Measure

# What decides the tokens of a text, besides the tokenizer itself.
TOKEN_PACKAGES = ("tokenizers", "topic-probe", "transformers")


@dataclass
class Context:
    """The arguments of a run, where its finished work lies, who listens, and who else takes part.

    Attributes:
        settings: every argument.
        cache: finished work.
        given: objects that some of the settings stand for.
        progress: receives the stages.
        ranks: the processes that share the run.
        seconds: what each kind of work has taken.
        started: when the run began.
    """

    settings: RunSettings
    cache: Cache
    given: Given = NOTHING
    progress: Progress = field(default_factory=Silent)
    ranks: Ranks = ALONE
    seconds: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    @cached_property
    def measures(self) -> list[Measure]:
        """What is measured.

        Raises:
            ProbeError: there is no such measure.
        """
        from probe.measures.registry import find_measures

        return find_measures(self.settings.measure)

    @cached_property
    def device(self) -> str:
        """Where the models run.

        Raises:
            ProbeError: there is no such device.
        """
        return choose_device(self.settings.device, self.ranks.local if self.ranks.size > 1 else None)

    @cached_property
    def dtype(self) -> str:
        """In which numbers the models run."""
        return choose_dtype(self.settings.dtype, self.device)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the seconds of a block to a name of `timings.json`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)


def begin(
    settings: RunSettings,
    cache: Path | str | None = None,
    progress: Progress | None = None,
    given: Given = NOTHING,
) -> Context:
    """Begin a run, together with the other processes that `torchrun` has started.

    Args:
        settings: every argument.
        cache: folder of finished work; `probe.storage.cache.default_cache()` by default.
        progress: receives the stages.
        given: objects that some of the settings stand for.

    Raises:
        ProbeError: several processes cannot share such a run.
    """
    ranks = join_ranks()
    if ranks.size > 1 and settings.corpus == "-":
        raise ProbeError("Several ranks cannot share standard input: save the corpus to a file and name that.")
    if ranks.size > 1 and settings.device == SPREAD:
        raise ProbeError("--device spread is for one process: start probe run without torchrun, or leave it out.")
    return Context(settings, Cache(cache), given, progress if progress and ranks.leads else Silent(), ranks)


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The installed versions of some packages."""
    return {package: version(package) for package in packages}
