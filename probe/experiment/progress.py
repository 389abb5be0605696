"""How a run says what it is doing, without knowing who listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Stage(Protocol):
    """A piece of work under way."""

    def at(self, done: float, total: float | None = None) -> None:
        """So much of it is done; `total` may become known late."""


class Progress(Protocol):
    """Receives the stages of a run."""

    def stage(self, description: str, total: float | None = None) -> AbstractContextManager[Stage]:
        """A piece of work of `total` units, None where that is not known."""

    def note(self, message: str) -> None:
        """A sentence that is worth reading."""


class Silent:
    """Listens to nothing."""

    @contextmanager
    def stage(self, description: str, total: float | None = None) -> Iterator[Stage]:
        """Ignore the stage."""
        del description, total
        yield self

    def at(self, done: float, total: float | None = None) -> None:
        """Ignore the advance."""

    def note(self, message: str) -> None:
        """Ignore the message."""
