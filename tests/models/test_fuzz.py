"""Whatever a config or the files of a tokenizer say, a run ends in numbers or in one sentence.

`benchmarks/fuzz_models.py` runs many more.
"""

import pytest

from tests.models.fuzz import fuzz

FAMILIES = ("bert", "gpt2", "t5")


@pytest.mark.parametrize(("kind", "cases"), [("config", 40), ("tokenizer", 25)])
def test_damaged_files_end_in_numbers_or_in_a_sentence(tiny_models, small_corpus, tmp_path, kind, cases):
    counts = fuzz(kind, cases, [tiny_models(family) for family in FAMILIES], small_corpus, tmp_path)
    assert counts.total() == cases and min(counts["a number"], counts["a sentence"]) > 0
