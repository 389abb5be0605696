"""Stage four: a model's one pass over the passages, shared among ranks, kept as it goes, and not made twice."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError
from probe.experiment.context import Context, versions
from probe.experiment.oddities import judge
from probe.experiment.plan import Plan, asked_sizes, plan_pass
from probe.experiment.topics import Topics
from probe.measures.protocol import Measure, PassSums
from probe.measures.reading import PassReader, read_passages
from probe.measures.registry import identity
from probe.measures.sums import load_sums, save_sums
from probe.models.borrowing import borrowed
from probe.models.families import Weights
from probe.models.loading import load_model
from probe.models.sources import ModelSource

if TYPE_CHECKING:
    from probe.models.loaded import LoadedModel

_KEEP_EVERY = 10.0
_PACKAGES = ("numpy", "torch", "transformers")
# Of the files in which sums are kept.
_FORMAT = 2
_FILE = "sums.npz"


@dataclass(frozen=True)
class Passed:
    """What a pass leaves, and what it was made for.

    Attributes:
        plan: what was read.
        sums: of all measures.
        oddities: what is suspicious of the weights.
    """

    plan: Plan
    sums: PassSums
    oddities: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Kept:
    """What is known of a pass before it is made.

    Attributes:
        plan: what it reads.
        key: decides its sums, but for the measure.
        sums: of the measures that are kept from earlier; None where there are none.
        missing: names of the measures that are not.
    """

    plan: Plan
    key: dict[str, Any]
    sums: PassSums | None
    missing: list[str]


def pass_model(source: ModelSource, weights: Weights, topics: Topics | None, context: Context) -> Passed | None:
    """Pass a model over the passages, or find its sums finished.

    Sums for more words per topic than are asked for serve as well: a smaller theta needs no pass of its own. A
    measure whose sums are not there is read for in a pass of its own.

    Args:
        source: the model.
        weights: "pretrained" or "random".
        topics: of the corpus, on rank 0.
        context: of the run.

    Returns:
        The plan and the sums on rank 0; None on the other ranks.

    Raises:
        ProbeError: the model cannot be loaded, does not fit its tokenizer, or is suspicious and the run strict.
    """
    ranks = context.ranks
    oddities: list[str] = []
    kept = _kept(source, weights, topics, context) if topics is not None else None
    sums = kept.sums if kept else None
    if ranks.share(bool(kept and kept.missing)):
        if ranks.size > 1:
            kept = ranks.share(_for_others(kept) if kept else None)
        assert kept is not None
        with borrowed(source):
            model = _load_model(source, weights, context)
            _check_fit(model, kept.plan)
            if weights == "pretrained":
                oddities = judge(source, lambda: model.oddities, context)
            with context.timed("passes"):
                sums = _read(model, kept, sums, context)
    elif ranks.leads and weights == "pretrained":
        with borrowed(source):
            oddities = judge(source, lambda: _load_model(source, weights, context).oddities, context)
    return Passed(kept.plan, sums, oddities) if ranks.leads and kept and sums else None


def _load_model(source: ModelSource, weights: Weights, context: Context) -> LoadedModel:
    with context.progress.stage(f"Loading {source.name} ({weights})"), context.timed("models"):
        return load_model(
            source,
            weights,
            attention=context.settings.attention,
            device=context.device,
            dtype=context.dtype,
            random_state=context.settings.seed,
        )


def _kept(source: ModelSource, weights: Weights, topics: Topics, context: Context) -> _Kept:
    """Look for the sums of a pass, those that are asked for first, then those of more words per topic."""
    settings, cache = context.settings, context.cache
    asked = asked_sizes(settings.theta, len(topics.bags.words))
    key = {
        "format": _FORMAT,
        "topics": topics.key,
        "lda_seeds": settings.lda_seeds,
        "seed": settings.seed,
        "passages": settings.passages,
        "held_out": settings.held_out,
        "max_length": settings.max_length,
        "batch_tokens": settings.batch_tokens,
        "model": source.computed_by if weights == "pretrained" else source.fingerprint,
        "weights": weights,
        "attention": settings.attention,
        "device": context.device.split(":")[0],
        "dtype": context.dtype,
        "versions": versions(_PACKAGES),
    }
    read = [measure for measure in context.measures if measure.reads]
    found = [one["sizes"] for one in cache.keys("sums") if one.items() >= key.items()]
    # Sums of other sizes are equal but for rounding.
    wider = {tuple(sizes) for sizes in found if set(asked) < set(sizes)}
    for sizes in (asked, *sorted(map(list, wider), key=lambda sizes: (len(sizes), sizes))):
        loaded = [_load_sums(measure, key | {"sizes": sizes}, context) for measure in read]
        there = [one for one in loaded if one is not None]
        if len(there) == len(read):
            note = "" if sizes == asked else ", made for a wider theta"
            context.progress.note(f"Pass of {source.name} ({weights}): already finished{note}.")
            return _Kept(plan_pass(topics, sizes, context), key, _together(there), [])
        if sizes == asked:
            partly = there
    missing = [measure.name for measure in read if all(measure.name not in one.of for one in partly)]
    sums = _together(partly) if partly else None
    return _Kept(plan_pass(topics, asked, context), key | {"sizes": asked}, sums, missing)


def _load_sums(measure: Measure, key: dict[str, Any], context: Context) -> PassSums | None:
    folder = context.cache.find("sums", key | {"measure": identity(measure)})
    return load_sums(folder / _FILE) if folder else None


def _together(parts: Sequence[PassSums]) -> PassSums:
    """The sums of several measures as those of one pass."""
    return replace(parts[0], of={name: arrays for part in parts for name, arrays in part.of.items()})


def _for_others(kept: _Kept) -> _Kept:
    """What the other ranks need: they hold no corpus, and finished sums are rank 0's."""
    return replace(kept, plan=replace(kept.plan, batch_maker=kept.plan.batch_maker.alone()), sums=None)


