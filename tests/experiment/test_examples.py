"""The passages that a run keeps to be looked at: which they are, that they hold, and that they repeat."""

import json

import numpy as np
import pandas as pd
import pytest

import probe
from probe.experiment.choosing import Labels, choose, show, window
from probe.results.examples import decoded, read_examples
from probe.text.tokens import Tokens
from tests.experiment.small import SMALL, lda


@pytest.fixture(scope="module")
def run(tiny_models, small_corpus, tmp_path_factory):
    def go(name, **options):
        folder = tmp_path_factory.mktemp(name)
        models = [str(tiny_models("bert")), str(tiny_models("gpt2"))]
        probe.run(models, str(small_corpus), out=folder, lda=lda(), figures=False, baseline=False, **SMALL, **options)
        return folder

    return go


def test_passages_hold_their_words_and_their_attention(run):
    folder = run("examples", examples=3)
    content = read_examples(folder)
    topics = pd.read_csv(folder / "topics.csv", keep_default_na=False)
    assert content["corpus"]["license"] == json.loads((folder / "run.json").read_text())["corpus"]["license"]
    for found in content["models"]:
        mine = topics[(topics["model"] == found["model"]) & (topics["theta"] == 0.05) & (topics["kept"] == 1)]
        surfaces = dict(zip(mine["token"], mine["surface"], strict=True))
        topic_of = dict(zip(mine["token"], mine["topic"], strict=True))
        assert len(found["passages"]) == 3
        for passage in [*found["passages"], *found["snippets"]]:
            for start, end, word in passage["spans"]:
                assert passage["text"][start:end].casefold() == surfaces[found["words"][word]]
        for passage in found["passages"]:
            size = len(passage["spans"])
            attention = decoded(passage["attention"]).reshape(found["layers"], found["heads"], size, size)
            assert attention.max() > 0
            assert not found["causal"] or not np.triu(attention[0, 0]).any()
        for snippet in found["snippets"]:
            assert {topic_of[found["words"][word]] for *_, word in snippet["spans"]} == {snippet["topic"]}
        assert len(found["pairs"]) == found["layers"] * found["heads"]
        for pairs in found["pairs"]:
            assert all(surfaces[found["words"][a]] != surfaces[found["words"][b]] for a, b, *_ in pairs)
            alike = [topic_of[found["words"][a]] == topic_of[found["words"][b]] for a, b, *_ in pairs]
            assert alike == sorted(alike, reverse=True)


def test_the_same_run_gives_the_same_bytes_and_none_are_kept_where_none_are_asked_for(run):
    first, second, without = run("first"), run("second"), run("without", examples=0)
    assert (first / "examples.json").read_bytes() == (second / "examples.json").read_bytes()
    assert not (without / "examples.json").exists()
    for name in ("measures", "topic_effects", "topic_map"):
        assert (first / f"{name}.csv").read_bytes() == (without / f"{name}.csv").read_bytes()


def test_words_whose_topic_another_shares_are_shown_first_and_passages_differ():
    tokens = Tokens(np.array([5, 1, 2, 6, 3, 1, 7]), np.ones(7, dtype=bool), np.array([0, 7]), np.array([0]))
    labels = Labels(np.array([-1, 0, 0, 1, -1, -1, 2, -1]), np.arange(8))
    shown = show(tokens, 0, 7, 0, labels, 3)
    assert shown.places.tolist() == [1, 2, 5] and shown.columns.tolist() == [0, 1, 4]
    assert (shown.pairs, shown.topic) == (1, 0)
    all_shown = show(tokens, 0, 7, 1, labels, 9)
    assert all_shown.places.tolist() == [1, 2, 3, 4, 5]
    # Of one topic both, so the second comes only where there is room.
    assert choose([shown, all_shown], 1) == [0]
    assert choose([shown, all_shown], 5) == [0, 1]


def test_a_snippet_starts_where_a_word_starts_and_holds_most_different_words():
    places, kinds = np.array([2, 30, 33, 36]), np.array([0, 0, 1, 2])
    assert window(places, kinds, np.array([0, 2, 28, 30]), 60, 18) == (28, 46)
    assert window(places, kinds, np.array([2, 30]), 40, 18) == (30, 40)
