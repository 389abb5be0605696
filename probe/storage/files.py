"""Files written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from probe.errors import ProbeError

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy as np

_RUST_ERROR = re.compile(r"\(os error (\d+)\)")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, moved onto it when the block ends well and removed when it does not.

    Raises:
        ProbeError: The folder cannot be written to.
    """
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise ProbeError(
            f"Cannot write {path} ({error.strerror or error}): give a place that can be written to."
        ) from None
    finally:
        # Nothing was made where the folder is no folder.
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_set(folder: Path, last: str, replaced: Iterable[str] = ()) -> Iterator[Path]:
    """A temporary folder whose files are moved into `folder` together when the block ends well.

    Runs that end in one folder at once wait for each other, so that it holds the files of one of them.

    Args:
        folder: made if missing.
        last: the file that is taken away first and comes last: without it, a folder holds no finished run.
        replaced: patterns of what an earlier run may have left, which goes even where this one writes no such file.

    Raises:
        ProbeError: The folder cannot be written to.
    """
    try:
        with temporary_folder(folder, ".writing-") as temporary:
            yield temporary
            names = [path.relative_to(temporary) for path in sorted(temporary.rglob("*")) if path.is_file()]
            with _locked(folder):
                (folder / last).unlink(missing_ok=True)
                for old in [path for pattern in replaced for path in folder.glob(pattern)]:
                    old.unlink()
                for name in sorted(names, key=lambda name: name == Path(last)):
                    (folder / name).parent.mkdir(exist_ok=True)
                    (temporary / name).replace(folder / name)
    except OSError as error:
        raise cannot_write(folder, error) from error


def cannot_write(folder: Path, error: OSError) -> ProbeError:
    """What to say where an output folder cannot be written."""
    return ProbeError(
        f"The output folder {folder} cannot be written ({error.strerror or error}): name another with --out DIR or "
        "free some space."
    )


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A folder in `parent`, removed when the block ends; so are those that killed processes left there.

    Args:
        parent: made if missing.
        prefix: of the folder's name.
    """
    # Some file systems tell a machine nothing of another's locks.
    prefix += f"{platform.node()}-"
    parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as at_the_end:
        with _locked(parent):
            for left in [path for path in parent.iterdir() if path.name.startswith(prefix)]:
                with suppress(BlockingIOError), _locked(left, wait=False) as abandoned:
                    if abandoned:
                        shutil.rmtree(left, ignore_errors=True)
            folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
            at_the_end.enter_context(_locked(folder))
            at_the_end.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep others who ask for it out of a folder until the block ends, or the process.

    Raises:
        ProbeError: Another process is at work there.
    """
    with ExitStack() as at_the_end:
        try:
            at_the_end.enter_context(_locked(folder, wait=False))
        except BlockingIOError:
            raise ProbeError(
                f"Another run is at work in the folder {folder}: wait for it, or name another with --out DIR."
            ) from None
        yield


@contextmanager
def _locked(folder: Path, wait: bool = True) -> Iterator[bool]:
    """Hold a folder until the block ends, or the process; yields False where the file system has no locks.

    Raises:
        BlockingIOError: Another process holds it, and this one does not wait.
    """
    with ExitStack() as at_the_end:
        held = False
        if fcntl is not None:
            try:
                descriptor = os.open(folder, os.O_RDONLY)
                at_the_end.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                held = True
            except BlockingIOError:
                raise
            except OSError:
                pass
        yield held


@contextmanager
def rust_errors() -> Iterator[None]:
    """Turn what safetensors and tokenizers raise where a file cannot be written into the `OSError` it is."""
    try:
        yield
    except Exception as error:
        if found := _RUST_ERROR.search(str(error)):
            number = int(found[1])
            raise OSError(number, os.strerror(number)) from error
        raise


def write_array(path: Path, array: np.ndarray) -> None:
    """`numpy.save`, which itself says nothing where a full disk cuts the file short (nor does `ndarray.tofile`)."""
    import numpy as np

    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    path.write_bytes(content.getbuffer())


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows of one table; None is an empty field, and numbers keep their full precision."""
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
