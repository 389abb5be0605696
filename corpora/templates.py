"""What a reader sees of those templates that carry the words of a sentence.

Most templates are boxes, notes and references, and show nothing here. Those below mark up words, quote, or write a
date, a measure, a name: left out, they leave holes (`is a with atoms and of mass`). One that is not here shows nothing.
"""

import re
from collections.abc import Callable, Mapping

Values = Mapping[str, str]
"""The values of a template by name, those without a name by number, from "1" on; each without white space around."""

Show = Callable[[Values], str]

_KEY = re.compile(r"\s*([\w -]{1,24}?)\s*=")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def shown(content: str) -> str | None:
    """What a template shows in the running text; None where it shows nothing that belongs there.

    Args:
        content: what stands between its braces, templates and links in it already replaced.
    """
    head, bar, rest = content.partition("|")
    name = re.sub(r"[\s_]+", " ", head).strip().casefold()
    if ":" in name and name.partition(":")[0] in _FUNCTIONS:
        return head.partition(":")[2].strip() or None
    show = _TEMPLATES.get(name) or next((show for pattern, show in _PATTERNS if pattern.fullmatch(name)), None)
    return (show(_values(rest) if bar else {}) or None) if show else None


def _values(rest: str) -> Values:
    values: dict[str, str] = {}
    number = 0
    for part in rest.split("|"):
        if key := _KEY.match(part):
            values[key[1].lower()] = part[key.end() :].strip()
        else:
            number += 1
            values[str(number)] = part.strip()
    if number == 0 and "|" not in rest:
        # An equals sign inside a link makes no name; the value is then the only one there is.
        values.setdefault("1", rest.strip())
    return values


def _unnamed(values: Values) -> list[str]:
    found: list[str] = []
    while (key := str(len(found) + 1)) in values:
        found.append(values[key])
    return found


def _one(*keys: str) -> Show:
    """The first of these values that there is."""
    return lambda values: next((values[key] for key in keys if values.get(key)), "")


def _last(values: Values) -> str:
    return next(filter(None, reversed(_unnamed(values))), values.get("text", ""))


def _joined(between: str) -> Show:
    return lambda values: between.join(filter(None, _unnamed(values)))


def _after(words: str, between: str = "–") -> Show:
    """`c. 1500`, `r. 1500–1510`."""

    def show(values: Values) -> str:
        return " ".join(filter(None, (words, between.join(filter(None, _unnamed(values)[:2])))))

    return show


def _always(text: str) -> Show:
    return lambda _: text


def _quotation(values: Values) -> str:
    """The words quoted, and below them who said them where."""
    text = _one("1", "text", "quote", "content")(values)
    by = ", ".join(filter(None, (_one(*keys)(values) for keys in (("author", "by", "2"), ("source", "title", "3")))))
    return f"\n{text}\n{by}\n"


def _date(values: Values) -> str:
    """`May 3, 1990`, or `3 May 1990` where the day comes first."""
    year, month, day = [*_unnamed(values), "", "", ""][:3]
    if not (month.isascii() and month.isdigit() and 1 <= int(month) <= 12):
        return " ".join(filter(None, (year, month, day)))  # a day, a month's name and a year, in other wikis
    name = _MONTHS[int(month) - 1]
    if not day:
        return f"{name} {year}"
    return f"{day} {name} {year}" if values.get("df", "n")[:1] in "y1t" else f"{name} {day}, {year}"


def _as_of(values: Values) -> str:
    words = "since" if values.get("since") else "as of"
    return values.get("alt") or f"{words if values.get('lc') else words.capitalize()} {_date(values)}"


def _japanese(values: Values) -> str:
    """`Aikido (合気道, Aikidō)`."""
    english, *others = [*_unnamed(values), ""][:4]
    inside = ", ".join(filter(None, others))
    return f"{english} ({inside})" if english and inside else english or inside


def _chinese(values: Values) -> str:
    """`中文; Zhōngwén`."""
    written = [values[key] for key in ("c", "t", "s", "1", "2") if values.get(key)]
    spoken = [values[key] for key in ("p", "w", "j", "poj", "l") if values.get(key)]
    return "; ".join([*dict.fromkeys(written), *spoken])


