"""The rooms of the house: imports go one way, and every room says what it is for."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import probe

ROOT = Path(__file__).parent.parent
SOURCES = [path for folder in ("probe", "corpora", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
LONGEST_FILE, LONGEST_BODY = 350, 60
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


def test_no_file_and_no_function_is_longer_than_one_reads_at_once():
    files = [f"{path.relative_to(ROOT)}" for path in SOURCES if path.read_text("utf-8").count("\n") > LONGEST_FILE]
    functions = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and _body_lines(node) > LONGEST_BODY
    ]
    assert files + functions == []


def _body_lines(function: ast.FunctionDef) -> int:
    """Lines from the first statement to the last; the signature and the docstring are not counted."""
    first = function.body[1 if ast.get_docstring(function) and len(function.body) > 1 else 0]
    return (function.end_lineno or first.lineno) - first.lineno + 1
