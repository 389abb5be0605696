"""The last stage: tables, figures and `run.json`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from probe.experiment.context import Context
from probe.experiment.estimation import Measured
from probe.experiment.words import word_dots
from probe.results.examples import FILE as EXAMPLES
from probe.results.examples import write_examples
from probe.results.tables import cooccurrence_table, layers_table, measures_table, ratio_table
from probe.results.topics import topic_effects_table, topic_map_table
from probe.results.writing import write_results
from probe.show.figures import draw_figures
from probe.storage.files import whole_set


def make_tables(measured: Sequence[Measured], context: Context) -> dict[str, pd.DataFrame]:
    """The tables of a run, by the names of their files.

    Args:
        measured: all models.
        context: of the run.
    """
    results = [one.result for one in measured]
    with context.progress.stage("Making tables"):
        measures = measures_table(results)
        # Both kinds of weights have the same topics.
        models = {one.result.model: one for one in measured}.values()
        return {
            "table1": ratio_table(1, measures, results),
            "table2": cooccurrence_table(measures, results),
            "table5": ratio_table(5, measures, results),
            "measures": measures,
            "layers": layers_table(results),
            "topics": pd.concat([one.topic_table for one in models], ignore_index=True),
            "topic_effects": topic_effects_table(results),
            "topic_map": pd.concat([_map(one) for one in models], ignore_index=True),
        }


def _map(measured: Measured) -> pd.DataFrame:
    topics = measured.topics
    counts = np.asarray(topics.bags.counts.sum(axis=0)).ravel()
    return topic_map_table(measured.result.model, topics.topic_word[0], counts)


def write_run(
    folder: Path,
    tables: Mapping[str, pd.DataFrame],
    info: Mapping[str, Any],
    measured: Sequence[Measured],
    examples: Sequence[Mapping[str, Any]],
    words: Sequence[str] | None,
    context: Context,
) -> None:
    """Write the files of a run, all of them or none.

    Args:
        folder: where they go.
        tables: from `make_tables`.
        info: content of `run.json`.
        measured: all models.
        examples: of the pretrained ones, for `examples.json`; there is no such file where there are none.
        words: of the figure of dot products, chosen from the topics where there are none; None for no figures.
        context: of the run.

    Raises:
        ProbeError: the folder cannot be written, or a word carries no topic.
    """
    with whole_set(folder, last="run.json", replaced=["figures/*.png", "figures/*.svg", EXAMPLES]) as place:
        context.seconds["total"] = round(time.perf_counter() - context.started, 3)
        write_results(place, tables, info, context.seconds)
        if examples:
            corpus = {name: info["corpus"][name] for name in ("name", "license")}
            write_examples(place, {"corpus": corpus, "models": list(examples)})
        if words is not None:
            with context.progress.stage("Drawing figures"):
                dots = {
                    one.result.model: found
                    for one in measured
                    if one.result.weights == "pretrained" and (found := word_dots(one, words)) is not None
                }
                draw_figures(place, tables, dots)
