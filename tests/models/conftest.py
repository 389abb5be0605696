import shutil
from pathlib import Path

import pytest


@pytest.fixture
def bert(tiny_models, tmp_path) -> Path:
    """A copy of a small BERT that a test may spoil."""
    return Path(shutil.copytree(tiny_models("bert"), tmp_path / "bert"))
