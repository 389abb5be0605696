"""Files as streams of bytes, whatever they are compressed with."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from corpora.errors import BrokenInputError, CorpusError

ENDINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
"""Endings of compressed files, and the name of what compressed them."""

ARCHIVES = {
    ".7z": "7z x",
    ".zip": "unzip",
    ".tar": "tar -xf",
    ".tgz": "tar -xf",
    ".rar": "unrar x",
}
"""Endings of archives, which are not opened, and the command that unpacks them."""

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_CHUNK = 1 << 18
_ZSTD_CHUNK = 1 << 12
"""Read at once; zstd gives all it unpacks to at once, which may be 30,000 times as much."""


class _Decompressed(io.RawIOBase):
    """Turns every way a decompressor fails into `BrokenInputError`, after all whole bytes were handed out."""

    def __init__(self, chunks: Iterator[bytes], name: str, kind: str, raw: BinaryIO) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")
        self._name, self._kind, self._raw = name, kind, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            try:
                self._left = memoryview(next(self._chunks))
            except StopIteration:
                return 0
            except EOFError:
                raise BrokenInputError(
                    f"{self._name} ends in the middle of its {self._kind} data (byte {self._raw.tell()} of "
                    "the file); fetch it again."
                ) from None
            except (OSError, lzma.LZMAError, zlib.error) as error:
                raise BrokenInputError(
                    f"{self._name} holds corrupt {self._kind} data near byte {self._raw.tell()} ({error}); "
                    "fetch it again."
                ) from None
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


def _chunks(stream: Any) -> Iterator[bytes]:
    # read1 makes one read of the decompressor: what it gave before an error is not lost with it.
    while chunk := stream.read1(_CHUNK):
        yield chunk


def _zstd_chunks(raw: BinaryIO) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise CorpusError(
            f"{raw.name} is compressed with zstd, which needs one more package (pip install zstandard)."
        ) from None
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    started = False
    data = raw.read(_ZSTD_CHUNK)
    while data:
        try:
            chunk = decompressor.decompress(data)
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from None
        started = True
        if chunk:
            yield chunk
        data = b""
        if decompressor.eof:
            data = decompressor.unused_data
            decompressor = zstandard.ZstdDecompressor().decompressobj()
            started = False
        data = data or raw.read(_ZSTD_CHUNK)
    if started:
        raise EOFError


_OPENERS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {
    "gzip": lambda raw: _chunks(gzip.GzipFile(fileobj=raw)),
    "bzip2": lambda raw: _chunks(bz2.BZ2File(raw)),
    "xz": lambda raw: _chunks(lzma.LZMAFile(raw)),  # noqa: SIM115 (closed with the file under it)
    "zstd": _zstd_chunks,
}


def inner_ending(path: Path) -> str:
    """Ending of what a file holds, in lower case, compression set aside: ``.jsonl`` for ``a.JSONL.xz``.

    The parts a Wikipedia dump is published in (``pages-articles1.xml-p1p41242.bz2``) end in ``.xml``.
    """
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower() if suffix in ENDINGS else suffix
    return ".xml" if inner.startswith(".xml-p") else inner


def open_bytes(path: Path) -> io.RawIOBase | io.BufferedReader:
    """Opens a file and decompresses it by what its first bytes say.

    Raises:
        CorpusError: The file cannot be opened, or its ending promises a compression its bytes are not.
        BrokenInputError: While reading, where the compressed data end too soon or are corrupt.
    """
    try:
        raw = path.open("rb")
        head = raw.peek(8)[:8]
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror or error}); check the path.") from None
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    promised = ENDINGS.get(path.suffix.lower())
    if promised and head and kind != promised:
        raw.close()
        raise CorpusError(f"{path} is corrupt: it does not hold the {promised} data its name promises; fetch it again.")
    if kind is None:
        return raw
    return _Decompressed(_OPENERS[kind](raw), str(path), kind, raw)
