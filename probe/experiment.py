"""One run: what is computed, in which order, what is kept, and what is found finished.

    corpus -> tokens -> topics ----+
                  |                +-> estimates -> tables
                  +-> passages -> model pass

Tokens, topics and each model's sums are cached by content; the sums in the making are kept every few seconds, so a
run that is stopped goes on where it was.
"""

from __future__ import annotations

import json
import logging
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from probe.bags import Bags, bags_of_words
from probe.cache import Cache
from probe.errors import ProbeError
from probe.files import whole_set, write_array
from probe.lda import fit_lda
from probe.models.families import family_of, usable_positions
from probe.models.loading import (
    ModelSource,
    Weights,
    check_attention,
    find_model,
    load_config,
    load_tokenizer,
)
from probe.passages import cut_passages, pack, padding_share, sample_passages, special_tokens
from probe.progress import Progress, Silent
from probe.settings import LdaSettings, RunSettings
from probe.tokens import Tokens, tokenize
from probe.topics import KINDS, assign_topics, words_per_topic
from probe.vocabulary import Vocabulary, build_vocabulary

if TYPE_CHECKING:
    import pandas as pd

    from corpora import Corpus
    from probe.figures import WordDots
    from probe.measures.attention import AttentionReader, AttentionSums
    from probe.measures.pairs import TopicPairs
    from probe.tables import ModelResult

logger = logging.getLogger(__name__)

DEFAULT_OUT = Path("results")
RUN_FORMAT = 1
_KEEP_EVERY = 10.0
# What decides the content of a cached entry besides the arguments.
_TOKEN_PACKAGES = ("tokenizers", "topic-probe", "transformers")
_TOPIC_PACKAGES = ("gensim", "numpy", "scipy")
_MODEL_PACKAGES = ("numpy", "torch", "transformers")
_PACKAGES = ("datasets", "gensim", "nltk", "numpy", "pandas", "scipy", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class RunResult:
    """What a run found.

    Attributes:
        tables: frames by name: table1, table2, table5, measures, layers, topics.
        info: the content of `run.json`.
        folder: where the files are; None where none were written.
    """

    tables: dict[str, pd.DataFrame]
    info: dict[str, Any]
    folder: Path | None


@dataclass
class _Context:
    """What all steps of a run share."""

    settings: RunSettings
    cache: Cache
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the seconds of a block to a name of `run.json`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)


@dataclass(frozen=True)
class _Prepared:
    """A corpus as one model reads it, with its topics; the bags are of passages."""

    source: ModelSource
    vocabulary: Vocabulary
    tokens: Tokens
    bags: Bags
    topic_word: list[np.ndarray]
    topics: pd.DataFrame
    texts: int
    key: dict[str, Any]


def default_folder(settings: RunSettings, corpus_name: str) -> Path:
    """The folder of a run that names none: `results/MODEL-CORPUS`."""
    models = "+".join(re.sub(r"[^\w.]+", "-", name).strip("-.") for name in settings.model)
    return DEFAULT_OUT / f"{models[:80]}-{corpus_name}"


