"""What three thetas, both assignments and Table 2 cost over one theta in one assignment, as a share of the pass.

    OMP_NUM_THREADS=1 python benchmarks/marginal.py [--turns N] [--out results/benchmarks]

Models, passages and topics are those of `attention.py`: a fifth of the tokens carries topics at the widest theta, and
the words of Table 2's pairs are a further tenth of the tokens. One theta is the widest, in single assignment. In turns
on the same batch; processor time of one thread; shares are of medians.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median

import numpy as np
import torch
from attention import LENGTHS, SIZES, VOCABULARY, load, random_batch, random_pairs, run

from probe.measures.pairs import topic_pairs
from probe.vocabulary import Vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    three = random_pairs(random)
    flags = np.ones(VOCABULARY, dtype=bool)
    vocabulary = Vocabulary([], [str(index) for index in range(VOCABULARY)], flags, flags, ~flags, "")
    dictionary = np.arange(VOCABULARY)
    # Half as many words more, as frequent as the others, for the pairs that co-occur most.
    others = np.setdiff1d(np.arange(1000, VOCABULARY), three.words)
    more = set(random.choice(others, size=len(three) // 2, replace=False).tolist())
    one = topic_pairs(three.assignments[-2:-1], dictionary, vocabulary)
    full = topic_pairs(three.assignments, dictionary, vocabulary, more_words=more)
    rows = []
    for name in SIZES:
        model = load(name)
        for length in LENGTHS:
            everything = random_batch(full, length, 0.3, np.random.default_rng(1))
            place = np.full(len(full) + 1, -1)
            place[np.searchsorted(full.words, one.words)] = np.arange(len(one))
            words = torch.from_numpy(place[everything.words.numpy()])
            order = torch.argsort((words < 0).long(), dim=1, stable=True)[:, : int((words >= 0).sum(1).max())]
            narrow = type(everything)(
                everything.input_ids,
                everything.attention_mask,
                everything.rows.gather(1, order).where(words.gather(1, order) >= 0, 0),
                words.gather(1, order),
                everything.lengths,
                everything.documents,
            )
            seconds: dict[str, list[float]] = {"plain": [], "one": [], "all": []}
            for turn in range(arguments.turns + 1):
                for way, taken in (
                    ("plain", run("plain", model, one, narrow)),
                    ("one", run("probe", model, one, narrow)),
                    ("all", run("probe", model, full, everything)),
                ):
                    if turn:  # the first warms up
                        seconds[way].append(taken)
            plain, single, all_of_it = (median(seconds[way]) for way in ("plain", "one", "all"))
            row = {
                "model": name,
                "length": length,
                "one_theta_over_plain": single / plain,
                "everything_over_plain": all_of_it / plain,
                "marginal_share_of_pass": (all_of_it - single) / single,
            }
            print(row, flush=True)
            rows.append(row)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "marginal.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
