"""Many more inputs to every reader than the tests take: does each end in documents or in one sentence?

    python benchmarks/fuzz_readers.py [--examples 10000] [--runs 10000]

First the tests of tests/corpora/test_fuzz.py run with so many examples each (hypothesis: whole files damaged,
and files made up of pieces that mean something to a reader). Then, where atheris is installed (pip install
atheris), every reader gets so many inputs that it steers by the lines they reach, starting from a whole file.
A traceback, a document that is not valid, or an input that takes longer than 20 seconds (atheris: 10) fails.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import lzma
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENDINGS = {
    ".txt": "wiki.txt",
    ".tokens": "wiki.train.tokens",
    ".jsonl": "a.jsonl",
    ".json": "list.json",
    ".csv": "a.csv",
    ".tsv": "a.tsv",
    ".xml": "a.xml",
    ".parquet": "a.parquet",
    ".arrow": "stream.arrow",
    ".jsonl.gz": "a.jsonl",
    ".jsonl.bz2": "a.jsonl",
    ".jsonl.xz": "a.jsonl",
    ".jsonl.zst": "a.jsonl",
    ".xml.bz2": "a.xml",
}
"""What atheris fuzzes, and the file of tests/corpora/test_formats.py it starts from."""


def by_hypothesis(examples: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-n", "0", "-q", f"--junitxml={report}"]
        environment = {**os.environ, "FUZZ_EXAMPLES": str(examples)}
        done = subprocess.run([*command, "tests/corpora/test_fuzz.py"], cwd=ROOT, env=environment, check=False)
        if not report.exists():
            print(f"hypothesis: pytest ended with {done.returncode} and no report")
            return False
        for case in ElementTree.parse(report).iter("testcase"):
            failed = case.find("failure") is not None or case.find("error") is not None
            outcome = "FAILED" if failed else "held"
            print(f"| hypothesis | {case.get('name')} | {examples:,} | {float(case.get('time', 0)):.0f} | {outcome} |")
    return done.returncode == 0


def by_atheris(runs: int) -> bool:
    held = True
    for ending in ENDINGS:
        started = time.perf_counter()
        command = [sys.executable, __file__, "--reader", ending, "--runs", str(runs)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
        held &= done.returncode == 0
        if done.returncode:
            print(done.stderr[-3000:])
        print(f"| atheris | {ending} | {runs:,} | {seconds:.0f} | {'FAILED' if done.returncode else 'held'} |")
    return held


def one_reader(ending: str, runs: int) -> None:
    """Does not return: atheris ends the process."""
    import atheris
    import zstandard

    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=["corpora"]):
        from tests.corpora.test_formats import WRITERS
        from tests.corpora.test_fuzz import check, read_all

    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    seeds = folder / "seeds"
    seeds.mkdir()
    whole = folder / ENDINGS[ending]
    WRITERS[ENDINGS[ending]](whole)
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
    (seeds / "whole").write_bytes(pack.get(Path(ending).suffix, bytes)(whole.read_bytes()))
    path = folder / f"a{ending}"
    read = read_all(path)

    def one_input(data: bytes) -> None:
        path.write_bytes(data)
        check(read)

    atheris.Setup(["fuzz", f"-runs={runs}", "-timeout=10", f"-artifact_prefix={folder}/", str(seeds)], one_input)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=10_000, help="inputs a test, from hypothesis")
    parser.add_argument("--runs", type=int, default=10_000, help="inputs a reader, from atheris")
    parser.add_argument("--reader", choices=ENDINGS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.reader:
        one_reader(arguments.reader, arguments.runs)
    held = by_hypothesis(arguments.examples)
    if find_spec("atheris"):
        held &= by_atheris(arguments.runs)
    sys.exit(not held)


if __name__ == "__main__":
    main()
