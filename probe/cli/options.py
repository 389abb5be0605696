"""Options made of a settings class: names, types, defaults and help are those of its fields."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from types import GenericAlias
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

_ATTRIBUTE = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<text>.*(?:\n     +.*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """How the fields of a settings class stand on the command line.

    Attributes:
        panels: titles of the help's panels, and the fields in each, in the order of the help.
        names: of options that are not called like their field.
        shown: what the help shows as a default that a field does not have itself.
        short: one-letter names.
    """

    panels: Mapping[str, Sequence[str]]
    names: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    short: Mapping[str, str] = field(default_factory=dict)


def options_of(settings: type, layout: Layout) -> list[inspect.Parameter]:
    """The options of a settings class, as the parameters of a typer command.

    Args:
        settings: a dataclass whose docstring describes its attributes.
        layout: which fields are options, and where they stand.
    """
    described = attribute_help(settings)
    types = get_type_hints(settings)
    by_name = {one.name: one for one in fields(settings)}
    return [
        _option(by_name[name], types[name], described[name], panel, layout)
        for panel, names in layout.panels.items()
        for name in names
    ]


def settings_from(settings: type, layout: Layout, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a settings class that were given on the command line.

    Args:
        settings: the dataclass.
        layout: as for `options_of`.
        given: values of all options, by parameter name.
    """
    types = get_type_hints(settings)
    names = [name for panel in layout.panels.values() for name in panel]
    values = {name: given[_parameter(name, layout)] for name in names}
    return {name: _value(value, types[name]) for name, value in values.items() if value is not None}


def command(function: Callable[..., None], options: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """A typer command with options of its own and more, which it receives as keywords.

    Args:
        function: takes its own options, and the others as `**options`.
        options: the others; they come first in the help.
    """
    own = inspect.signature(function, eval_str=True).parameters.values()
    last = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*options, *last)]

    def run(**given: Any) -> None:
        function(**given)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def attribute_help(settings: type) -> dict[str, str]:
    """What a class's docstring says of each attribute, as help text."""
    text = (inspect.getdoc(settings) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    found = {}
    for match in _ATTRIBUTE.finditer(text):
        sentence = re.sub(r"\s+", " ", match["text"]).replace("`", "")
        found.update(dict.fromkeys(match["names"].split(", "), sentence))
    return found


def _option(one: Field[Any], kind: Any, text: str, panel: str, layout: Layout) -> inspect.Parameter:
    repeatable = get_origin(kind) is tuple
    default = None if repeatable or one.default is MISSING else one.default
    if not isinstance(default, bool | int | str | None):
        default = str(default)
    parameter = _parameter(one.name, layout)
    option = typer.Option(
        *(["--" + parameter.replace("_", "-"), layout.short[one.name]] if one.name in layout.short else []),
        help=text.removesuffix(".") + "; repeatable." if repeatable else text,
        rich_help_panel=panel or None,
        show_default=layout.shown.get(one.name, True),
    )
    annotation: Any = Annotated[_typed(kind), option]
    return inspect.Parameter(parameter, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parameter(name: str, layout: Layout) -> str:
    return layout.names.get(name, name)


def _typed(kind: Any) -> Any:
    """The type of an option: a list for a tuple, text for a number that may also be a name."""
    if get_origin(kind) is tuple:
        repeated: Any = GenericAlias(list, get_args(kind)[0])
        return repeated | None
    return str if kind == float | str else kind


def _value(value: Any, kind: Any) -> Any:
    if get_origin(kind) is tuple:
        return tuple(value) if value else None
    if kind == float | str:
        try:
            return float(value)
        except ValueError:
            return value
    return value
