"""The canvas of the figures: one style, the same bytes, whole or not at all."""

import matplotlib
import pytest

from probe.show.canvas import canvas


def _draw(path, title="a $b$", **arguments):
    with canvas(path, 1, 2, (2, 2), **arguments) as axes:
        axes[0, 0].plot([1, 10], [1, 100])
        axes[0, 1].set_title(title)
    return [path.with_suffix(f".{kind}").read_bytes() for kind in ("png", "svg")]


def test_a_figure_repeats_byte_for_byte_whatever_the_users_style(tmp_path):
    first = _draw(tmp_path / "first")
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": None, "savefig.dpi": 50}):
        assert _draw(tmp_path / "again") == first
        assert matplotlib.rcParams["font.size"] == 20
    assert {path.name for path in tmp_path.iterdir()} == {"first.png", "first.svg", "again.png", "again.svg"}


def test_dollars_are_text_unless_formulas_are_wanted(tmp_path):
    assert _draw(tmp_path / "a") == _draw(tmp_path / "b", r"a \$b\$", formulas=True)
    assert _draw(tmp_path / "a") != _draw(tmp_path / "b", formulas=True)


def test_nothing_is_left_of_a_figure_that_fails(tmp_path):
    with pytest.raises(ZeroDivisionError), canvas(tmp_path / "figure", 1, 1, (2, 2)):
        1 / 0  # noqa: B018
    assert not list(tmp_path.iterdir())
