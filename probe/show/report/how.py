"""Everything that is needed to repeat a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probe.show.report.sources import Tables
from probe.show.report.subjects import shortened

# Options that are not called like their argument, and arguments that no option sets.
_NAMES = {"lda.engine": "lda", "lda.topics": "topics"}
_FIRST = ("model", "corpus", "theta")
_NO_OPTION = {"held_out", "lda.random_state"}
_NOT_OF_TRAININGS = {"baseline", "examples", "measure"}
# Models listed one by one.
_LISTED = 8


@dataclass(frozen=True)
class How:
    """How a run was made.

    Attributes:
        name: of its folder.
        command: that repeats it, every argument spelled out.
        facts: what and how much was read.
        fingerprints: of the corpus and the models.
        versions: of the packages.
        settings: the run's whole record, as JSON.
    """

    name: str
    command: str
    facts: list[tuple[str, str]]
    fingerprints: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    settings: str


def how(folder: Tables) -> How:
    """How the run or training in a folder was made.

    Args:
        folder: of a finished run, or of a training that `probe dynamics` measured.
    """
    info = folder.info
    corpus, arguments = dict(info.get("corpus", {})), dict(info.get("arguments", {}))
    command = "probe run"
    if "steps" in info:
        command = f"probe dynamics {shlex.quote(str(info.get('model', 'MODEL')))}"
        arguments = {name: value for name, value in arguments.items() if name not in _NOT_OF_TRAININGS}
    facts = [("corpus", f"{corpus.get('name', '?')} ({corpus.get('license', 'license not stated')})")]
    facts += [("seed", str(arguments.get("seed", "?"))), ("device", str(info.get("device", "?")))]
    versions = [(name, str(version)) for name, version in dict(info.get("versions", {})).items()]
    settings = json.dumps(info, indent=2, sort_keys=True, ensure_ascii=False)
    models = list(info.get("models", []))
    read, fingerprints = _read_and_fingerprints(models[:_LISTED])
    if len(models) > _LISTED:
        read.append(("and more", f"{len(models) - _LISTED} models, in the record below"))
    fingerprints = [("corpus", str(corpus.get("fingerprint", "?"))), *fingerprints]
    return How(folder.name, spelled(command, arguments), facts + read, fingerprints, versions, settings)


def _read_and_fingerprints(models: Sequence[Mapping[str, Any]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What each model has read, and what it is; random weights have read the same, with the config of the same."""
    read, fingerprints = [], []
    for model in models:
        if model.get("weights") == "random":
            continue
        name = shortened(str(model.get("name")))
        counts = {one: model[one] for one in ("documents", "passages", "tokens", "labelled_words") if one in model}
        read.append((name, ", ".join(f"{count:,} {one.replace('_', ' ')}" for one, count in counts.items())))
        revision = f", revision {model['revision']}" if model.get("revision") else ""
        fingerprints.append((name, f"{model.get('fingerprint', '?')}{revision}"))
    return read, fingerprints


def spelled(command: str, arguments: Mapping[str, Any]) -> str:
    """A command with every argument spelled out, so that it holds whatever the defaults become.

    Args:
        command: its first words.
        arguments: as `run.json` has them.
    """
    flat: dict[str, Any] = {}
    for name, value in arguments.items():
        flat |= (
            {f"{name}.{inner}": one for inner, one in value.items()} if isinstance(value, Mapping) else {name: value}
        )
    words = [command]
    for name, value in sorted(flat.items(), key=lambda one: _FIRST.index(one[0]) if one[0] in _FIRST else len(_FIRST)):
        if name in _NO_OPTION or value is None:
            continue
        option = _NAMES.get(name, name.replace(".", "-")).replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
            continue
        for one in value if isinstance(value, list) else [value]:
            words.append(f"--{option} {shlex.quote(str(one))}")
    return " ".join(words)