def _fraction(values: Values) -> str:
    parts = _unnamed(values)
    return {0: "", 1: f"1/{parts[0] if parts else ''}", 2: "/".join(parts)}.get(
        len(parts), f"{' '.join(parts[:1])} {'/'.join(parts[1:3])}"
    )


def _number(values: Values) -> str:
    """`6.241×10^18 m`."""
    power = f"×10^{values['e']}" if values.get("e") else ""
    return " ".join(filter(None, ("".join(_unnamed(values)) + power, values.get("u") or values.get("ul"))))


_UNITS = {
    "km": ("kilometre", "kilometres"), "m": ("metre", "metres"), "cm": ("centimetre", "centimetres"),
    "mm": ("millimetre", "millimetres"), "mi": ("mile", "miles"), "nmi": ("nautical mile", "nautical miles"),
    "yd": ("yard", "yards"), "ft": ("foot", "feet"), "in": ("inch", "inches"), "kg": ("kilogram", "kilograms"),
    "g": ("gram", "grams"), "t": ("tonne", "tonnes"), "lb": ("pound", "pounds"), "oz": ("ounce", "ounces"),
    "ha": ("hectare", "hectares"), "acre": ("acre", "acres"), "km2": ("square kilometre", "square kilometres"),
    "sqkm": ("square kilometre", "square kilometres"), "m2": ("square metre", "square metres"),
    "sqmi": ("square mile", "square miles"), "mi2": ("square mile", "square miles"),
    "sqft": ("square foot", "square feet"), "m3": ("cubic metre", "cubic metres"), "l": ("litre", "litres"),
    "c": ("degree Celsius", "degrees Celsius"), "f": ("degree Fahrenheit", "degrees Fahrenheit"),
    "k": ("kelvin", "kelvins"), "kw": ("kilowatt", "kilowatts"), "mw": ("megawatt", "megawatts"),
    "hp": ("horsepower", "horsepower"), "km/h": ("kilometre per hour", "kilometres per hour"),
    "mph": ("mile per hour", "miles per hour"), "kn": ("knot", "knots"), "nm": ("nanometre", "nanometres"),
}  # fmt: skip
_BETWEEN = dict.fromkeys(("-", "–", "(-)"), "–") | {word: f" {word} " for word in ("and", "to", "or", "by", "x", "×")}
_SMALLER = {"ft": "in", "lb": "oz", "st": "lb", "yd": "ft", "mi": "ft"}


def _measure(values: Values) -> str:
    """`5 to 10 kilometres`: the measure as it was given; what it is in other units is left out."""
    parts = _unnamed(values)
    number, at = parts[0] if parts else "", 1
    while at + 1 < len(parts) and parts[at] in _BETWEEN:
        number += _BETWEEN[parts[at]] + parts[at + 1]
        at += 2
    unit = parts[at] if at < len(parts) else ""
    words = _with_unit(number, unit, values)
    if at + 2 < len(parts) and parts[at + 2] == _SMALLER.get(unit):
        words += " " + _with_unit(parts[at + 1], parts[at + 2], values)
    return words


def _with_unit(number: str, unit: str, values: Values) -> str:
    one, many = _UNITS.get(unit.casefold(), (unit, unit))
    if values.get("adj") in ("on", "mid", "1", "pre"):
        return f"{number}-{one}"
    if values.get("abbr") in ("on", "in", "yes", "unit"):
        return f"{number} {unit}"
    return f"{number} {one if number == '1' else many}".strip()


def _vessel(prefix: str) -> Show:
    return lambda values: f"{prefix} {values.get('1', '')}".strip()


def _names(text: str, show: Show) -> dict[str, Show]:
    return {name.strip(): show for name in text.split(",")}


_FUNCTIONS = {"formatnum", "lc", "uc", "lcfirst", "ucfirst", "nowrap"}
"""Functions of the parser that show their value: `{{formatnum:1234}}`."""

_PATTERNS: tuple[tuple[re.Pattern[str], Show], ...] = (
    (re.compile(r"lang-zh|zh|zh-[a-z]+"), _chinese),
    (re.compile(r"lang-[a-z-]+"), _one("1", "text")),
    (re.compile(r"script/[\w -]+"), _last),
)
"""Templates with a language in their names."""

