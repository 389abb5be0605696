"""What can be reproduced: each target a CSV (printed values beside ours) and, where it is one, a figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from probe.errors import ProbeError
from probe.experiment.progress import Progress
from probe.synthetic.reproduction.landscape import figure7, figure8
from probe.synthetic.reproduction.setting import Setting
from probe.synthetic.reproduction.tables import phases, table3, table4
from probe.synthetic.reproduction.two_stages import figure4, stages
from probe.synthetic.reproduction.values import figure1, figure2, figure9, figure10

TARGETS: dict[str, Callable[[Setting], None]] = {
    target.__name__: target
    for target in (
        table3,
        table4,
        figure1,
        figure2,
        figure4,
        figure7,
        figure8,
        figure9,
        figure10,
        phases,
        stages,
    )
}
"""What can be reproduced, by name."""


def reproduce(target: str, out: Path, progress: Progress, share: float = 1.0) -> None:
    """Make one target's files, or all.

    Args:
        target: A name in `TARGETS`, or "all".
        out: Folder of the files; made if need be.
        progress: Is told what is under way.
        share: Share of each target's training steps and documents that is taken.

    Raises:
        ProbeError: No such target, or a place that cannot be written to.
    """
    if target not in (*TARGETS, "all"):
        raise ProbeError(f"There is no target {target}: give one of {', '.join(TARGETS)} or all.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProbeError(f"Cannot make the folder {out} ({error.strerror}): give another with --out.") from None
    setting = Setting(out, progress, share)
    chosen = list(TARGETS) if target == "all" else [target]
    for done, name in enumerate(chosen, start=1):
        progress.note(f"{name} ({done} of {len(chosen)})")
        TARGETS[name](setting)
