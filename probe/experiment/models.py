"""The models of a run are found, and refused early where they cannot be measured."""

from __future__ import annotations

from probe.errors import ProbeError
from probe.experiment.context import Context
from probe.models.families import family_of, usable_positions
from probe.models.loading import check_attention, load_config
from probe.models.sources import ModelSource, find_model


def find_models(context: Context) -> list[ModelSource]:
    """Find the models of a run.

    Raises:
        ProbeError: there is no such model, device or measure, or a model's config says that it cannot be measured.
    """
    with context.progress.stage("Loading libraries"):
        assert context.dtype and context.measures
    return [_checked(name, context) for name in context.settings.model]


def _checked(name: str, context: Context) -> ModelSource:
    settings = context.settings
    with context.progress.stage(f"Looking up model {name}"), context.timed("models"):
        source = context.given.models.get(name) or find_model(name)
        config = load_config(source)
        family = family_of(config)
        check_attention(name, family, settings.attention)
        positions = usable_positions(config, family)
        if positions is not None and settings.max_length > positions:
            raise ProbeError(
                f"--max-length {settings.max_length} is beyond the {positions} positions of {name}: "
                f"use at most {positions}."
            )
    return source
