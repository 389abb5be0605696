"""A terminal or pipe that cannot show every letter."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SHOWN = "?"
_places: list[int] = []


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    _places.append(error.start)
    return _SHOWN * (error.end - error.start), error.end


codecs.register_error("probe.replace", _replace)


@contextmanager
def tolerant_output() -> Iterator[None]:
    """Write `?` for what standard output cannot show (a console in cp1252), and say so once at the end.

    Standard error shows such letters as `\\uXXXX` anyway.
    """
    _places.clear()
    if hasattr(sys.stdout, "reconfigure"):  # not where something else stands in its place
        sys.stdout.reconfigure(errors="probe.replace")
    try:
        yield
    finally:
        if _places:
            print(
                f'Letters that {sys.stdout.encoding} cannot show are printed as "{_SHOWN}" '
                "(PYTHONIOENCODING=utf-8 shows them); files hold them.",
                file=sys.stderr,
            )
