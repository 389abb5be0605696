"""The page is put together and written."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from probe.show.report.answer import answer, question, reading
from probe.show.report.compare import comparison
from probe.show.report.definitions import TERMS
from probe.show.report.dynamics import training
from probe.show.report.explain import explain_figures
from probe.show.report.explorer import explorer_data
from probe.show.report.how import how
from probe.show.report.layers import layer_figures
from probe.show.report.ratios import ratio_table
from probe.show.report.sources import Sources, open_sources
from probe.show.report.subjects import Subject, find_subjects, shortened
from probe.show.views import cooccurrence_view, ratio_view
from probe.storage.files import whole_file

_PAGE = "page"
_SCRIPTS = ("dom", "choices", "topics", "passage", "heads", "dynamics", "copy")


def write_report(folders: Sequence[Path | str], out: Path | str) -> Path:
    """Write the report of finished runs: one HTML page that needs no network and opens from disk.

    The same folders give the same bytes. What a run lacks (of an older version, or without examples) is left out.

    Args:
        folders: of finished runs, and of trainings that `probe dynamics` measured.
        out: the file.

    Returns:
        The file.

    Raises:
        ProbeError: a folder is neither, a table is damaged, or the file cannot be written.
    """
    out = Path(out)
    page = render(open_sources(folders))
    with whole_file(out) as temporary:
        temporary.write_bytes(page.encode("utf-8", errors="replace"))
    return out


def render(sources: Sources) -> str:
    """The page.

    Args:
        sources: what it is made of.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
    from jinja2.utils import htmlsafe_json_dumps

    environment = Environment(
        loader=PackageLoader("probe.show.report", _PAGE),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = "(() => {\n'use strict';\n" + "\n".join(_read(f"{name}.js") for name in _SCRIPTS) + "})();"
    subjects = find_subjects(sources.runs)
    trainings = [training(folder) for folder in sources.trainings]
    content = _content(sources, subjects)
    data = explorer_data(subjects) | {
        "thetas": content["thetas"],
        "trainings": [{"steps": one.steps, "numbers": one.numbers} for one in trainings],
    }
    return environment.get_template("page.html.j2").render(
        **content,
        subjects=subjects,
        trainings=trainings,
        terms=TERMS,
        style=_read("report.css"),
        script=script,
        # The browser runs this script and no other, whatever stands in the data.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=htmlsafe_json_dumps(data, dumps=_compact),
    )


def _content(sources: Sources, subjects: Sequence[Subject]) -> dict[str, Any]:
    """What the template shows of runs."""
    runs = sources.runs
    table = ratio_table(subjects) if subjects else None
    choices = [(subject, theta) for subject in subjects for theta in subject.thetas]
    names = [subject.label for subject in subjects] or [shortened(one.name) for one in sources.trainings]
    more = [
        (
            f"Run {number}: {shortened(run.name)}" if len(runs) > 1 else "",
            [
                cooccurrence_view(run.table("table2")),
                ratio_view(5, run.table("table5"), run.table("measures")),
            ],
        )
        for number, run in enumerate(runs, 1)
    ]
    return {
        "title": shortened(f"Topics in {', '.join(dict.fromkeys(names))}", 120),
        "question": question(subjects) if subjects else "",
        "answers": [answer(subject) for subject in subjects],
        "table": table,
        "reading": reading(table) if table else "",
        "more_tables": more,
        "thetas": sorted({theta for subject in subjects for theta in subject.thetas}),
        "chosen": subjects[0].theta if subjects else None,
        "layers": [(subject, theta, layer_figures(subject, theta)) for subject, theta in choices],
        "explain": [
            (subject, theta, found) for subject, theta in choices if (found := explain_figures(subject, theta))
        ],
        "comparison": comparison(runs) if len(runs) > 1 else None,
        "hows": [how(one) for one in (*runs, *sources.trainings)],
    }


def _read(name: str) -> str:
    return (files("probe.show.report") / _PAGE / name).read_text(encoding="utf-8")


def _compact(content: Any, **_: Any) -> str:
    import json

    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
