"""The script that a researcher would write, against `probe`'s pass at its best setting, on the same real passages.

    OMP_NUM_THREADS=1 python benchmarks/straightforward.py [--passages N] [--turns N] [--out results/benchmarks]

The model is BERT-base in size with random weights; the passages are drawn from the Wikipedia sample, 128 tokens each
at most, with the tokenizer of minilm (BERT's own vocabulary).

- script: float32, eager attention with `output_attentions=True`, batches of 16 passages in corpus order, padded, and
  NumPy sums for one theta in single assignment;
- probe: the pass of `--dtype auto`, packed, with everything that the tables, nulls and intervals need.

The passages are divided into as many parts as there are turns, and in every turn both read the same part. Seconds
are processor time of the same number of threads. Both must count the same pairs, and find the same means to the
precision of the weights.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
from common import SIZES, parser, pass_reader, plain_module, processor_seconds, random_model, sample_plan, write
from transformers import PreTrainedModel

from probe.experiment.plan import Plan
from probe.experiment.settings import RunSettings
from probe.experiment.topics import Topics
from probe.models.devices import choose_dtype
from probe.text.passages import pack, padding_share
from probe.topics.assignment import Assignment, assign_topics

THETA = 0.001
BATCH = 16


class Script:
    """What a researcher would write, given passages of token ids and the topic of each of their words.

    Args:
        module: with eager attention.
        passages: token ids of each passage.
        topics: for each passage, the topic of each token; -1 for none.
        surfaces: [vocabulary] int, equal for tokens of one surface.
    """

    def __init__(
        self, module: PreTrainedModel, passages: list[np.ndarray], topics: list[np.ndarray], surfaces: np.ndarray
    ):
        self.module, self.passages, self.topics, self.surfaces = module, passages, topics, surfaces
        self.sums, self.pairs = np.zeros(2), np.zeros(2, dtype=np.int64)

    @torch.no_grad()
    def read(self, chosen: np.ndarray) -> None:
        for first in range(0, len(chosen), BATCH):
            batch = chosen[first : first + BATCH]
            lengths = np.array([len(self.passages[index]) for index in batch])
            ids = np.zeros((len(batch), lengths.max()), dtype=np.int64)
            for row, index in enumerate(batch):
                ids[row, : lengths[row]] = self.passages[index]
            mask = np.arange(lengths.max()) < lengths[:, None]
            output = self.module(torch.from_numpy(ids), attention_mask=torch.from_numpy(mask), output_attentions=True)
            maps = [attention.numpy() for attention in output.attentions]
            for row, index in enumerate(batch):
                self.add(maps, row, self.passages[index], self.topics[index])

    def add(self, maps: list[np.ndarray], row: int, ids: np.ndarray, topics: np.ndarray) -> None:
        places = np.flatnonzero(topics >= 0)
        words, topics = self.surfaces[ids[places]], topics[places]
        different_words = words[:, None] != words
        same_topic = topics[:, None] == topics
        masks = [same_topic & different_words, ~same_topic & different_words]
        self.pairs += [mask.sum() for mask in masks]
        for attention in maps:
            for head in attention[row]:
                between = head[np.ix_(places, places)] * len(ids) / 100
                self.sums += [between[mask].sum() for mask in masks]

    def means(self) -> np.ndarray:
        """Mean attention of same-topic and different-topic pairs, over heads and layers."""
        config = self.module.config
        return self.sums / self.pairs / (config.num_hidden_layers * config.num_attention_heads)


def topics_of_tokens(assignment: Assignment, dictionary: np.ndarray, vocabulary: int) -> np.ndarray:
    """[vocabulary] the one topic of each token; -1 for none."""
    topics = np.full(vocabulary, -1)
    topics[dictionary[assignment.words]] = assignment.member.argmax(axis=0)
    return topics


def passages_and_topics(
    topics_of_sample: Topics, plan: Plan, assignment: Assignment
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Token ids of each passage, and the topic of each of its tokens."""
    topic_of_token = topics_of_tokens(assignment, topics_of_sample.bags.words, len(topics_of_sample.text.vocabulary))
    before, after = list(topics_of_sample.text.specials.before), list(topics_of_sample.text.specials.after)
    passages, topics = [], []
    for start, stop in zip(plan.batch_maker.passages.start, plan.batch_maker.passages.stop, strict=True):
        text = np.asarray(topics_of_sample.text.tokens.ids[start:stop])
        passages.append(np.concatenate([before, text, after]))
        carried = np.where(topics_of_sample.text.tokens.is_word[start:stop], topic_of_token[text], -1)
        topics.append(np.pad(carried, (len(before), len(after)), constant_values=-1))
    return passages, topics