_TEMPLATES: dict[str, Show] = {
    # Words of another language or script, and how they are spelt in this one.
    **_names("lang, langx, rtl-lang, wikt-lang, lang/it", _one("2", "text")),
    **_names("transl, tsl, transliteration, translit, xlit, tlit, script", _last),
    **_names("unicode, polytonic, hebrew, arabic, nastaliq, bdi, he, ivrit, rtl", _one("1", "text")),
    **_names("nihongo, 日本語", _japanese),
    **_names("nihongo2, nihongo krt, angbr, angle bracket, grapheme, gloss, lit, literal translation", _one("1")),
    **_names("ruby, ruby-ja, ルビ, 読み仮名, nq", _one("1")),
    # How words look.
    **_names("nowrap, nobr, nobreak, nowr, no wrap, nobold, noitalic, nonbold", _one("1", "text")),
    **_names("small, smaller, big, bigger, large, larger, huge, midsize, smalldiv, font color, color", _last),
    **_names("smallcaps, sc, sc1, sc2, scaps, small caps, allcaps, nocaps, caps, resize, font, fs90", _last),
    **_names("em, strong, var, mvar, code, kbd, tt, mono, samp, bold, italic, strike, overline, underline", _one("1")),
    **_names("sup, sub, su, highlight, mark, red, green, blue, sic, as written, not a typo, proper name", _one("1")),
    **_names("vanchor, visible anchor, term, dfn, defn, tooltip, hover title, comment, h:title", _one("1", "text")),
    **_names("abbr, abbrlink, abbreviation, define, ill, interlanguage link, link-interwiki, iw, le", _one("1")),
    **_names("仮リンク, нп, нп3, нп5, не переведено, linktext", _one("1")),
    **_names("flag, flagcountry, flagu, flag+link", _one("1")),
    # Quotations.
    **_names("quote, cquote, bquote, blockquote, quotation, quote box, rquote, poemquote, poem quote", _quotation),
    **_names("quote frame, long quotation, centered pull quote, citation bloc, zitat, cita, citace", _quotation),
    # Numbers, measures, formulae.
    **_names("convert, conv", _measure),
    **_names("cvt", lambda values: _measure({"abbr": "on", **values})),
    **_names("unité, unite, nombre, unidad, unità, number", _joined(" ")),
    **_names("val, gaps", _number),
    **_names("frac, sfrac, fraction, fract", _fraction),
    **_names("chem, chem2, chemf", _joined("")),
    **_names("nts, ntsh, number table sorting, formatnum, ordinal", _one("1")),
    **_names("e", lambda values: f"×10^{values.get('1', '')}"),
    # Dates and times.
    **_names("circa, c., ca, approx, circa.", _after("c.", " – c. ")),
    **_names("floruit, fl.", _after("fl.")),
    **_names("reign, r.", _after("r.")),
    **_names("born, b.", _after("b.")),
    **_names("died, d.", _after("d.")),
    **_names("as of, asof", _as_of),
    **_names("birth date, birth date and age, death date, death date and age, bda, dda, dob, birth-date", _date),
    **_names("start date, start date and age, end date, film date, release date, date, dts, start-date", _date),
    # Ships.
    **_names("ship", lambda values: " ".join(_unnamed(values)[:2]).strip()),
    **{name.lower(): _vessel(name) for name in ("HMS", "USS", "SS", "RMS", "MV", "MS", "SMS", "HMAS", "HMCS", "USCGC")},
    # Lists in the text.
    **_names("hlist, flatlist, flat list", _joined(", ")),
    **_names("ubl, unbulleted list, plainlist, plain list, bulleted list, ordered list", _joined("\n")),
    **_names("columns-list, colbegin-list", _last),
    # Marks.
    **_names("'s, ’s", _always("'s")),
    **_names("', ’, '-", _always("'")),
    **_names('\' ", \'", -"', _always("'\"")),
    **_names("us$", lambda values: f"US${values.get('1', '')}"),
    **_names("ndash, en dash, –, nsndns", _always("–")),
    **_names("snd, spnd, spaced ndash, spaced en dash, dash, mdashb", _always(" – ")),
    **_names("mdash, em dash, —", _always("—")),
    **_names("nbsp, space, spaces, thinsp, thin space, hair space, ensp, emsp", _always(" ")),
    **_names("·, dot, middot, bull, bullet, •", _always(" · ")),
    **_names("okina, hamza", _always("ʻ")),
}
"""Templates by their names, in small letters."""
