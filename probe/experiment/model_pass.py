"""A model's one pass over the passages: planned, shared among ranks, kept as it goes, found finished."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.errors import ProbeError
from probe.experiment.context import Context, versions
from probe.experiment.preparation import Prepared
from probe.measures.attention import AttentionSums, measure_attention
from probe.measures.batches import BatchMaker
from probe.measures.cooccurrence import TopPairs, top_cooccurring
from probe.measures.pairs import TopicPairs, topic_pairs
from probe.models.families import Weights
from probe.models.loading import load_model
from probe.models.sources import ModelSource
from probe.text.passages import cut_passages, held_out, pack, sample_passages
from probe.topics.theta import THETAS, words_per_topic

if TYPE_CHECKING:
    from probe.measures.attention import AttentionReader
    from probe.models.loaded import LoadedModel

_KEEP_EVERY = 10.0
_PACKAGES = ("numpy", "torch", "transformers")
# Every number of words per topic up to this one is summed, so that a changed theta needs no new pass.
_EVERY_SIZE_TO = 256


@dataclass(frozen=True)
class Plan:
    """What a pass needs to know of the corpus and its topics.

    Attributes:
        batch_maker: of the probed passages.
        batches: indices of passages.
        pairs: classes of the pairs.
        top: the pairs that co-occur most.
        largest_id: of any token of the corpus.
    """

    batch_maker: BatchMaker
    batches: list[np.ndarray]
    pairs: TopicPairs
    top: TopPairs
    largest_id: int


def asked_sizes(thetas: Sequence[float], n: int) -> list[int]:
    """The numbers of words per topic, k, that a pass is made for: those that are asked for, and all up to 256.

    They reach at least to the widest theta of the paper, so that what is kept serves all of them.

    Args:
        thetas: that are asked for.
        n: size of the LDA dictionary.
    """
    asked = {words_per_topic(theta, n) for theta in thetas}
    widest = max(*asked, words_per_topic(max(THETAS), n))
    return sorted(asked | set(range(1, min(widest, _EVERY_SIZE_TO) + 1)))


def plan_pass(prepared: Prepared, sizes: Sequence[int], context: Context) -> Plan:
    """Choose the passages, and classify the pairs of words.

    Args:
        prepared: the corpus.
        sizes: numbers of words per topic.
        context: of the run.

    Raises:
        ProbeError: the passages come from one document.
    """
    settings = context.settings
    passages = cut_passages(prepared.tokens, settings.max_length, len(prepared.specials))
    if settings.held_out:
        passages = passages[held_out(passages)]
    passages = sample_passages(passages, settings.passages, settings.seed)
    if len(np.unique(passages.document)) < 2:
        raise ProbeError(
            f"The {len(passages)} probed passages come from one document, and intervals are drawn over documents: "
            "raise --passages or give more documents."
        )
    top = top_cooccurring(prepared.bags, prepared.vocabulary, sizes[-1] * (sizes[-1] - 1) // 2)
    pairs = topic_pairs(
        prepared.topic_word,
        sizes,
        prepared.bags.words,
        prepared.vocabulary,
        more_words={*top.first.tolist(), *top.second.tolist()},
    )
    batch_maker = BatchMaker(prepared.tokens, passages, prepared.specials, pairs.words, len(prepared.vocabulary))
    batches = pack(batch_maker.lengths, settings.batch_tokens)
    return Plan(batch_maker, batches, pairs, top, int(prepared.tokens.ids.max()))


def pass_model(
    source: ModelSource,
    weights: Weights,
    prepared: Prepared | None,
    device: str,
    dtype: str,
    context: Context,
) -> tuple[Plan, AttentionSums] | None:
    """Pass a model over the passages, or find its sums finished.

    Sums for more words per topic than are asked for serve as well: a smaller theta needs no pass of its own.

    Args:
        source: the model.
        weights: "pretrained" or "random".
        prepared: the corpus, on rank 0.
        device: a torch device.
        dtype: of the weights.
        context: of the run.

    Returns:
        The plan and the sums on rank 0; None on the other ranks.

    Raises:
        ProbeError: the model cannot be loaded, or does not fit its tokenizer.
    """
    settings, ranks = context.settings, context.ranks
    name = f"{source.name} ({weights})"
    plan: Plan | None = None
    sums: AttentionSums | None = None
    key: dict[str, Any] = {}
    if prepared is not None:
        plan, sums, key = _planned(source, weights, prepared, device, dtype, context)
    if ranks.share(sums is None):
        if ranks.size > 1:
            alone = replace(plan, batch_maker=plan.batch_maker.alone()) if plan else None
            plan, key = ranks.share((alone, key))
        assert plan is not None
        with context.progress.stage(f"Loading {name}"), context.timed("models"):
            model = load_model(
                source,
                weights,
                attention=settings.attention,
                device=device,
                dtype=dtype,
                random_state=settings.seed,
            )
        _check_fit(model, plan)
        with context.timed("passes"):
            sums = _read(model, plan, key, context)
    if not ranks.leads:
        return None
    assert plan is not None and sums is not None
    return plan, sums


def _planned(
    source: ModelSource, weights: Weights, prepared: Prepared, device: str, dtype: str, context: Context
) -> tuple[Plan, AttentionSums | None, dict[str, Any]]:
    """The plan, the sums where they are found finished, and what decides them."""
    settings = context.settings
    asked = asked_sizes(settings.theta, len(prepared.bags.words))
    key = {
        "topics": prepared.key,
        "lda_seeds": settings.lda_seeds,
        "seed": settings.seed,
        "passages": settings.passages,
        "held_out": settings.held_out,
        "max_length": settings.max_length,
        "batch_tokens": settings.batch_tokens,
        "model": source.fingerprint,
        "weights": weights,
        "attention": settings.attention,
        "device": device.split(":")[0],
        "dtype": dtype,
        "versions": versions(_PACKAGES),
    }
    finished = [one["sizes"] for one in context.cache.keys("sums") if one == key | {"sizes": one.get("sizes")}]
    # Those that are asked for, if they are there; sums of other sizes are equal but for rounding.
    wider = sorted((sizes for sizes in finished if set(asked) <= set(sizes)), key=lambda sizes: (len(sizes), sizes))
    for sizes in wider:
        folder = context.cache.find("sums", key | {"sizes": sizes})
        if folder and (sums := AttentionSums.load(folder / "sums.npz")):
            note = "" if sizes == asked else ", made for a wider theta"
            context.progress.note(f"Pass of {source.name} ({weights}): found finished{note}.")
            return plan_pass(prepared, sizes, context), sums, key
    return plan_pass(prepared, asked, context), None, key | {"sizes": asked}


def _check_fit(model: LoadedModel, plan: Plan) -> None:
    embedded = model.module.get_input_embeddings().weight.shape[0]
    if plan.largest_id >= embedded:
        raise ProbeError(
            f"The tokenizer of {model.name} does not fit its weights: it gives ids up to {plan.largest_id}, and there "
            f"are {embedded} embeddings; use the model's own tokenizer."
        )


def _read(model: LoadedModel, plan: Plan, key: dict[str, Any], context: Context) -> AttentionSums:
    """Pass the model over this rank's batches, and add up the sums of all ranks."""
    ranks, cache = context.ranks, context.cache
    share = {"rank": ranks.rank, "ranks": ranks.size} if ranks.size > 1 else {}
    unfinished = cache.unfinished("sums", key | share)
    batches = plan.batches[ranks.rank :: ranks.size]
    name = f"{model.name} ({model.weights})"
    start = AttentionSums.load(unfinished)
    if start is not None:
        context.progress.note(f"Pass of {name}: goes on after batch {start.batches[0]} of {len(batches)}.")
    passages_read = np.cumsum([len(batch) for batch in batches])
    with context.progress.stage(f"Reading attention of {name}", int(passages_read[-1])) as stage:
        kept = time.monotonic()

        def after_batch(reader: AttentionReader, number: int) -> None:
            nonlocal kept
            stage.at(int(passages_read[number - 1]))
            if time.monotonic() - kept > _KEEP_EVERY and (number < len(batches) or ranks.size > 1):
                reader.sums().save(unfinished)
                kept = time.monotonic()

        batch_maker = plan.batch_maker.on(model.device)
        sums = measure_attention(model, batch_maker, batches, plan.pairs, start=start, after_batch=after_batch)
    # In place; the sums are rank 0's alone.
    for part in sums.parts():
        ranks.add(part)
    if ranks.leads:
        cache.make("sums", key, lambda folder: sums.save(folder / "sums.npz"))
    unfinished.unlink(missing_ok=True)
    return sums
