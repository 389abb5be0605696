"""What a run says of itself: `run.json`, enough to repeat it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from corpora import Corpus, catalog
from probe.experiment.context import Context, versions
from probe.experiment.estimation import Measured
from probe.experiment.text import OpenText
from probe.models.sources import OBJECT
from probe.results.writing import RUN_FORMAT

_PACKAGES = (
    "topic-probe",
    "datasets",
    "gensim",
    "nltk",
    "numpy",
    "pandas",
    "scipy",
    "tokenizers",
    "torch",
    "transformers",
)


def describe(measured: Sequence[Measured], opened: OpenText, context: Context) -> dict[str, Any]:
    """The content of `run.json`.

    Args:
        measured: all models.
        opened: the corpus.
        context: of the run.
    """
    settings, corpus = context.settings, opened.corpus
    # A named corpus is found by its name; where its file lies on this machine says nothing elsewhere.
    named = next((entry.how_read for entry in catalog() if entry.name == settings.corpus), corpus.source)
    return {
        "format": RUN_FORMAT,
        "arguments": _arguments(context) | _objects(corpus, context),
        "device": context.device,
        "ranks": context.ranks.size,
        "corpus": {
            "name": corpus.name,
            "source": named,
            "language": corpus.language,
            "license": corpus.license,
            "lda_unit": corpus.lda_unit,
            "fingerprint": corpus.fingerprint(),
            "report": measured[-1].topics.text.report,
        },
        "stop_words": {"source": opened.stop_words.source, "words": len(opened.stop_words.words)},
        "models": [one.facts for one in measured],
        "versions": {"python": platform.python_version()} | versions(_PACKAGES),
    }


def _arguments(context: Context) -> dict[str, Any]:
    """Every argument; strictness where it was asked for, since it decides no number."""
    return {name: value for name, value in asdict(context.settings).items() if (name, value) != ("strict", False)}


def _objects(corpus: Corpus, context: Context) -> dict[str, Any]:
    """The arguments that were objects, which no name brings back: their class and fingerprint."""
    given = context.given
    found: dict[str, Any] = {}
    if given.models:
        found["model"] = [
            f"{OBJECT}{type(source.given.model).__name__}:{source.fingerprint}"
            if (source := given.models.get(name)) and source.given
            else name
            for name in context.settings.model
        ]
    if given.corpus is not None:
        found["corpus"] = f"{OBJECT}{context.settings.corpus}:{corpus.fingerprint()}"
    return found
