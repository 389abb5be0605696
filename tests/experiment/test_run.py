"""Whole runs: the files, the same bytes, resuming, and what planted data must give."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import torch

import probe
from probe.errors import ProbeError
from probe.experiment.progress import Silent
from probe.measures import reading
from probe.results.schema import (
    COOCCURRENCE_COLUMNS,
    LAYER_COLUMNS,
    MEASURE_COLUMNS,
    TABLE_COLUMNS,
    TOPIC_COLUMNS,
    TOPIC_EFFECT_COLUMNS,
    TOPIC_MAP_COLUMNS,
)
from tests.experiment.small import SMALL, lda


@pytest.fixture(scope="module")
def finished(tiny_models, small_corpus, tmp_path_factory):
    folder, cache = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("cache")
    result = probe.run(
        [str(tiny_models("bert")), str(tiny_models("albert"))],
        str(small_corpus),
        out=folder,
        cache=cache,
        lda=lda(),
        **SMALL,
    )
    return result, folder, cache


def test_files_have_the_columns_of_the_contract_and_equal_the_frames(finished):
    result, folder, _ = finished
    columns = {
        "table1": TABLE_COLUMNS,
        "table2": COOCCURRENCE_COLUMNS,
        "table5": TABLE_COLUMNS,
        "measures": MEASURE_COLUMNS,
        "layers": LAYER_COLUMNS,
        "topics": TOPIC_COLUMNS,
        "topic_effects": TOPIC_EFFECT_COLUMNS,
        "topic_map": TOPIC_MAP_COLUMNS,
    }
    assert {path.name for path in folder.iterdir()} == {f"{name}.csv" for name in columns} | {
        "run.json",
        "examples.json",
        "timings.json",
        "figures",
    }
    for name, expected in columns.items():
        frame = pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""])
        assert list(frame.columns) == expected
        pd.testing.assert_frame_equal(
            frame, result.tables[name].replace("", np.nan), check_dtype=False, rtol=1e-12, atol=0
        )


def test_every_cell_is_filled_or_withheld_with_a_reason(finished):
    measures = finished[0].tables["measures"]
    empty = measures["ratio"].isna()
    assert (measures.loc[empty, "note"] != "").all()
    filled = measures[~empty]
    assert ((filled["low"] <= filled["ratio"]) & (filled["ratio"] <= filled["high"])).all()
    assert len(finished[0].tables["table1"]) == 2 * 2 * 2  # models, weights, thetas


def test_the_controls_are_rows_and_a_centered_cosine_has_a_p_value_and_no_ratio(finished):
    measures = finished[0].tables["measures"]
    single = measures[measures["assignment"] == "single"].groupby("measure")
    for control in ("cosine_centered", "cosine_pmi_matched", "attention_pmi_matched", "attention_distance_matched"):
        assert len(single.get_group(control)) == 8
    centered = single.get_group("cosine_centered")
    assert centered["ratio"].isna().all()
    # At the smaller theta topics may keep one word, and there is no same-topic pair.
    assert centered["p_value"].notna().equals(centered["same_pairs"] > 0)
    assert centered["frequency_p_value"].notna().equals(centered["same_pairs"] > 0)


def test_albert_has_as_many_layers_as_calls(finished):
    layers = finished[0].tables["layers"]
    assert layers.groupby(["model", "weights", "theta", "assignment"]).size().eq(3 * 4).all()


def test_run_json_says_enough_to_repeat_the_run(finished):
    info = json.loads((finished[1] / "run.json").read_text())
    assert info["arguments"]["theta"] == [0.01, 0.05]
    assert info["corpus"]["fingerprint"]
    assert info["corpus"]["report"]["documents"] == 12
    assert info["stop_words"]["source"]
    assert {entry["weights"] for entry in info["models"]} == {"pretrained", "random"}
    for entry in info["models"]:
        assert entry["passages"] == 60
        assert entry["fingerprint"]
    assert info["versions"]["torch"] == torch.__version__


def test_same_arguments_give_the_same_bytes_without_the_cache(finished, tiny_models, small_corpus, tmp_path):
    _, folder, _ = finished
    probe.run(
        [str(tiny_models("bert")), str(tiny_models("albert"))],
        str(small_corpus),
        out=tmp_path / "again",
        cache=tmp_path / "cache",
        lda=lda(),
        **SMALL,
    )
    for path in (*folder.glob("*.csv"), folder / "run.json"):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_a_run_stopped_in_the_model_goes_on_where_it_was(tiny_models, small_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("probe.experiment.model_pass._KEEP_EVERY", 0.0)
    arguments = {
        "model": str(tiny_models("bert")), "corpus": str(small_corpus), "lda": lda(), "baseline": False, **SMALL
    }  # fmt: skip
    whole = probe.run(**arguments, cache=tmp_path / "one")
    read = reading.PassReader.read
    batches = []

    def stopping(self, batch):
        if len(batches) == 4:
            raise KeyboardInterrupt
        batches.append(len(batch.lengths))
        read(self, batch)

    monkeypatch.setattr(reading.PassReader, "read", stopping)
    with pytest.raises(KeyboardInterrupt):
        probe.run(**arguments, cache=tmp_path / "two")
    rest = []

    def counting(self, batch):
        rest.append(len(batch.lengths))
        read(self, batch)

    monkeypatch.setattr(reading.PassReader, "read", counting)
    monkeypatch.setattr("probe.experiment.topics.fit_lda", None)
    monkeypatch.setattr("probe.experiment.text.tokenize", None)
    resumed = probe.run(**arguments, cache=tmp_path / "two")
    assert sum(batches) + sum(rest) == 60
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(resumed.tables[name], table, check_exact=True)


class _Notes(Silent):
    def __init__(self):
        self.notes = []

    def note(self, message):
        self.notes.append(message)


def test_a_theta_below_the_widest_needs_no_model_and_gives_what_a_run_of_its_own_gives(
    finished, tiny_models, small_corpus, tmp_path, monkeypatch
):
    arguments = {
        "model": str(tiny_models("bert")), "corpus": str(small_corpus), "lda": lda(), **(SMALL | {"theta": (0.03,)})
    }  # fmt: skip
    own = probe.run(**arguments, cache=tmp_path)
    for part in ("model_pass.load_model", "topics.fit_lda", "text.tokenize"):
        monkeypatch.setattr(f"probe.experiment.{part}", None)
    notes = _Notes()
    found = probe.run(**arguments, cache=finished[2], progress=notes)
    assert sum("already finished, made for a wider theta" in note for note in notes.notes) == 2
    for name, table in own.tables.items():
        pd.testing.assert_frame_equal(found.tables[name], table, rtol=1e-6, atol=1e-9)


def test_a_damaged_cache_is_redone(tiny_models, small_corpus, tmp_path):
    arguments = {
        "model": str(tiny_models("bert")), "corpus": str(small_corpus), "lda": lda(), "baseline": False, **SMALL
    }  # fmt: skip
    whole = probe.run(**arguments, cache=tmp_path)
    for path in [*tmp_path.rglob("*.npz"), *tmp_path.rglob("*.npy"), *tmp_path.rglob("*.i4")]:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again = probe.run(**arguments, cache=tmp_path)
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table, check_exact=True)


def test_killed_at_any_moment_the_same_command_ends_with_the_same_bytes(tiny_models, small_corpus, tmp_path):
    command = [
        sys.executable, "-m", "probe", "run", "--model", str(tiny_models("bert")), "--corpus", str(small_corpus),
        "--topics", "4", "--lda-passes", "1", "--theta", "0.05", "--passages", "30", "--max-length", "48",
        "--resamples", "20", "--no-baseline", "--quiet",
    ]  # fmt: skip
    environment = os.environ | {"PROBE_CACHE": str(tmp_path / "undisturbed"), "OMP_NUM_THREADS": "1"}
    # Undisturbed, and without a warning.
    strict = [command[0], "-W", "error", *command[1:]]
    subprocess.run([*strict, "--out", str(tmp_path / "whole")], check=True, env=environment)
    environment["PROBE_CACHE"] = str(tmp_path / "killed")
    command += ["--out", str(tmp_path / "out")]
    for seconds in (2.5, 4.5):
        process = subprocess.Popen(command, env=environment)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, env=environment)
    for path in (tmp_path / "whole").glob("*.csv"):
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"theta": 0}, "--theta 0"),
        ({"theta": 2}, "--theta 2"),
        ({"lda": "topics"}, "topics is 1"),
        ({"max_length": 67}, "--max-length 67 is beyond the 66 positions"),
        ({"passages": 1}, "--passages 1"),
        ({"device": "cuda:9"}, "--device cuda:9"),
        ({"dtype": "int8"}, "--dtype int8"),
    ],
)
def test_unusable_arguments_are_refused_in_one_sentence(tiny_models, small_corpus, arguments, message):
    from probe.topics.settings import LdaSettings

    if "lda" in arguments:
        with pytest.raises(ProbeError) as refusal:
            LdaSettings(topics=1)
    else:
        with pytest.raises(ProbeError) as refusal:
            probe.run(str(tiny_models("bert")), str(small_corpus), **arguments)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("topics", "did you mean lda=probe.topics.settings.LdaSettings(topics=...)?"),
        ("lda_passes", "did you mean lda=probe.topics.settings.LdaSettings(passes=...)?"),
        ("passage", "did you mean passages?"),
        ("colour", "help(probe.run) names those it has."),
    ],
)
def test_an_argument_that_is_not_there_is_refused_with_the_nearest(name, hint):
    with pytest.raises(ProbeError) as refusal:
        probe.run(**{name: 5})
    assert str(refusal.value) == f"probe.run has no argument {name}; {hint}"


@pytest.mark.parametrize("value", ["60", 60.5, None])
def test_a_number_that_is_none_is_refused(value):
    with pytest.raises(ProbeError, match=r"--passages .* is no whole number: use one, at least 2\."):
        probe.run(passages=value)


def test_a_corpus_of_one_document_is_refused(tiny_models, tmp_path):
    (tmp_path / "one.jsonl").write_text(json.dumps({"text": "the state of the war and the state"}) + "\n")
    with pytest.raises(ProbeError, match="holds one document"):
        probe.run(str(tiny_models("bert")), str(tmp_path / "one.jsonl"), max_length=48)


def test_an_output_folder_that_cannot_be_written_is_refused_before_any_work(tiny_models, small_corpus, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProbeError, match="cannot be written"):
        probe.run(str(tiny_models("bert")), str(small_corpus), out=tmp_path / "file" / "out", cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
