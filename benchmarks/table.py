"""The tables of all figures, made from the JSON files of the benchmarks.

    python benchmarks/table.py [--out results/benchmarks]

Prints `README.md` of that folder, and writes it. A benchmark that was not run is left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Report = dict[str, Any]
Cell = str | int
# Most that the pass may take of a plain forward pass, and least that eager maps take of the pass.
PASS = {("BERT-base", 128): 1.04, ("BERT-base", 512): 1.06, ("MiniLM", 128): 1.06, ("MiniLM", 512): 1.2}
EAGER = {("BERT-base", 128): 1.0, ("BERT-base", 512): 1.15, ("MiniLM", 128): 1.0, ("MiniLM", 512): 1.4}
LITERAL = {128: 400, 512: 2000}
WAYS = ("plain", "probe", "eager")


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def at_most(what: str, limit: float, value: float, form: str = ".2f") -> tuple[str, ...]:
    return what, f"at most {limit:{form}}", f"{value:{form}}", "yes" if value <= limit else "no"


def at_least(what: str, limit: float, value: float, form: str = ".2f") -> tuple[str, ...]:
    return what, f"at least {limit:{form}}", f"{value:{form}}", "yes" if value >= limit else "no"


def of(rows: Iterable[Report], name: str, **wanted: object) -> list[float]:
    """One figure of the rows that are wanted."""
    return [row[name] for row in rows if all(row[key] == value for key, value in wanted.items())]


def extra_memory(row: Report) -> float:
    """What eager maps take beyond plain, over what the probe takes; infinite where it takes nothing."""
    probe = row["probe_mb"] - row["plain_mb"]
    return (row["eager_mb"] - row["plain_mb"]) / probe if probe > 0 else float("inf")


def attention_asked(report: Report) -> Iterable[tuple[str, ...]]:
    rows, sizes = report["rows"], sorted({(row["model"], row["length"]) for row in report["rows"]})
    for model, length in sizes:
        wanted = {"model": model, "length": length}
        label = f"{model}, {length} tokens"
        yield at_most(f"{label}: pass / plain", PASS[model, length], max(of(rows, "probe_over_plain", **wanted)))
        yield at_least(f"{label}: eager maps / pass", EAGER[model, length], min(of(rows, "eager_over_probe", **wanted)))
    for length, limit in LITERAL.items():
        found = min(of(rows, "literal_over_sums", length=length))
        yield at_least(f"{length} tokens: literal loop / vectorized sums", limit, found, ",.0f")
    for row in report["memory"]:
        label = f"{row['model']}, {row['length']} tokens"
        yield at_most(f"{label}: peak memory, pass / plain", 1.1, row["probe_mb"] / row["plain_mb"])
        yield at_least(f"{label}: extra memory, eager maps / pass", 4, extra_memory(row), ".1f")


def attention_detail(report: Report) -> str:
    seconds = [
        [
            *setting(row),
            f"{row['plain_seconds']:.2f}",
            f"{row['probe_over_plain']:.3f}",
            f"{row['eager_over_probe']:.2f}",
            f"{row['literal_over_sums']:,.0f}",
        ]
        for row in report["rows"]
    ]
    memory = [setting(row) + [f"{row[f'{way}_mb']:,.0f}" for way in WAYS] for row in report["memory"]]
    head = ["model", "tokens", "labelled"]
    return (
        f"Batches of {report['batch_tokens']:,} tokens, medians over turns; seconds of a batch.\n\n"
        + table([*head, "plain, s", "pass / plain", "eager / pass", "literal / sums"], seconds)
        + f"\n\nPeak memory of a process of its own, MB, with batches of {report['memory_batch_tokens']:,} tokens.\n\n"
        + table([*head, "plain", "pass", "eager"], memory)
    )


def setting(row: Report) -> list[Cell]:
    return [row["model"], row["length"], row["share"]]


def nothing_asked(report: Report) -> Iterable[tuple[str, ...]]:
    del report
    return ()


def marginal_detail(report: Report) -> str:
    rows = [
        [
            row["model"],
            row["length"],
            f"{row['one_theta_over_plain']:.3f}",
            f"{row['everything_over_plain']:.3f}",
            f"{row['marginal_share_of_pass']:.1%}",
        ]
        for row in report["rows"]
    ]
    return table(["model", "tokens", "one theta / plain", "everything / plain", "more, of the pass"], rows)


def straightforward_asked(report: Report) -> Iterable[tuple[str, ...]]:
    yield at_least("BERT-base, real passages: straightforward script / pass", 3, report["script_over_probe"])


def straightforward_detail(report: Report) -> str:
    rows = []
    for way in ("script", "probe"):
        seconds, padding, ratio = (report[f"{way}_{name}"] for name in ("seconds", "padding_share", "ratio"))
        rows.append([way, f"{seconds:.0f}", f"{padding:.1%}", f"{ratio:.6f}"])
    return (
        f"{report['passages']:,} passages, the pass in {report['dtype']}, threads: {report['machine']['threads']}.\n\n"
        + table(["", "processor seconds", "padding", "attention ratio"], rows)
    )


def precision_asked(report: Report) -> Iterable[tuple[str, ...]]:
    for row in report["models"]:
        name = row["model"]
        if name.startswith("BERT-base"):
            yield at_least(f"{name}: pass, bfloat16 / float32", 2.5, row["bfloat16_over_float32"])
        yield at_most(f"{name}: largest shift of a ratio, of its interval", 0.1, row["largest_shift"], ".4f")


def precision_detail(report: Report) -> str:
    rows = [
        [
            row["model"],
            f"{row['float32_passages_a_second']:.1f}",
            f"{row['bfloat16_passages_a_second']:.1f}",
            f"{row['bfloat16_over_float32']:.2f}",
            f"{row['plain_bfloat16_over_float32']:.2f}",
        ]
        for row in report["models"]
    ]
    return table(["model", "float32, passages/s", "bfloat16", "bfloat16 / float32", "of plain passes"], rows)


def scale_asked(report: Report) -> Iterable[tuple[str, ...]]:
    first, last = report["memory"][0], report["memory"][-1]
    label = f"{first['passages']:,} to {last['passages']:,} passages: growth of peak memory"
    yield at_most(label, 0.05, report["growth"], ".1%")
    ranks = report["ranks"]
    yield at_least("two ranks / one, passages a second", 1.7, ranks["two_over_one"])
    label = "two ranks against one: largest relative difference of a number"
    yield at_most(label, 1e-6, ranks["largest_relative_difference"], ".0e")


def scale_detail(report: Report) -> str:
    ranks = report["ranks"]
    rows = [[f"{row['passages']:,}", f"{row['peak_mb']:,.0f}"] for row in report["memory"]]
    return (
        table(["passages", "peak memory of a run, MB"], rows)
        + f"\n\nOne rank reads {ranks['one_rank_passages_a_second']:.1f} passages a second, two read "
        + f"{ranks['two_ranks_passages_a_second']:.1f}, one thread each (minilm)."
    )


def whole_run_asked(report: Report) -> Iterable[tuple[str, ...]]:
    for length, share in report["padding_share"].items():
        yield at_most(f"padding of a run's batches at {length} tokens", 0.03, share, ".1%")
    yield "whole run / (tokenize + topics + plain passes)", "", f"{report['run_over_parts']:.2f}", ""


def whole_run_detail(report: Report) -> str:
    cells = [[name, f"{taken:.1f}"] for name, taken in report["seconds"].items()]
    return f"{report['passages']:,} passages; processor seconds.\n\n" + table(["", "seconds"], cells)


BENCHMARKS: dict[str, tuple[str, Callable[[Report], Iterable[tuple[str, ...]]], Callable[[Report], str]]] = {
    "attention": ("The attention pass and its peers", attention_asked, attention_detail),
    "marginal": ("What every theta and Table 2 add", nothing_asked, marginal_detail),
    "straightforward": ("The script that a researcher would write", straightforward_asked, straightforward_detail),
    "precision": ("bfloat16 and float32", precision_asked, precision_detail),
    "scale": ("More passages, more ranks", scale_asked, scale_detail),
    "whole_run": ("A whole run and its parts", whole_run_asked, whole_run_detail),
}


def markdown(folder: Path) -> str:
    paths = {name: folder / f"{name}.json" for name in BENCHMARKS}
    reports = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}
    asked = [row for name, report in reports.items() for row in BENCHMARKS[name][1](report)]
    processors = sorted({f"{one['machine']['processor']}, {one['machine']['cores']} cores" for one in reports.values()})
    parts = [
        "# Benchmarks",
        "`make bench` measures all of this anew and writes this page; each figure is a ratio in one run, on "
        f"{'; '.join(processors)}. Where a figure has several settings, the worst is in the first table. Topic models "
        "have a page of their own: [lda.md](lda.md).",
        table(["figure", "asked", "measured", "holds"], asked),
    ]
    for name, report in reports.items():
        title, _, detail = BENCHMARKS[name]
        parts += [f"## {title}", f"`{report['command']}`", detail(report)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    arguments = parser.parse_args()
    page = markdown(arguments.out)
    (arguments.out / "README.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
