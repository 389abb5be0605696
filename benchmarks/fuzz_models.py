"""Many more damaged models than the tests take: does a run of each end in numbers or in one sentence?

    python benchmarks/fuzz_models.py [--configs 2000] [--tokenizers 500] [--first 0]

Small models of many families get faults in their config (types, sizes, missing and unknown keys) or in the files of
their tokenizer; the number of a case is its seed. A traceback, a refusal of more than one sentence or a ratio missing
without a note ends the program with the seed. (See tests/models/fuzz.py.)
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAMILIES = (
    "bert", "albert", "bart", "electra", "roberta", "distilbert", "mpnet", "deberta-v2", "modernbert", "t5", "gpt2",
    "llama", "opt", "gemma2",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", type=int, default=2000)
    parser.add_argument("--tokenizers", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.path.insert(0, str(ROOT))
    from corpora import open_corpus
    from tests.models.fuzz import fuzz
    from tests.tiny import save_tiny

    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        folder = Path(place)
        texts = [document.text for document in open_corpus("wikipedia-sample", documents=12)]
        corpus = folder / "articles.jsonl"
        corpus.write_text("".join(json.dumps({"text": text[:3000]}) + "\n" for text in texts))
        models = [save_tiny(family, folder / family, texts) for family in FAMILIES]
        for kind, cases in (("config", arguments.configs), ("tokenizer", arguments.tokenizers)):
            started = time.perf_counter()
            counts = fuzz(kind, cases, models, corpus, folder, arguments.first)
            found = ", ".join(f"{counts[end]:,} ended in {end}" for end in ("a number", "a sentence"))
            print(f"| {kind} | {cases:,} | {found} | {time.perf_counter() - started:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
