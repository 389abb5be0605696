"""What every theta up to the widest, both assignments and Table 2 cost over one theta, as a share of the pass.

    OMP_NUM_THREADS=1 python benchmarks/marginal.py [--turns N] [--out results/benchmarks]

Models, passages and topics are those of `attention.py`: a fifth of the tokens carries topics at the widest theta, and
the words of Table 2's pairs are a further tenth of the tokens. One theta is the widest. In turns on the same batch;
processor time of one thread; shares are of medians.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from attention import BATCH_TOKENS, reading
from common import (
    DICTIONARY,
    LENGTHS,
    SIZES,
    forward,
    in_turns,
    one_batch,
    parser,
    plain_module,
    random_model,
    random_pairs,
    random_passages,
    random_topics,
    write,
)


def main() -> None:
    arguments = parser(__doc__, turns=5).parse_args()
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    topic_word = random_topics(random)
    every_size = random_pairs(topic_word)
    one = random_pairs(topic_word, [int(every_size.sizes[-1])])
    # Half as many words more, as frequent as the others, for the pairs that co-occur most.
    others = np.setdiff1d(DICTIONARY, one.words)
    more = random.choice(others, size=len(one) // 2, replace=False)
    everything = random_pairs(topic_word, more_words=more.tolist())
    rows = []
    for name, config in SIZES.items():
        model, plain = random_model(config), plain_module(config)
        for length in LENGTHS:
            passages = random_passages(everything.words, length, 0.3, BATCH_TOKENS, random)
            narrow, wide = (one_batch(*passages, pairs.words) for pairs in (one, everything))
            seconds = in_turns(
                {
                    "plain": partial(forward, plain, narrow),
                    "one": reading(model, one, narrow),
                    "all": reading(model, everything, wide),
                },
                arguments.turns,
            )
            row = {
                "model": name,
                "length": length,
                "one_theta_over_plain": seconds["one"] / seconds["plain"],
                "everything_over_plain": seconds["all"] / seconds["plain"],
                "marginal_share_of_pass": (seconds["all"] - seconds["one"]) / seconds["one"],
            }
            print(row, flush=True)
            rows.append(row)
    write(arguments.out, {"batch_tokens": BATCH_TOKENS, "turns": arguments.turns, "rows": rows})


if __name__ == "__main__":
    main()
