"""Finished work, kept by the content it came from.

An entry is a folder of files named by the hash of everything that decides its content (corpus fingerprint,
tokenizer, arguments, package versions). It appears whole or not at all, and a checksum of every file is
verified before an entry is used: a damaged one is removed and made again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe.errors import ProbeError
from probe.storage.files import temporary_folder

logger = logging.getLogger(__name__)
_MANIFEST = "manifest.json"
_CHUNK = 1 << 22
_NO_HOME = Path("~/.cache/topic-probe")
# Where finished work lies until the process ends, by the folder that should have held it.
_stand_ins: dict[Path, tempfile.TemporaryDirectory[str]] = {}


def default_cache() -> Path:
    """The cache folder: `$PROBE_CACHE`, else `topic-probe` in the user's cache folder."""
    if named := os.environ.get("PROBE_CACHE"):
        return Path(named)
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "topic-probe"
    try:
        return Path.home() / ".cache" / "topic-probe"
    except RuntimeError:  # a user without a home, as in many containers
        return _NO_HOME


def digest(content: Any) -> str:
    """Hash of a JSON-serializable value, equal for equal content whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    value = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            value.update(piece)
    return value.hexdigest()


@dataclass(frozen=True)
class Entry:
    """One finished entry: its name, kind, key and size in bytes."""

    kind: str
    name: str
    key: dict[str, Any]
    size: int


class Cache:
    """A folder of finished work.

    A folder that the user has named must be writable. Where the one in the user's home is not, finished work is kept in
    a temporary folder that goes with the process, and a line says so.

    Args:
        root: the folder; it is made when the first entry is written.
    """

    def __init__(self, root: Path | str | None = None):
        self.root = Path(root) if root is not None else default_cache()
        self._named = root is not None or "PROBE_CACHE" in os.environ

    def find(self, kind: str, key: Mapping[str, Any]) -> Path | None:
        """The folder of a finished entry, or None where there is none or it is damaged."""
        try:
            folder = next(path for root in self._roots() if (path := root / kind / digest(key)).is_dir())
        except (OSError, StopIteration):
            return None
        try:
            manifest = json.loads((folder / _MANIFEST).read_text())
            sound = all(file_digest(folder / name) == value for name, value in manifest["files"].items())
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            sound = False
        if sound:
            return folder
        logger.warning("The cached %s in %s is damaged; it is made again.", kind, folder)
        shutil.rmtree(folder, ignore_errors=True)
        return None

    def make(self, kind: str, key: Mapping[str, Any], write: Callable[[Path], None]) -> tuple[Path, bool]:
        """The folder of an entry, written by `write(folder)` unless it is there already.

        Returns:
            The folder, and whether it was finished before.
        """
        if found := self.find(kind, key):
            return found, True
        folder = self._root_to_write() / kind / digest(key)
        with self._writable(), temporary_folder(folder.parent, ".making-") as temporary:
            write(temporary)
            files = {path.name: file_digest(path) for path in sorted(temporary.iterdir())}
            manifest = {"key": dict(key), "files": files}
            (temporary / _MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True))
            try:
                temporary.rename(folder)
            except OSError:
                # Another run finished the same entry first; both hold the same content.
                if not folder.is_dir():
                    raise
        return folder, False

    def unfinished(self, kind: str, key: Mapping[str, Any]) -> Path:
        """The file in which work in progress on an entry is kept until the entry is finished."""
        folder = self._root_to_write() / "unfinished"
        with self._writable():
            folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{kind}-{digest(key)}.npz"

    def entries(self) -> list[Entry]:
        """All finished entries, by kind and name."""
        found = []
        for manifest in sorted(self.root.glob(f"*/*/{_MANIFEST}")):
            folder = manifest.parent
            size = sum(path.stat().st_size for path in folder.iterdir())
            found.append(Entry(folder.parent.name, folder.name, _key_in(manifest), size))
        return found

    def keys(self, kind: str) -> list[dict[str, Any]]:
        """What decides each finished entry of a kind."""
        return [_key_in(one) for root in self._roots() for one in sorted(root.glob(f"{kind}/*/{_MANIFEST}"))]

    def clear(self) -> int:
        """Remove every entry and all unfinished work; return the bytes freed."""
        freed = 0
        for kind in ("tokens", "topics", "sums", "examples", "oddities", "unfinished"):
            folder = self.root / kind
            if folder.is_dir():
                freed += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
                shutil.rmtree(folder)
        return freed

    def _roots(self) -> list[Path]:
        stand_in = _stand_ins.get(self.root)
        return [self.root, *([Path(stand_in.name)] if stand_in and not self._named else [])]

    def _root_to_write(self) -> Path:
        if self._named:
            return self.root
        if self.root not in _stand_ins:
            reason = _why_not_writable(self.root)
            if reason is None:
                return self.root
            _stand_ins[self.root] = tempfile.TemporaryDirectory(prefix="topic-probe-")
            logger.warning(
                "Finished work is not kept: %s cannot be written (%s); name a folder with --cache DIR.",
                self.root,
                reason,
            )
        return Path(_stand_ins[self.root].name)

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ProbeError(
                f"The cache folder {self.root} cannot be written ({error.strerror or error}): "
                "name another with --cache DIR or free some space."
            ) from error


def _why_not_writable(folder: Path) -> str | None:
    if folder == _NO_HOME:
        return "no home is known"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".trying-"):
            return None
    except OSError as error:
        return error.strerror or str(error)


def _key_in(manifest: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(manifest.read_text())["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
