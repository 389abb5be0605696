"""What ten seeds trained together cost against one, in processor time of the same process.

    python benchmarks/synthetic.py

Prints, for joint training and for uniform attention (the paper's sizes, batches of 40), the processor time of a
step with 1 seed and with 10, their ratio, and the ratio against ten runs one after the other. Both are measured in
turns in one process and the least of the turns counts, so that other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import time

import torch

from probe.synthetic.runs import Training
from probe.synthetic.topic_model import Masking, TopicModel
from probe.synthetic.training import train
from probe.synthetic.transformer import Architecture


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model, masking = TopicModel(), Masking()
    documents, development = model.sample(10_000, 0), model.sample(40, 1)
    start = time.process_time()
    model.sample(10_000, 2)
    print(f"10,000 documents: {time.process_time() - start:.2f} s")
    for attention in ("trained", "uniform"):
        least = {}
        for turn in range(arguments.turns):
            for seeds in (1, 10):
                training = Training(
                    seeds=tuple(range(seeds)), steps=arguments.steps, evaluate_every=10**6, log_every=10**6
                )
                start = time.process_time()
                train(model, masking, Architecture(attention=attention), training, documents, development)
                taken = (time.process_time() - start) / arguments.steps * 1000
                least[seeds] = min(taken, least.get(seeds, taken)) if turn else taken
        ratio = least[10] / least[1]
        print(
            f"attention {attention}: 1 seed {least[1]:.2f} ms a step, 10 seeds {least[10]:.2f} ms, "
            f"ratio {ratio:.2f} (ten in a row: 10, so {10 / ratio:.1f} times cheaper)"
        )


if __name__ == "__main__":
    main()
