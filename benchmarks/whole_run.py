"""One run, from text to tables and figures, against the parts that nobody can do without.

    OMP_NUM_THREADS=1 python benchmarks/whole_run.py [--passages N] [--turns N] [--out results/benchmarks]

The run is `probe run` with an empty cache. The parts are tokenizing the same texts, fitting the same topic
model to the same bags of words, and plain SDPA forward passes of the trained and the random minilm over the same
batches, in the run's type. In turns in one process; processor time; medians. What imports cost is in neither.

The share of padding is that of a run's batches, for passages of 128 and of 512 tokens at most.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from common import LENGTHS, forward, in_turns, parser, sample_plan, write
from transformers import AutoModel, AutoTokenizer

import probe
from corpora import open_corpus
from probe.experiment.settings import RunSettings
from probe.experiment.topics import Topics
from probe.models.devices import choose_dtype
from probe.models.loading import load_config
from probe.models.sources import find_model
from probe.text.passages import cut_passages, pack, padding_share, sample_passages
from probe.topics.lda import fit_lda
from probe.topics.settings import LdaSettings


def padding_of(topics: Topics, size: int, length: int) -> float:
    """Share of padding in the batches of a run with passages of a length."""
    passages = cut_passages(topics.text.tokens, length, len(topics.text.specials))
    chosen = sample_passages(passages, size, RunSettings.seed)
    lengths = chosen.stop - chosen.start + len(topics.text.specials)
    return padding_share(lengths, pack(lengths, RunSettings.batch_tokens))


def main() -> None:
    command = parser(__doc__, turns=1)
    command.add_argument("--passages", type=int, default=RunSettings.passages)
    arguments = command.parse_args()
    source = find_model(RunSettings.model[0])
    with TemporaryDirectory() as folder:
        topics, plan = sample_plan(Path(folder), passages=arguments.passages)
    texts = [document.text for document in open_corpus(RunSettings.corpus)]
    tokenizer = AutoTokenizer.from_pretrained(source.location)
    dtype = getattr(torch, choose_dtype(RunSettings.dtype, "cpu"))
    modules = [
        AutoModel.from_pretrained(source.location, dtype=dtype, attn_implementation="sdpa").eval(),
        AutoModel.from_config(load_config(source), dtype=dtype, attn_implementation="sdpa").eval(),
    ]
    timings = []

    def run(passages: int) -> None:
        with TemporaryDirectory() as folder:
            timings.append(probe.run(passages=passages, out=f"{folder}/out", cache=f"{folder}/cache").seconds)

    def pass_plainly() -> None:
        for module in modules:
            for batch in plan.batches:
                forward(module, plan.batch_maker(batch))

    run(20)  # imports what a run needs
    seconds = in_turns(
        {
            "run": partial(run, arguments.passages),
            "tokenize": lambda: tokenizer(texts, add_special_tokens=False, verbose=False),
            "topics": lambda: fit_lda(topics.bags.counts, LdaSettings()),
            "passes": pass_plainly,
        },
        arguments.turns,
        warm_up=False,
    )
    report = {
        "passages": arguments.passages,
        "turns": arguments.turns,
        "seconds": seconds,
        "run_over_parts": seconds["run"] / sum(taken for way, taken in seconds.items() if way != "run"),
        "padding_share": {length: padding_of(topics, arguments.passages, length) for length in LENGTHS},
        "seconds_in_run": timings[-1],
    }
    print(report)
    write(arguments.out, report)


if __name__ == "__main__":
    main()
