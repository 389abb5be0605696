"""Fonts that have the letters of a figure: matplotlib's own, and those installed here for other scripts."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

# Of matplotlib's package: Latin, Greek, Cyrillic, Arabic and many signs.
OWN = "DejaVu Sans"
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "BOPOMOFO")
# What these hold is no letter: boxes for any character, coloured bitmaps.
_PASSED_OVER = ("lastresort", "emoji", "color")


def fonts_for(text: str) -> tuple[list[str], str]:
    """The fonts with which all letters of a text can be drawn.

    Args:
        text: names and words of a figure.

    Returns:
        Families, matplotlib's own first, then installed ones for what it lacks (the same ones on one machine); and the
        letters that no font here has.
    """
    own = _letters_of(_own_path())
    # Marks that only join or direct are drawn by no font.
    wanted = {ord(letter) for letter in text if unicodedata.category(letter) not in ("Cf", "Cc", "Zs")} - own
    families = [OWN]
    for path in _installed() if wanted else ():
        if found := wanted & _letters_of(path):
            families.append(_add(path))
            wanted -= found
            if not wanted:
                break
    return families, "".join(map(chr, sorted(wanted)))


def package_for(letters: str) -> str:
    """Debian's and Ubuntu's package of fonts that have such letters."""
    names = [unicodedata.name(letter, "") for letter in letters]
    packages = {"fonts-noto-cjk" if name.startswith(_CJK) else "fonts-noto-core" for name in names}
    return " and ".join(sorted(packages))


def _own_path() -> str:
    import matplotlib

    return str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf")


@cache
def _installed() -> tuple[str, ...]:
    """Paths of installed fonts, plain ones without serifs first; matplotlib's own list of them may be an old one."""
    from matplotlib import font_manager

    def rank(path: str) -> tuple[bool, bool, bool, str]:
        name = Path(path).stem.lower()
        styled = any(style in name for style in ("bold", "italic", "oblique", "light", "thin", "black", "condensed"))
        return styled, "notosans" not in name, "mono" in name or "ui" in name, name

    paths = font_manager.findSystemFonts()
    return tuple(sorted((path for path in paths if not _is_passed_over(path)), key=rank))


def _is_passed_over(path: str) -> bool:
    return any(name in Path(path).stem.lower() for name in _PASSED_OVER)


@cache
def _letters_of(path: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):  # no font, or of a kind that is not read
        return frozenset()


@cache
def _add(path: str) -> str:
    """Make a font known to matplotlib; returns its family."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    font_manager.fontManager.addfont(path)
    return str(FT2Font(path).family_name)
