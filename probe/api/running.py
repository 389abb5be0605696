"""`probe.run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probe.api.progress import chosen_progress
from probe.api.refusals import one_refusal
from probe.experiment.given import Given
from probe.experiment.result import RunResult
from probe.experiment.run import run_experiment
from probe.experiment.settings import RunSettings, check_names
from probe.models.objects import take_models


@one_refusal
def run(
    model: Any = "minilm",
    corpus: Any = "wikipedia-sample",
    theta: float | Sequence[float] | None = None,
    *,
    tokenizer: Any = None,
    out: str | Path | None = None,
    cache: str | Path | None = None,
    figures: bool = True,
    figure_words: Sequence[str] = (),
    progress: Any = None,
    **settings: Any,
) -> RunResult:
    """Probe models for the topics of a corpus; the command `probe run` as a function.

    Args:
        model: a name (see `probe models`), a `Path`, a transformers model, a dict {name: (model, tokenizer)}, or a list
            of any of them. An object comes back as it was.
        corpus: a name (see `probe corpora`), a path, or texts (see `corpora.open_corpus`).
        theta: ambiguity threshold or several; the paper's three by default.
        tokenizer: of a model that is given as an object.
        out: a folder for the files; none are written by default.
        figures: draw the figures, too, where files are written.
        figure_words: words of the figure of dot products; chosen from the topics where none are named.
        cache: a folder for finished work.
        progress: receives the stages (see `probe.experiment.progress.Progress`). By default a notebook shows bars, and
            elsewhere nothing is shown; False for nothing anywhere.
        settings: the other fields of `probe.experiment.settings.RunSettings`.

    Returns:
        A result that prints as Table 1; its `tables` are pandas frames equal to the files of `probe run`.

    Raises:
        ProbeError: an argument or an input cannot be used.
    """
    chosen, given = take_settings(model, corpus, theta, tokenizer, settings)
    return run_experiment(
        chosen,
        out=out,
        write=out is not None,
        figures=figures,
        figure_words=figure_words,
        cache=cache,
        progress=chosen_progress(progress),
        given=given,
    )


def take_settings(
    model: Any, corpus: Any, theta: float | Sequence[float] | None, tokenizer: Any, settings: dict[str, Any]
) -> tuple[RunSettings, Given]:
    """The settings of a run, and the objects that some of them stand for; the arguments are those of `run`.

    Raises:
        ProbeError: an argument cannot be used.
    """
    check_names(settings)
    if theta is not None:
        settings = settings | {"theta": (theta,) if isinstance(theta, int | float) else tuple(theta)}
    corpus = str(corpus) if isinstance(corpus, Path) else corpus
    texts = None if isinstance(corpus, str) else corpus
    models, objects = take_models(model, tokenizer)
    named = corpus if texts is None else type(texts).__name__
    return RunSettings(model=models, corpus=named, **settings), Given(objects, texts)
