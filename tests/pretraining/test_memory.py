"""A training does not hold more and more memory."""

import sys
from pathlib import Path

import numpy as np
import pytest

from probe.pretraining.memory import return_free_memory

_BLOCK = 64 * 1024  # bytes; below every threshold from which a block is mapped by itself


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc's allocator can be asked")
def test_freed_memory_between_kept_memory_goes_back():
    blocks = [np.ones(_BLOCK, dtype=np.uint8) for _ in range(4000)]
    full = _resident()
    kept = blocks[::20]
    del blocks
    return_free_memory()
    assert full - _resident() > 0.5 * 4000 * _BLOCK
    assert len(kept) == 200
