"""The one exception a user meets: a refusal in one sentence, with the way out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_MAX_REASON = 300
_CONTROL = re.compile(r"\x1b\[[0-9;]*m|[\x00-\x1f\x7f]+")


class ProbeError(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence that names the thing and the way out; the command line prints it and ends
    with exit code 2.
    """


@contextmanager
def refusing(failure: str, way_out: str) -> Iterator[None]:
    """Turn whatever another library raises in this block into a refusal.

    Args:
        failure: what failed, as the beginning of the sentence.
        way_out: its end.

    Raises:
        ProbeError: the block raised something.
    """
    try:
        yield
    except ProbeError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise ProbeError(f"{failure} ({reason(error)}): {way_out}.") from error


def is_failure(error: BaseException) -> bool:
    """Whether something raised means that work has failed, and not that a process is to end."""
    # A Rust library that gives up (tokenizers, safetensors) raises what is no Exception.
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def reason(error: BaseException) -> str:
    """What another library's exception says, as a piece of one sentence."""
    lines = [line for line in map(str.strip, _CONTROL.sub("\n", str(error)).splitlines()) if line]
    if not lines:
        return type(error).__name__
    # A validator says where on the first line, and what on the next: "TypeError: expected int, got float".
    first = lines[1].partition("Error: ")[2] or lines[1] if lines[0].endswith(":") and len(lines) > 1 else lines[0]
    text = first.rstrip(".:!")
    # A key alone says little.
    text = f"{type(error).__name__}: {text}" if isinstance(error, KeyError) else text
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]} ..."
