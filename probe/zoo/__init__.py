"""Five small trained models, one of each of the paper's families, that the package carries."""

from __future__ import annotations

from pathlib import Path

ZOO = ("bert", "albert", "bart", "electra", "roberta")


def zoo_folder(name: str) -> Path:
    """The folder of a model of the zoo, as `from_pretrained` takes it.

    Args:
        name: one of `ZOO`.
    """
    return Path(__file__).parent / name