def run_experiment(
    settings: RunSettings,
    *,
    out: Path | str | None = None,
    write: bool = True,
    figures: bool = True,
    words: Sequence[str] = (),
    cache: Path | str | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Probe models for the topics of a corpus.

    Args:
        settings: every argument.
        out: folder for the files; `results/MODEL-CORPUS` by default.
        write: write the files.
        figures: draw the figures, too, where files are written.
        words: words of the figure of dot products; chosen from the topics where none are named.
        cache: folder of finished work; `probe.cache.default_cache()` by default.
        progress: receives the stages.

    Raises:
        ProbeError: an argument or an input cannot be used.
        CorpusError: the corpus cannot be read.
    """
    from corpora import catalog, open_corpus
    from corpora.stop_words import stop_words

    context = _Context(settings, Cache(cache), progress or Silent())
    started = time.perf_counter()
    with context.progress.stage(f"Opening corpus {settings.corpus}"):
        corpus = open_corpus(
            settings.corpus,
            text_field=settings.text_field,
            title_field=settings.title_field,
            language=settings.language,
            encoding=settings.encoding,
            documents=settings.documents,
            sample=settings.sample,
            seed=settings.seed,
            unit=settings.unit,
        )
        stops = stop_words(corpus.language, settings.stop_words)
    with context.progress.stage("Loading libraries"):
        from probe.tables import (
            check_writable,
            cooccurrence_table,
            layers_table,
            measures_table,
            ratio_table,
            write_results,
        )
    folder = Path(out) if out is not None else default_folder(settings, corpus.name)
    if write:
        check_writable(folder)
    device = choose_device(settings.device)
    models: list[dict[str, Any]] = []
    sources = [_checked_source(name, settings, context) for name in settings.model]
    results: list[ModelResult] = []
    topic_frames = []
    word_dots: dict[str, WordDots] = {}
    report: dict[str, Any] = {}
    for source in sources:
        prepared, report = _prepare(source, corpus, stops.words, context)
        for weights in ("pretrained", "random") if settings.baseline else ("pretrained",):
            result, counts = _measure(prepared, weights, device, context)
            results.append(result)
            models.append({"name": source.name, "weights": weights, **counts})
        topic_frames.append(prepared.topics)
        if write and figures and (dots := _word_dots(prepared, words)) is not None:
            word_dots[source.name] = dots
    with context.progress.stage("Making tables"):
        import pandas as pd

        measures = measures_table(results)
        tables = {
            "table1": ratio_table(1, measures, results),
            "table2": cooccurrence_table(measures, results),
            "table5": ratio_table(5, measures, results),
            "measures": measures,
            "layers": layers_table(results),
            "topics": pd.concat(topic_frames, ignore_index=True),
        }
        context.seconds["total"] = round(time.perf_counter() - started, 3)
        info = {
            "format": RUN_FORMAT,
            "arguments": asdict(settings),
            "device": device,
            "corpus": {
                "name": corpus.name,
                # A named corpus is found by its name; where its file lies on this machine says nothing elsewhere.
                "source": next((e.how_read for e in catalog() if e.name == settings.corpus), corpus.source),
                "language": corpus.language,
                "license": corpus.license,
                "lda_unit": corpus.lda_unit,
                "fingerprint": corpus.fingerprint(),
                "report": report,
            },
            "stop_words": {"source": stops.source, "words": len(stops.words)},
            "models": models,
            "versions": {"python": platform.python_version(), "topic-probe": version("topic-probe")}
            | {package: version(package) for package in _PACKAGES},
            "seconds": context.seconds,
        }
    if write:
        with whole_set(folder, last="run.json", replaced="figures/*.[ps][nv]g") as place:
            write_results(place, tables, info)
            if figures:
                with context.progress.stage("Drawing figures"):
                    from probe.figures import draw_figures

                    draw_figures(place, tables, word_dots)
    return RunResult(tables, info, folder if write else None)


def choose_device(name: str) -> str:
    """A torch device by name; "auto" is a GPU where there is one.

    Raises:
        ProbeError: there is no such device.
    """
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "cpu"
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ProbeError(f"--device {name} is not to be had on this machine: use cpu, or leave it out.") from error
    return name


def _checked_source(name: str, settings: RunSettings, context: _Context) -> ModelSource:
    """Find a model and refuse it early where its config already says that it cannot be measured."""
    with context.progress.stage(f"Looking up model {name}"), context.timed("models"):
        source = find_model(name)
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


def _prepare(
    source: ModelSource, corpus: Corpus, stop_words: frozenset[str], context: _Context
) -> tuple[_Prepared, dict[str, Any]]:
    """Tokenize the corpus for a model and fit its topics, or find both finished."""
    settings, progress = context.settings, context.progress
    tokenizer = load_tokenizer(source)
    vocabulary = build_vocabulary(tokenizer, stop_words)
    key: dict[str, Any] = {
        "corpus": corpus.fingerprint(),
        "tokenizer": vocabulary.fingerprint,
        "versions": _versions(_TOKEN_PACKAGES),
    }

    def write_tokens(folder: Path) -> None:
        with progress.stage(f"Reading and tokenizing {corpus.name}", settings.documents) as stage:
            tokenize(corpus, tokenizer, vocabulary, folder, stage.at)
        (folder / "report.json").write_text(json.dumps(corpus.report().as_dict()), encoding="utf-8")

    with context.timed("tokens"):
        folder, found = context.cache.make("tokens", key, write_tokens)
        if found:
            progress.note(f"Tokens of {corpus.name} for {source.name}: found finished.")
        tokens = Tokens.load(folder)
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    if len(np.unique(tokens.whole)) < 2:
        raise ProbeError(
            f"The corpus {corpus.name} holds one document, and intervals are drawn over documents: give at least "
            "two (a folder of .txt files, or a .jsonl with a document a line)."
        )
    key = {
        "tokens": key,
        "unit": corpus.lda_unit if corpus.lda_unit == "document" else f"passage of {settings.max_length}",
        "lda": asdict(settings.lda) | {"random_state": settings.seed},
        "versions": _versions(_TOPIC_PACKAGES),
    }
    passages = cut_passages(tokens, settings.max_length, len(special_tokens(tokenizer)))
    with context.timed("bags"):
        bags = bags_of_words(tokens, np.append(passages.start, tokens.offsets[-1]))
        lda_bags = bags if corpus.lda_unit == "passage" else bags_of_words(tokens, tokens.offsets)
    topic_word = []
    for seed in range(settings.seed, settings.seed + settings.lda_seeds):
        lda = LdaSettings(**(asdict(settings.lda) | {"random_state": seed}))
        key = key | {"lda": asdict(lda)}

        def write_topics(folder: Path, lda: LdaSettings = lda) -> None:
            description = f"Fitting {lda.topics} topics to {lda_bags.counts.shape[0]:,} {corpus.lda_unit}s"
            with progress.stage(description, 1.0) as stage:
                write_array(folder / "topic_word.npy", fit_lda(lda_bags.counts, lda, stage.at))

        with context.timed("lda"):
            folder, found = context.cache.make("topics", key, write_topics)
        if found:
            progress.note(f"Topics of {corpus.name} for {source.name} (seed {seed}): found finished.")
        topic_word.append(np.load(folder / "topic_word.npy"))
    from probe.tables import topics_table

    topics = topics_table(source.name, settings.theta, topic_word[0], bags.words, vocabulary)
    texts = lda_bags.counts.shape[0]
    return _Prepared(source, vocabulary, tokens, bags, topic_word, topics, texts, key), report


def _measure(
    prepared: _Prepared, weights: Weights, device: str, context: _Context
) -> tuple[ModelResult, dict[str, Any]]:
    """Pass a model over the passages, or find its sums finished, and estimate every measure."""
    from probe.estimates import PairStatistics, cooccurrence_means, estimate_all
    from probe.measures.batches import BatchMaker
    from probe.measures.cooccurrence import top_cooccurring
    from probe.measures.embeddings import word_vectors
    from probe.measures.pairs import topic_pairs
    from probe.models.loading import choose_dtype, load_model
    from probe.tables import ModelResult

    settings, source = context.settings, prepared.source
    specials = special_tokens(load_tokenizer(source))
    passages = sample_passages(
        cut_passages(prepared.tokens, settings.max_length, len(specials)), settings.passages, settings.seed
    )
    widest = max(words_per_topic(theta, len(prepared.bags.words)) for theta in settings.theta)
    top = top_cooccurring(prepared.bags, prepared.vocabulary, widest * (widest - 1) // 2)
    pairs = topic_pairs(
        [
            assign_topics(topic_word, theta, kind, seed)
            for seed, topic_word in enumerate(prepared.topic_word)
            for theta in settings.theta
            for kind in KINDS
        ],
        prepared.bags.words,
        prepared.vocabulary,
        more_words={*top.first.tolist(), *top.second.tolist()},
    )
    batch_maker = BatchMaker(prepared.tokens, passages, specials, pairs.words, len(prepared.vocabulary), device)
    if len(batch_maker.probed_documents) < 2:
        raise ProbeError(
            f"The {len(passages)} probed passages come from one document, and intervals are drawn over documents: "
            "raise --passages or give more documents."
        )
    batches = pack(batch_maker.lengths, settings.batch_tokens)
    dtype = choose_dtype(settings.dtype, device)
    with context.progress.stage(f"Loading {source.name} ({weights})"), context.timed("models"):
        model = load_model(
            source,
            weights,
            attention=settings.attention,
            device=device,
            dtype=dtype,
            random_state=settings.seed,
        )
    embedded = model.module.get_input_embeddings().weight.shape[0]
    if len(prepared.vocabulary) > embedded and int(prepared.tokens.ids.max()) >= embedded:
        raise ProbeError(
            f"The tokenizer of {source.name} does not fit its weights: it gives ids up to "
            f"{int(prepared.tokens.ids.max())}, and there are {embedded} embeddings; use the model's own tokenizer."
        )
    key = {
        "topics": prepared.key,
        "lda_seeds": settings.lda_seeds,
        "seed": settings.seed,
        "theta": list(settings.theta),
        "passages": settings.passages,
        "max_length": settings.max_length,
        "batch_tokens": settings.batch_tokens,
        "model": source.fingerprint,
        "weights": weights,
        "attention": settings.attention,
        "device": device,
        "dtype": dtype,
        "versions": _versions(_MODEL_PACKAGES),
    }
    with context.timed("passes"):
        sums = _attention_sums(model, batch_maker, batches, pairs, key, context)
    with (
        context.progress.stage(f"Intervals and nulls of {source.name} ({weights})"),
        context.timed("statistics"),
    ):
        vectors = word_vectors(model, pairs.words)
        statistics = PairStatistics.of(prepared.bags, pairs.words)
        estimates = estimate_all(vectors, sums, pairs, statistics, settings.resamples, settings.seed)
        cooccurrence = cooccurrence_means(vectors, sums, pairs, top)
    counts = {
        "fingerprint": source.fingerprint,
        "revision": source.revision,
        "family": model.family.name,
        "layers": model.layers,
        "heads": model.heads,
        "dtype": dtype,
        "tokenizer": prepared.vocabulary.fingerprint,
        "corpus_documents": prepared.tokens.documents,
        "corpus_tokens": len(prepared.tokens.ids),
        "lda_texts": prepared.texts,
        "vocabulary": len(prepared.bags.words),
        "documents": len(batch_maker.probed_documents),
        "passages": len(passages),
        "tokens": int(batch_maker.lengths.sum()),
        "padding_share": round(padding_share(batch_maker.lengths, batches), 4),
        "labelled_words": len(pairs),
        "labelled_occurrences": int(sums.occurrences.sum()),
    }
    return ModelResult(source.name, weights, estimates, sums, pairs, cooccurrence), counts


def _word_dots(prepared: _Prepared, words: Sequence[str]) -> WordDots | None:
    """Dot products of the words of Figure 3, from the pretrained embedding matrix; None where no topic has enough."""
    from probe.figures import WordDots, choose_words, find_words
    from probe.lda import npmi
    from probe.measures.embeddings import word_vectors
    from probe.models.loading import load_model

    if words:
        rows = find_words(prepared.topics, words)
    else:
        coherence = np.array([npmi(topic[None], prepared.bags.counts) for topic in prepared.topic_word[0]])
        rows = choose_words(prepared.topics, coherence)
        if rows.empty:
            return None
    token_id = {token: index for index, token in enumerate(prepared.vocabulary.tokens)}
    vectors = word_vectors(load_model(prepared.source), np.array([token_id[token] for token in rows["token"]]))
    return WordDots(rows["surface"].tolist(), rows["topic"].tolist(), vectors @ vectors.T)


def _attention_sums(
    model: Any,
    batch_maker: Any,
    batches: Sequence[np.ndarray],
    pairs: TopicPairs,
    key: Mapping[str, Any],
    context: _Context,
) -> AttentionSums:
    from probe.measures.attention import AttentionSums, measure_attention

    name = f"{model.name} ({model.weights})"
    if found := context.cache.find("sums", key):
        sums = AttentionSums.load(found / "sums.npz")
        if sums is not None:
            context.progress.note(f"Pass of {name}: found finished.")
            return sums
    unfinished = context.cache.unfinished("sums", key)
    start = AttentionSums.load(unfinished)
    if start is not None:
        context.progress.note(f"Pass of {name}: goes on after batch {start.batches[0]} of {len(batches)}.")
    passages_read = np.cumsum([len(batch) for batch in batches])
    with context.progress.stage(f"Reading attention of {name}", int(passages_read[-1])) as stage:
        kept = time.monotonic()

        def after_batch(reader: AttentionReader, number: int) -> None:
            nonlocal kept
            stage.at(int(passages_read[number - 1]))
            if time.monotonic() - kept > _KEEP_EVERY and number < len(batches):
                reader.sums().save(unfinished)
                kept = time.monotonic()

        sums = measure_attention(model, batch_maker, batches, pairs, start=start, after_batch=after_batch)
    context.cache.make("sums", key, lambda folder: sums.save(folder / "sums.npz"))
    unfinished.unlink(missing_ok=True)
    return sums


def _versions(packages: Sequence[str]) -> dict[str, str]:
    return {package: version(package) for package in packages}
