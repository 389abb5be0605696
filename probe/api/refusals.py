"""One kind of refusal for those who call from Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from probe.errors import ProbeError

P = ParamSpec("P")
T = TypeVar("T")


def one_refusal(function: Callable[P, T]) -> Callable[P, T]:
    """A function that refuses a corpus, too, with `ProbeError`."""

    @wraps(function)
    def refuse(*args: P.args, **kwargs: P.kwargs) -> T:
        from corpora import CorpusError

        try:
            return function(*args, **kwargs)
        except CorpusError as error:
            raise ProbeError(str(error)) from error

    return refuse
