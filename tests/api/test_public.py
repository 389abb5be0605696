"""The public names: few, typed, light to import, and each does in steps what `probe.run` does at once."""

import subprocess
import sys
import typing
from pathlib import Path

import pandas as pd
import pytest
import transformers

import probe
from probe.api import measuring
from probe.api.topics import FittedTopics
from probe.errors import ProbeError
from tests.experiment.small import SMALL, lda

PASS = {name: SMALL[name] for name in ("passages", "resamples", "batch_tokens")}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def topics(tiny_models, small_corpus, cache) -> FittedTopics:
    return probe.fit_topics(small_corpus, tiny_models("bert"), cache=cache, lda=lda(), max_length=SMALL["max_length"])


@pytest.fixture(scope="module")
def result(tiny_models, small_corpus, cache):
    return probe.run(tiny_models("bert"), small_corpus, cache=cache, lda=lda(), **SMALL)


def test_the_names_are_few_typed_and_documented():
    functions = {"run", "fit_topics", "assign_topics", "measure", "random_baseline", "compare", "load"}
    assert {*probe.__all__} == functions | {"ProbeError"} and functions <= {*dir(probe)}
    for name in functions:
        hints = typing.get_type_hints(getattr(probe, name), vars(measuring) | {"pd": pd, "Path": Path})
        assert "return" in hints and "\n    Args:\n" in getattr(probe, name).__doc__
    with pytest.raises(AttributeError, match="has no attribute 'fit_topic'"):
        _ = probe.fit_topic


def test_import_brings_nothing_heavy():
    code = "import sys, probe; print({'torch', 'numpy', 'pandas', 'transformers', 'rich', 'corpora'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_steps_give_the_numbers_of_a_run(topics, result, tiny_models):
    measured = probe.measure(tiny_models("bert"), topics, SMALL["theta"], **PASS)
    baseline = probe.random_baseline(tiny_models("bert"), topics, SMALL["theta"], **PASS)
    for name in ("table1", "table5", "measures", "layers"):
        together = pd.concat([measured.tables[name], baseline.tables[name]], ignore_index=True)
        pd.testing.assert_frame_equal(together, result.tables[name], check_exact=True)
    pd.testing.assert_frame_equal(baseline.topics, result.topics)
    assert not len(baseline.table(2)) and "random weights" in repr(baseline) and "<table>" in baseline._repr_html_()


def test_an_object_is_measured_on_the_topics_of_its_folder(topics, tiny_models):
    folder = tiny_models("bert")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer(["some", "text to pad"], padding=True, truncation=True, max_length=3)
    pair = transformers.AutoModel.from_pretrained(folder), tokenizer
    by_folder = probe.measure(folder, topics, 0.05, **PASS).measures
    by_object = probe.measure({str(folder): pair}, topics, 0.05, **PASS).measures
    pd.testing.assert_frame_equal(by_object, by_folder, check_exact=True)


def test_topics_are_looked_at(topics, result):
    assert topics.topic_word.shape == (4, len(topics.vocabulary))
    best = topics.topic_word[2].argsort()[::-1][:5]
    assert topics.words(2, 5) == [topics.vocabulary[word] for word in best]
    assert repr(topics).splitlines()[0].startswith("4 topics of ") and len(repr(topics).splitlines()) == 5
    single, multiple = (probe.assign_topics(topics, 0.05, kind) for kind in ("single", "multiple"))
    expected = result.topics[(result.topics["theta"] == 0.05)]
    assert multiple["token"].tolist() == expected["token"].tolist()
    assert single["token"].tolist() == expected["token"][expected["kept"] == 1].tolist()
    assert single["token"].is_unique and list(single) == ["theta", "topic", "rank", "token", "surface", "likelihood"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda topics, models: probe.assign_topics(topics, 0.05, "double"), "use single or multiple"),
        (lambda topics, models: probe.assign_topics(topics, 2), "--theta 2"),
        (lambda topics, models: topics.words(4), "name one from 0 to 3"),
        (lambda topics, models: probe.measure(models("albert"), topics), "has another tokenizer"),
        (lambda topics, models: probe.measure(models("bert"), topics, passage=3), "did you mean passages"),
        (lambda topics, models: probe.measure(models("bert"), topics, unit="sentence"), "given to fit_topics"),
        (lambda topics, models: probe.measure([models("bert"), models("albert")], topics), "One model"),
        (lambda topics, models: probe.measure([], topics), "at least one --model"),
        (lambda topics, models: probe.fit_topics([], models("bert"), max_length=48), "holds no text"),
        (lambda topics, models: probe.fit_topics(["a"], [models("bert"), "minilm"]), "of one model"),
        (lambda topics, models: probe.load("nowhere"), "is no folder"),
        (lambda topics, models: probe.compare("nowhere", table=3), "There is no table 3"),
    ],
)
def test_refusals_are_one_sentence(topics, tiny_models, call, sentence):
    with pytest.raises(ProbeError, match=sentence) as refusal:
        call(topics, tiny_models)
    assert "\n" not in str(refusal.value)
