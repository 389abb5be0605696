"""Which templates of a real dump show their words, and which are left out: the dump that comes in gensim's package.

Counted are templates in running text: not in a table, a reference or a template that is left out. "In a sentence" is
one on a line that holds at least forty letters without it. The figures stand in docs/corpora.md.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from corpora import markup, open_corpus
from corpora.report import ReadingReport
from corpora.templates import shown
from corpora.wikipedia import read_dump

LETTERS = 40
_MARK = "\ue000{}\ue001"
# What a template is for that rightly shows nothing, by how its name begins.
_KINDS = {
    "notes": "cite, citation, sfn, rp, refn, efn, issn, oclc, #tag:ref, bibleref, vr, full, wayback, coord, ref, "
    "ipaslink, harv, epc, pct",
    "doubts of editors": "citation needed, clarify, by whom, according to, who, when, where, which, vague, page need, "
    "better source, failed, verif, relevance, dubious, refimprove, unreliable, update, weasel, qualify, inflation-fn",
    "pronunciation": "ipa, respell",
    "pointers and flags": "main, clear, ar icon, fr icon, ru icon",
}
_LEFT_OUT = ("template", "table", "ref", "references")


def main() -> None:
    """Read the dump named, or gensim's, and print the counts."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else open_corpus("wikipedia-sample").source)
    names: list[tuple[str, bool]] = []

    class Counting(markup._Stack):
        """Leaves a mark where a template was, so that its line can be looked at."""

        def end_template(self) -> None:
            """As the stack does, and notes the template."""
            content = self.close("template")
            if content is None:
                return
            words = shown(re.sub("\ue000.*?\ue001", "", content))
            if not any(one.kind in _LEFT_OUT for one in self.opened):
                names.append((content.partition("|")[0].strip().lower(), words is not None))
                self.add(_MARK.format(len(names) - 1))
            self.add("\x00" if words is None else words)

    markup._Stack = Counting  # type: ignore[misc]
    found: Counter[tuple[str, str]] = Counter()
    left: Counter[str] = Counter()
    for document in read_dump(path, "", ReadingReport()):
        for line in document.text.split("\n"):
            prose = sum(map(str.isalpha, re.sub("\ue000.*?\ue001", "", line))) >= LETTERS
            for number in re.findall("\ue000(\\d+)\ue001", line):
                name, kept = names[int(number)]
                found["in a sentence" if prose else "elsewhere", "kept" if kept else "left out"] += 1
                if prose and not kept:
                    left[name] += 1
    sentence = {what: found["in a sentence", what] for what in ("kept", "left out")}
    print(f"{len(names):,} templates in running text, {sum(sentence.values()):,} of them in a sentence: {sentence}")
    kinds: Counter[str] = Counter()
    for name, count in left.items():
        # The longest beginning that fits: "citation needed" is no citation.
        fitting = [
            (len(start), kind)
            for kind, starts in _KINDS.items()
            for start in starts.split(", ")
            if name.startswith(start)
        ]
        kinds[max(fitting)[1] if fitting else "others"] += count
        if not fitting:
            print(f"{count:6}  {name}")
    print(dict(kinds))


if __name__ == "__main__":
    main()