def _write(sums: PassSums, folder: Path) -> None:
    save_sums(folder / _FILE, sums)


def _check_fit(model: LoadedModel, plan: Plan) -> None:
    embedded = model.module.get_input_embeddings().weight.shape[0]
    if plan.largest_id >= embedded:
        raise ProbeError(
            f"The tokenizer of {model.name} does not fit its weights: it gives ids up to {plan.largest_id}, and there "
            f"are {embedded} embeddings; use the model's own tokenizer."
        )


def _read(model: LoadedModel, kept: _Kept, finished: PassSums | None, context: Context) -> PassSums:
    """Pass the model over this rank's batches, and add up the sums of all ranks."""
    ranks, cache, plan = context.ranks, context.cache, kept.plan
    measures = [measure for measure in context.measures if measure.name in kept.missing]
    share = {"rank": ranks.rank, "ranks": ranks.size} if ranks.size > 1 else {}
    unfinished = cache.unfinished("sums", kept.key | share | {"measures": [identity(one) for one in measures]})
    batches = plan.batches[ranks.rank :: ranks.size]
    name = f"{model.name} ({model.weights})"
    start = load_sums(unfinished)
    if start is not None:
        context.progress.note(f"Pass of {name}: goes on after batch {start.batches} of {len(batches)}.")
    passages_read = np.cumsum([len(batch) for batch in batches])
    with context.progress.stage(f"Reading attention of {name}", int(passages_read[-1])) as stage:
        saved = time.monotonic()

        def after_batch(reader: PassReader, number: int) -> None:
            nonlocal saved
            stage.at(int(passages_read[number - 1]))
            if time.monotonic() - saved > _KEEP_EVERY and (number < len(batches) or ranks.size > 1):
                save_sums(unfinished, reader.sums())
                saved = time.monotonic()

        sums = read_passages(
            model,
            plan.batch_maker.on(model.device),
            batches,
            measures,
            plan.probed,
            start=start,
            after_batch=after_batch,
            add=ranks.add,
        )
    if ranks.leads:
        for measure in measures:
            part = replace(sums, of={measure.name: sums.of[measure.name]})
            cache.make("sums", kept.key | {"measure": identity(measure)}, partial(_write, part))
    unfinished.unlink(missing_ok=True)
    return _together([sums, finished]) if finished else sums
