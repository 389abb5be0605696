"""Texts given as objects go through a whole run like the file that holds them."""

import json
from pathlib import Path

import pandas as pd
import pytest

import probe
from probe.errors import ProbeError
from tests.experiment.small import SMALL, lda


def test_texts_as_objects_give_the_bytes_of_their_file(tiny_models, small_corpus, tmp_path):
    texts = [json.loads(line)["text"] for line in Path(small_corpus).read_text().splitlines()]
    arguments = {"model": tiny_models("bert"), "lda": lda(), "figures": False, "baseline": False, **SMALL}
    probe.run(corpus=small_corpus, **arguments, out=tmp_path / "file", cache=tmp_path / "cache")
    for name, corpus in {"list": texts, "DataFrame": pd.DataFrame({"text": texts}), "generator": iter(texts)}.items():
        result = probe.run(corpus=corpus, **arguments, out=tmp_path / name, cache=tmp_path / "cache")
        for path in (tmp_path / "file").glob("*.csv"):
            assert path.read_bytes() == (tmp_path / name / path.name).read_bytes(), path.name
        repeated = result.info["arguments"]["corpus"]
        assert repeated.startswith(f"object:{type(corpus).__name__}:")
        with pytest.raises(ProbeError, match="give it again, corpus=texts"):
            probe.run(corpus=repeated)


@pytest.mark.parametrize("corpus", [[], pd.DataFrame({"body": ["a"]}), iter(()), 3])
def test_objects_without_texts_are_refused_as_probe_errors(corpus, tiny_models):
    with pytest.raises(ProbeError) as refusal:
        probe.run(tiny_models("bert"), corpus)
    assert "\n" not in str(refusal.value)
