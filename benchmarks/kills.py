"""A run on the sample, killed at random moments and started again: does it end with the same bytes?

    OMP_NUM_THREADS=1 python benchmarks/kills.py [--kills 50] [--seed 0] [--out results/benchmarks]

Each trial has a cache and a folder of its own. The run is killed (SIGKILL) at a moment drawn uniformly from the
processor time of an undisturbed run (which other work on the machine stretches less than the clock's), then the same
command is given again. Every CSV, PNG and SVG must equal that of the undisturbed run byte for byte, and `run.json` but
for its seconds. Two undisturbed runs are compared first. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ARGUMENTS = ["run", "--model", "minilm", "--passages", "60", "--resamples", "50", "--no-baseline"]
_TEMPORARY = re.compile(r"\.(making|writing|trying)-|\.tmp$")


def start(place: Path, log: Path) -> subprocess.Popen:
    with log.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "probe", *ARGUMENTS, "--out", str(place / "out"), "--cache", str(place / "cache")],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=file,
        )


def finish(place: Path, log: Path) -> float:
    """Processor seconds of a whole run."""
    before = os.times()
    if start(place, log).wait():
        sys.exit(f"The run failed: {log.read_text()[-2000:]}")
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def kill_at(process: subprocess.Popen, moment: float) -> bool:
    """Kill a process after so many seconds of processor time; False where it ends before."""
    while process.poll() is None:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") >= moment:
            process.kill()
            return process.wait() < 0
        time.sleep(0.005)
    return False


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "timings.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def trial(place: Path, moment: float, expected: dict[str, bytes]) -> dict[str, Any] | None:
    """Kill one run and resume it; None where it ended before the moment came."""
    log = place / "log"
    if not kill_at(start(place, log), moment):
        return None
    stages = log.read_text().splitlines() or ["the start of Python"]
    if (place / "out" / "run.json").exists():
        stages = ["the end, with all files written"]
    left = sorted(path.name.split("-")[0] for path in place.rglob("*") if _TEMPORARY.search(path.name))
    finish(place, log)
    found = contents(place / "out")
    notes = [re.sub(r" of (wikipedia-sample|minilm).*?:", ":", line) for line in log.read_text().splitlines()]
    return {
        "killed_at": round(moment, 3),
        "during": stages[-1],
        "left": left,
        "found": [line.rstrip(".") for line in notes if "already finished" in line or "goes on after" in line],
        "different": sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)),
        "still_left": sorted(path.name for path in place.rglob("*") if _TEMPORARY.search(path.name)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    trials: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "second"):
            (Path(folder) / name).mkdir()
            seconds = finish(Path(folder) / name, Path(folder) / "log")
        expected = contents(Path(folder) / "first" / "out")
        if contents(Path(folder) / "second" / "out") != expected:
            sys.exit("Two undisturbed runs differ.")
        print(f"undisturbed: {seconds:.1f} s of processor time, {len(expected)} files, twice the same", flush=True)
        while len(trials) < arguments.kills:
            with tempfile.TemporaryDirectory(dir=folder) as place:
                one = trial(Path(place), draw.uniform(0, seconds), expected)
            if one is None:
                continue
            trials.append(one)
            print(
                f"{len(trials):3} killed at {one['killed_at']:6.2f} s, during: {one['during']}; "
                f"found: {', '.join(one['found']) or 'nothing'}; "
                f"{'different: ' + ', '.join(one['different']) if one['different'] else 'same'}",
                flush=True,
            )
    same = sum(not one["different"] for one in trials)
    print(f"{same} of {len(trials)} killed runs ended with the bytes of the undisturbed one")
    report = {
        "command": f"probe {' '.join(ARGUMENTS)}",
        "undisturbed_processor_seconds": round(seconds, 1),
        "files": sorted(expected),
        "kills": len(trials),
        "same": same,
        "trials": trials,
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "kills.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    sys.exit(same < len(trials))


if __name__ == "__main__":
    main()