def main() -> None:
    command = parser(__doc__, turns=10)
    command.add_argument("--passages", type=int, default=1000)
    command.add_argument("--threads", type=int, default=1)
    arguments = command.parse_args()
    torch.set_num_threads(arguments.threads)
    with TemporaryDirectory() as folder:
        topics_of_sample, plan = sample_plan(Path(folder), passages=arguments.passages)
    maker, dtype = plan.batch_maker, choose_dtype("auto", "cpu")
    assignment = assign_topics(topics_of_sample.topic_word[0], THETA, "single")
    surfaces = np.unique(topics_of_sample.text.vocabulary.surfaces, return_inverse=True)[1]
    passages, topics = passages_and_topics(topics_of_sample, plan, assignment)
    module, model = plain_module(SIZES["BERT-base"], attention="eager"), random_model(SIZES["BERT-base"], dtype)
    script = Script(module, passages, topics, surfaces)
    probe = pass_reader(model, plan.probed.pairs, plan.probed.documents)

    def read(part: np.ndarray) -> list[np.ndarray]:
        """Pack a part of the passages and read it."""
        batches = [part[batch] for batch in pack(maker.lengths[part], RunSettings.batch_tokens)]
        for batch in batches:
            probe.read(maker(batch))
        return batches

    warm = np.arange(min(BATCH, len(passages)))
    Script(module, passages, topics, surfaces).read(warm)
    pass_reader(model, plan.probed.pairs, plan.probed.documents).read(maker(warm))
    rows = []
    packed: list[np.ndarray] = []
    for part in np.array_split(np.arange(len(passages)), arguments.turns):
        seconds = {
            "script_seconds": processor_seconds(lambda part=part: script.read(part)),
            "probe_seconds": processor_seconds(lambda part=part: packed.extend(read(part))),
        }
        print(len(part), seconds, seconds["script_seconds"] / seconds["probe_seconds"], flush=True)
        rows.append({"passages": len(part)} | seconds)
    sums = probe.sums()
    found, pairs = (
        plan.probed.pairs.classes(sums.of["attention"][name], assignment).sum(axis=0)
        for name in ("documents", "document_pairs")
    )
    np.testing.assert_array_equal(pairs, script.pairs)
    means = found / pairs
    np.testing.assert_allclose(means, script.means(), rtol=torch.finfo(getattr(torch, dtype)).eps)
    total = {way: sum(row[way] for row in rows) for way in ("script_seconds", "probe_seconds")}
    report = {
        "passages": len(passages),
        "dtype": dtype,
        "rows": rows,
        **total,
        "script_over_probe": median(row["script_seconds"] / row["probe_seconds"] for row in rows),
        "script_over_probe_of_totals": total["script_seconds"] / total["probe_seconds"],
        "script_padding_share": padding_share(
            maker.lengths, np.array_split(np.arange(len(passages)), range(BATCH, len(passages), BATCH))
        ),
        "probe_padding_share": padding_share(maker.lengths, packed),
        "pairs": pairs.tolist(),
        "script_ratio": float(np.divide(*script.means())),
        "probe_ratio": float(np.divide(*means)),
    }
    print({key: value for key, value in report.items() if key != "rows"})
    write(arguments.out, report)


if __name__ == "__main__":
    main()
