"""The sums of a pass in a file."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np

from probe.errors import ProbeError
from probe.measures.protocol import PassSums, Sums

# A long array of which most numbers are 0 is kept as those that are not, with their places.
_LONG = 1 << 16


def save_sums(path: Path, sums: PassSums) -> None:
    """Write the sums of a pass; the file is there whole or not at all.

    Raises:
        ProbeError: the file cannot be written.
    """
    content: Sums = {
        "batches": np.array(sums.batches),
        "shape": np.array([sums.layers, sums.heads]),
        "occurrences": sums.occurrences,
    }
    for measure, arrays in sums.of.items():
        content[f"measure {measure}"] = np.zeros(0)
        for name, array in arrays.items():
            seen = np.flatnonzero(array) if array.ndim == 1 and len(array) > _LONG else None
            if seen is not None and 2 * len(seen) < len(array):
                content[f"size {measure} {name}"] = np.array(len(array))
                content[f"seen {measure} {name}"] = seen
                array = array[seen]
            content[f"array {measure} {name}"] = array
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **content)
        temporary.replace(path)
    except OSError as error:
        raise ProbeError(
            f"Finished work cannot be kept in {path.parent} ({error.strerror or error}): name another folder "
            "with --cache DIR or free some space."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def load_sums(path: Path) -> PassSums | None:
    """Read what `save_sums` wrote; None where there is none or the file is damaged."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        layers, heads = (int(number) for number in arrays["shape"])
        of: dict[str, Sums] = {key.split(" ")[1]: {} for key in arrays if key.startswith("measure ")}
        for key in [key for key in arrays if key.startswith("array ")]:
            _, measure, name = key.split(" ")
            of[measure][name] = _full(arrays, measure, name)
        return PassSums(int(arrays["batches"]), layers, heads, arrays["occurrences"], of)
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile):
        return None


def _full(arrays: Sums, measure: str, name: str) -> np.ndarray:
    array = arrays[f"array {measure} {name}"]
    if f"seen {measure} {name}" not in arrays:
        return array
    full = np.zeros(int(arrays[f"size {measure} {name}"]), dtype=array.dtype)
    full[arrays[f"seen {measure} {name}"]] = array
    return full
