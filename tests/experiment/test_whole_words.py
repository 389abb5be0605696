"""A whole run whose words have several tokens: every table, the figures, the examples, the same bytes twice."""

import json

import pandas as pd
import pytest

import probe
from probe.errors import ProbeError
from probe.results.examples import read_examples
from tests.experiment.small import SMALL, lda


@pytest.fixture(scope="module")
def run(tiny_models, small_corpus, tmp_path_factory):
    def go(name, **options):
        folder = tmp_path_factory.mktemp(name)
        arguments = {
            "lda": lda(),
            "words": "whole",
            "out": folder,
            "examples": 2,
            **(SMALL | {"theta": 0.2}),
            **options,
        }
        return probe.run(str(tiny_models("roberta")), str(small_corpus), **arguments), folder

    return go


@pytest.fixture(scope="module")
def finished(run):
    return run("finished")


def test_every_table_and_figure_is_there(finished):
    result, folder = finished
    names = {"table1", "table2", "table5", "measures", "layers", "topics"}
    assert names <= {path.stem for path in folder.glob("*.csv")}
    assert {path.suffix for path in (folder / "figures").iterdir()} == {".png", ".svg"}
    assert json.loads((folder / "run.json").read_text())["arguments"]["words"] == "whole"
    attention = result.tables["measures"].query("measure == 'attention'")
    assert attention["ratio"].notna().all() and attention["p_value"].notna().all()
    assert result.tables["table2"]["attention_top_cooccurring"].notna().all()
    assert result.tables["layers"]["ratio"].notna().all()
    topics = result.tables["topics"]
    several = topics["token"].str.contains(" ")
    assert several.any() and not several.all()
    joined = topics["token"].str.replace(" ", "").str.replace("Ġ", "").str.casefold()
    assert (joined == topics["surface"]).all()
    # Two spellings of one surface are one word.
    assert not topics.duplicated(["model", "theta", "topic", "surface"]).any()


def test_what_is_kept_to_be_looked_at_spells_whole_words(finished):
    _, folder = finished
    topics = pd.read_csv(folder / "topics.csv", keep_default_na=False)
    for found in read_examples(folder)["models"]:
        surface = dict(zip(topics["token"], topics["surface"], strict=True))
        shown = [one for part in ("passages", "snippets") for text in found[part] for one in _shown(text, found)]
        assert len(shown) > 8 and any(" " in token for _, token in shown)
        assert all(text.casefold() == surface[token] for text, token in shown)


def _shown(text, found):
    return [(text["text"][start:end], found["words"][word]) for start, end, word in text["spans"]]


def test_same_arguments_give_the_same_bytes_without_the_cache(finished, run, tmp_path):
    _, again = run("again", cache=tmp_path, figures=False)
    for path in finished[1].glob("*.csv"):
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_topics_that_are_fitted_first_are_of_whole_words(tiny_models, small_corpus):
    topics = probe.fit_topics(str(small_corpus), str(tiny_models("bert")), lda=lda(), words="whole", max_length=48)
    assert {"anarchism", "aristotle"} & set(topics.vocabulary)
    measured = probe.measure(str(tiny_models("bert")), topics, 0.2, passages=20, resamples=20)
    assert measured.info["arguments"]["words"] == "whole"


@pytest.mark.parametrize("words", ["word", ["music", "war"]])
def test_what_is_no_kind_of_word_is_refused_with_the_way_to_name_the_figures_words(words):
    with pytest.raises(ProbeError, match=r"--words .* is not known: use token or whole .*--figure-words"):
        probe.run(words=words)
