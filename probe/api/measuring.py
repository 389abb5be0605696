"""`probe.measure`, `probe.random_baseline`: one model on topics that are fitted."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from probe.api.progress import chosen_progress
from probe.api.refusals import one_refusal
from probe.api.topics import FittedTopics, token_rules
from probe.errors import ProbeError
from probe.experiment.context import begin
from probe.experiment.given import Given
from probe.experiment.result import RunResult
from probe.experiment.run import run_stages
from probe.models.families import Weights
from probe.models.loading import load_tokenizer
from probe.models.objects import take_models
from probe.models.sources import find_model

# The settings that decide no tokens and no topics.
_OF_A_PASS = ("passages", "held_out", "attention", "device", "dtype", "batch_tokens", "resamples", "measure")


@one_refusal
def measure(
    model: Any,
    topics: FittedTopics,
    theta: float | Sequence[float] | None = None,
    *,
    tokenizer: Any = None,
    progress: Any = None,
    **settings: Any,
) -> RunResult:
    """Measure a model on topics that are fitted, without the random baseline.

    Args:
        model: one model with the tokenizer of the topics, as for `probe.run`.
        topics: from `fit_topics`.
        theta: ambiguity threshold or several; those of the topics by default.
        tokenizer: of a model that is given as an object.
        progress: receives the stages, as for `probe.run`.
        settings: fields of `probe.experiment.settings.RunSettings` that decide no topics: `passages`, `held_out`,
            `attention`, `device`, `dtype`, `batch_tokens`, `resamples`, `measure`.

    Raises:
        ProbeError: an argument cannot be used, or the model has another tokenizer.
    """
    return _measured("pretrained", model, topics, theta, tokenizer, progress, settings)


@one_refusal
def random_baseline(
    model: Any,
    topics: FittedTopics,
    theta: float | Sequence[float] | None = None,
    *,
    tokenizer: Any = None,
    progress: Any = None,
    **settings: Any,
) -> RunResult:
    """Measure the architecture of a model with random weights, made from its config and the seed of the topics.

    Args:
        model, topics, theta, tokenizer, progress, settings: as for `measure`.

    Raises:
        ProbeError: an argument cannot be used, or the model has another tokenizer.
    """
    return _measured("random", model, topics, theta, tokenizer, progress, settings)


def _measured(
    weights: Weights,
    model: Any,
    topics: FittedTopics,
    theta: float | Sequence[float] | None,
    tokenizer: Any,
    progress: Any,
    settings: dict[str, Any],
) -> RunResult:
    for name in settings:
        if name not in _OF_A_PASS:
            near = difflib.get_close_matches(name, _OF_A_PASS, n=1)
            hint = f"did you mean {near[0]}?" if near else "what decides the topics is given to fit_topics."
            raise ProbeError(f"A model is not measured with an argument {name}; {hint}")
    if theta is not None:
        settings = settings | {"theta": (theta,) if isinstance(theta, int | float) else tuple(theta)}
    names, objects = take_models(model, tokenizer)
    chosen = replace(topics.settings, model=names, baseline=weights == "random", **settings)
    if len(chosen.model) > 1:
        raise ProbeError("One model is measured at a time: name one, or use probe.run.")
    source = objects.get(chosen.model[0]) or find_model(chosen.model[0])
    if token_rules(load_tokenizer(source)) != topics.token_rules:
        raise ProbeError(
            f"The topics are of the tokens of {topics.model}, and {source.name} has another tokenizer: fit topics to "
            "its own, fit_topics(corpus, model)."
        )
    context = begin(chosen, topics.cache, chosen_progress(progress), Given(objects, topics.given.corpus))
    return run_stages(context, topics.opened, (weights,), topics=topics.fitted)
