"""The rooms of the house: imports go one way, and every room says what it is for."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import probe

ROOT = Path(__file__).parent.parent
ROOMS = sorted(path.parent.name for path in Path(probe.__file__).parent.glob("*/__init__.py"))


def test_no_import_goes_back():
    # A process of its own: it silences the loggers of the one it runs in.
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "cli"])
def test_a_room_says_what_comes_in_what_goes_out_and_what_it_knows_nothing_of(room):
    text = import_module(f"probe.{room}").__doc__
    assert all(f"\n{word}" in text for word in ("In: ", "Knows nothing of ")) and " Out: " in text
