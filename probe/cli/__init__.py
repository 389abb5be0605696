"""The command line: one file a command, thin, nothing heavy imported before it is needed."""

from __future__ import annotations

import sys
from typing import Any

import typer

from probe.cli import cache, compare, corpora, dynamics, models, pretrain, report, run, synthetic, table
from probe.cli.streams import tolerant_output
from probe.show.foreign import one_line

app = typer.Typer(
    name="probe",
    help="Does a language model encode the topics of its corpus, where, and how sure are we?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("table")(table.table)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("pretrain")(pretrain.pretrain)
app.command("dynamics")(dynamics.dynamics)
app.command("models")(models.models)
app.command("corpora")(corpora.corpora)
app.command("cache")(cache.cache)
app.add_typer(synthetic.app, name="synthetic")

_INTERRUPTED = 130
# Typer's own copy of click does not export the base of its usage errors.
_UsageError: Any = typer.BadParameter.__mro__[1]


def main() -> None:
    """Run the command line; a refusal is one sentence on stderr and exit code 2."""
    with tolerant_output():
        _main()


def _main() -> None:
    try:
        code = app(standalone_mode=False)
    except _UsageError as error:
        sys.exit(_refuse(error.format_message()))
    except (typer.Abort, KeyboardInterrupt):
        print("Stopped. The same command goes on from what is finished.", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except ValueError as error:
        from corpora import CorpusError
        from probe.errors import ProbeError

        if not isinstance(error, ProbeError | CorpusError):
            raise
        sys.exit(_refuse(str(error)))
    sys.exit(code if isinstance(code, int) else 0)


def _refuse(message: str) -> int:
    print(f"probe: {one_line(message)}", file=sys.stderr)
    return 2
