"""Figures: the same bytes for the same tables, the right numbers in the right place, whole or not at all."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

from probe.errors import ProbeError
from probe.show import figures
from probe.show.figures import draw_figures
from probe.show.words import WordDots, choose_words, find_words
from tests.finished_runs import make_tables

WORDS = WordDots(["music", "opera", "law", "court"], [4, 4, 9, 9], np.arange(16.0).reshape(4, 4) / 16)


def test_files_repeat_byte_for_byte_whatever_the_users_style(tmp_path):
    tables = make_tables(["a/b"], thetas=[0.001])
    first = draw_figures(tmp_path / "first", tables, {"a/b": WORDS})
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": None, "savefig.dpi": 50}):
        again = draw_figures(tmp_path / "again", tables, {"a/b": WORDS})
        assert matplotlib.rcParams["font.size"] == 20
    assert [path.name for path in first] == [
        f"{name}.{kind}" for name in ("heads", "theta-table1", "theta-table5", "words-a-b") for kind in ("png", "svg")
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    assert first[0].read_bytes().startswith(b"\x89PNG") and b"<svg" in first[1].read_bytes()


def test_a_head_stands_in_its_layers_row_and_all_maps_share_a_scale_around_one():
    layers = make_tables(["big", "small"])["layers"]
    layers.loc[(layers["model"] == "small") & (layers["weights"] == "random"), "ratio"] = np.nan
    figure = figures._heads(layers)
    images = [axis.images[0] for axis in figure.axes if axis.images and axis.get_xlabel() == "head"]
    assert len(images) == 4
    np.testing.assert_allclose(images[0].get_array(), [[1.0, 1.01], [1.1, 1.11], [1.2, 1.21]])
    assert images[3].get_array().mask.all()
    limits = {image.get_clim() for image in images}
    ((low, high),) = limits
    assert low * high == pytest.approx(1)


def test_intervals_and_printed_values_are_drawn_where_the_table_has_them():
    tables = make_tables(["bert-base-uncased"], withheld=("dot", 0.001))
    figure = figures._ratio_by_theta(1, tables["table1"], tables["measures"])
    drawn = {
        axis.get_title(loc="left"): {line.get_label(): list(line.get_ydata()) for line in axis.lines}
        for axis in figure.axes
    }
    assert drawn["cosine"]["pretrained, printed in the paper"] == [1.21, 1.13]
    assert drawn["attention"]["pretrained (95 %)"] == pytest.approx([1.7, 1.7])
    assert drawn["dot"]["pretrained (95 %)"] == pytest.approx([1.6])
    bars = figure.axes[0].collections[0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], [[1.4, 1.7]] * 2)


def test_nothing_is_left_when_one_figure_fails(tmp_path):
    broken = WordDots(["music", "opera"], [0, 1], np.zeros((3, 3)))
    with pytest.raises(ValueError, match="shape"):
        draw_figures(tmp_path / "run", make_tables(thetas=[0.001]), {"model": broken})
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "run").write_text("a file")
    with pytest.raises(ProbeError, match="--no-figures"):
        figures._write(tmp_path / "run", {"heads.png": b""})


@pytest.fixture
def topics():
    rows = [
        # theta, topic, rank, token, likelihood, kept
        (0.001, 0, 0, "Ġmusic", "music", 0.5, 1),
        (0.001, 0, 1, "Ġopera", "opera", 0.2, 1),
        (0.001, 0, 2, "Music", "music", 0.1, 1),
        (0.001, 0, 3, "Ġsong", "song", 0.1, 1),
        (0.001, 1, 0, "Ġlaw", "law", 0.4, 1),
        (0.001, 1, 1, "Ġcourt", "court", 0.3, 1),
        (0.001, 1, 2, "Ġsong", "song", 0.05, 0),
        (0.001, 2, 0, "Ġsea", "sea", 0.9, 1),
    ]
    columns = ["theta", "topic", "rank", "token", "surface", "likelihood", "kept"]
    narrow = [(0.0005, *row[1:]) for row in rows if row[2] == 0]
    return pd.DataFrame(rows + narrow, columns=columns)


def test_chosen_words_are_kept_by_one_topic_differ_in_surface_and_come_by_coherence(topics):
    chosen = choose_words(topics, np.array([0.1, 0.3, 0.9]), each=2)
    # "song" has two topics, "Music" is "music" once more, topic 2 has one word only.
    assert list(zip(chosen["topic"], chosen["token"], strict=True)) == [
        (1, "Ġlaw"),
        (1, "Ġcourt"),
        (0, "Ġmusic"),
        (0, "Ġopera"),
    ]
    assert choose_words(topics, np.array([0.1, 0.3, 0.9]), each=3).empty
    assert set(choose_words(topics, np.array([0.1, 0.3, 0.9]), shown=1, each=2)["topic"]) == {1}


def test_named_words_are_grouped_by_topic_and_unknown_ones_refused(topics):
    found = find_words(topics, ["Opera", "law", "song", "opera"])
    assert list(found["surface"]) == ["opera", "song", "law"]
    with pytest.raises(ProbeError, match="No topic keeps zebra: "):
        find_words(topics, ["law", "zebra"])
    with pytest.raises(ProbeError, match="at least two"):
        find_words(topics, ["law"])
