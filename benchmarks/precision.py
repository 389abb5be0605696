"""bfloat16 against float32: passages a second, and how far the attention ratios move.

    OMP_NUM_THREADS=1 python benchmarks/precision.py [--passages N] [--turns N] [--out results/benchmarks]

A model in the size of BERT-base with random weights, and minilm, which is trained, read passages of the Wikipedia
sample in both types with `probe`'s pass. The passages' batches are divided into as many parts as there are turns; in
every turn both types read the same part, and after it the plain SDPA forward pass reads its first batch in both types
for reference. Seconds are processor time.

The shift of a ratio is its difference between the types as a share of the width of its float32 interval (bootstrap
over documents), for every theta of the paper in both assignments. One draw of random weights gives ratios so near 1
that the interval is narrow; tests/measures/test_attention.py bounds the shift for minilm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
from common import (
    SIZES,
    forward,
    parser,
    pass_reader,
    plain_module,
    processor_seconds,
    random_model,
    sample_plan,
    write,
)
from transformers import AutoModel, PreTrainedModel

from probe.experiment.plan import Plan
from probe.experiment.settings import RunSettings
from probe.measures.pairs import TopicPairs
from probe.measures.protocol import PassSums
from probe.measures.reading import PassReader
from probe.models.loaded import LoadedModel
from probe.models.loading import load_model
from probe.models.sources import find_model
from probe.statistics.bootstrap import draw_weights, resample_documents
from probe.statistics.estimate import interval
from probe.topics.assignment import KINDS, Assignment, assign_topics

DTYPES = ("float32", "bfloat16")


def trained_module(dtype: str) -> PreTrainedModel:
    """The weights of minilm, as transformers alone loads and runs them."""
    location = find_model("minilm").location
    return AutoModel.from_pretrained(location, dtype=getattr(torch, dtype), attn_implementation="sdpa").eval()


MODELS: dict[str, tuple[Callable[[str], LoadedModel], Callable[[str], PreTrainedModel]]] = {
    "BERT-base, random": (partial(random_model, SIZES["BERT-base"]), partial(plain_module, SIZES["BERT-base"])),
    "minilm, trained": (lambda dtype: load_model(find_model("minilm"), dtype=dtype), trained_module),
}


def ratio_and_interval(sums: PassSums, pairs: TopicPairs, assignment: Assignment) -> tuple[float, tuple[float, float]]:
    parts = [pairs.classes(sums.of["attention"][name], assignment) for name in ("documents", "document_pairs")]
    same, different = parts[0].sum(0) / parts[1].sum(0)
    draws = resample_documents(*parts, draw_weights(len(parts[0]), RunSettings.resamples, 0))
    return float(same / different), interval(draws[:, 0] / draws[:, 1])


def measure(name: str, plan: Plan, assignments: list[Assignment], turns: int) -> dict[str, object]:
    """Speed and shifts of one model."""
    load, load_plain = MODELS[name]
    pairs, documents = plan.probed.pairs, plan.probed.documents
    models = {dtype: load(dtype) for dtype in DTYPES}
    readers = {dtype: pass_reader(model, pairs, documents) for dtype, model in models.items()}
    plain = {dtype: load_plain(dtype) for dtype in DTYPES}
    rows = []

    def read(reader: PassReader, part: list[np.ndarray]) -> None:
        for chosen in part:
            reader.read(plan.batch_maker(chosen))

    # The batches come longest first, so that consecutive ones are alike.
    parts = [plan.batches[turn::turns] for turn in range(turns)]
    warm = plan.batch_maker(parts[0][0])
    for dtype in DTYPES:
        pass_reader(models[dtype], pairs, documents).read(warm)
        forward(plain[dtype], warm)
    for part in parts:
        first = plan.batch_maker(part[0])
        row: dict[str, float] = {"passages": sum(len(chosen) for chosen in part)}
        for dtype in DTYPES:
            row[dtype] = processor_seconds(partial(read, readers[dtype], part))
        for dtype in DTYPES:
            row[f"plain_{dtype}"] = processor_seconds(partial(forward, plain[dtype], first))
        print(row, flush=True)
        rows.append(row)
    shifts = []
    for assignment in assignments:
        exact, (low, high) = ratio_and_interval(readers["float32"].sums(), pairs, assignment)
        rounded, _ = ratio_and_interval(readers["bfloat16"].sums(), pairs, assignment)
        shift = {"theta": assignment.theta, "assignment": assignment.kind, "ratio": exact, "low": low, "high": high}
        shifts.append(shift | {"bfloat16": rounded, "shift": abs(rounded - exact) / (high - low)})
    found = {
        "model": name,
        "passages": sum(row["passages"] for row in rows),
        **{f"{dtype}_passages_a_second": median(row["passages"] / row[dtype] for row in rows) for dtype in DTYPES},
        "bfloat16_over_float32": median(row["float32"] / row["bfloat16"] for row in rows),
        "plain_bfloat16_over_float32": median(row["plain_float32"] / row["plain_bfloat16"] for row in rows),
        "largest_shift": max(shift["shift"] for shift in shifts),
    }
    print(found, flush=True)
    return found | {"rows": rows, "shifts": shifts}


def main() -> None:
    command = parser(__doc__, turns=5)
    command.add_argument("--passages", type=int, default=300)
    command.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    arguments = command.parse_args()
    with TemporaryDirectory() as folder:
        prepared, plan = sample_plan(Path(folder), passages=arguments.passages)
    assignments = [
        assign_topics(prepared.topic_word[0], theta, kind) for theta, kind in product(RunSettings.theta, KINDS)
    ]
    rows = [measure(name, plan, assignments, arguments.turns) for name in arguments.models]
    write(arguments.out, {"models": rows})


if __name__ == "__main__":
    main()
