"""Peak memory of this process (Linux).

    python benchmarks/memory.py FILE run ...

runs the command line of `probe` in a process that holds nothing else, and writes its peak in MB to a file.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path


def forget_peak() -> None:
    """Let the peak begin anew."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mb() -> float:
    """Peak resident memory since then."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> None:
    from probe.cli import main as command_line

    path, sys.argv = Path(sys.argv[1]), ["probe", *sys.argv[2:]]
    try:
        command_line()
    finally:
        path.write_text(str(peak_mb()), encoding="ascii")


if __name__ == "__main__":
    main()
