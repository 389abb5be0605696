"""What all figures share: a style whatever the user's own, colours, and files that repeat byte for byte."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from probe.show.fonts import fonts_for, package_for
from probe.storage.files import whole_file

logger = logging.getLogger(__name__)

# Okabe and Ito's blue, vermilion and green, told apart by every kind of colour vision.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#6E6E6E"
DIVERGING, SEQUENTIAL = "RdBu_r", "viridis"
NO_VALUE = "#D9D9D9"
_SHOWN_LETTERS = 10
_STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 150,
    # Ids of an SVG are random without it.
    "svg.hashsalt": "topic-probe",
}
# A date or a version would make bytes differ.
_METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


@contextmanager
def style(*, formulas: bool = False, letters: str = "") -> Iterator[None]:
    """The defaults of matplotlib and ours, whatever the user's style; put back afterwards.

    Args:
        formulas: text between dollar signs is a formula, as matplotlib writes the ticks of a logarithmic axis;
            otherwise it is text, as in the name of a model or a word.
        letters: names and words of the figures. An installed font is found for those that matplotlib's own lacks; where
            there is none, a line says what brings one, and the SVG holds text that a browser may have a font for.
    """
    import matplotlib

    families, missing = fonts_for(letters)
    if missing:
        logger.warning(
            "No font here has these letters, which are boxes in the figures: %s; install %s (the SVG keeps the text).",
            missing[:_SHOWN_LETTERS] + ("..." if len(missing) > _SHOWN_LETTERS else ""),
            package_for(missing),
        )
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        matplotlib.rcParams["font.family"] = families
        matplotlib.rcParams["svg.fonttype"] = "none" if missing else "path"
        matplotlib.rcParams["text.parse_math"] = formulas
        yield


def images(figure: Any) -> dict[str, bytes]:
    """A figure as PNG and SVG, by ending; the same figure gives the same bytes."""
    found = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing from font")  # said by `style`, once
        for kind, metadata in _METADATA.items():
            content = io.BytesIO()
            figure.savefig(content, format=kind, metadata=metadata)
            found[kind] = content.getvalue()
    return found


def shown(figure: Any) -> Any:
    """A figure that a notebook shows in our style, whatever the user's own."""

    def png() -> bytes:
        with style():
            return images(figure)["png"]

    figure._repr_png_ = png
    return figure


@contextmanager
def canvas(
    path: Path,
    rows: int,
    columns: int,
    size: tuple[float, float],
    *,
    formulas: bool = False,
    letters: str = "",
    **arguments: Any,
) -> Iterator[Any]:
    """Axes [rows, columns], saved as PNG and SVG at `path` when the block ends.

    Args:
        path: where the figure goes; the suffix is replaced.
        rows, columns: of axes.
        size: width and height of one of them in inches.
        formulas, letters: see `style`.
        arguments: of matplotlib's `Figure.subplots`.

    Raises:
        ProbeError: the folder cannot be written.
    """
    from matplotlib.figure import Figure

    with style(formulas=formulas, letters=letters):
        figure = Figure(figsize=(size[0] * columns, size[1] * rows))
        yield figure.subplots(rows, columns, squeeze=False, **arguments)
        for kind, content in images(figure).items():
            with whole_file(path.with_suffix(f".{kind}")) as temporary:
                temporary.write_bytes(content)
