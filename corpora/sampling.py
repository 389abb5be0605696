"""A seeded sample of a stream."""

import hashlib
import heapq
from collections.abc import Iterable, Iterator

from corpora.document import Document


def text_key(text: str, seed: int | None = None) -> int:
    """A 64-bit hash of a text; with a seed, its place in that seed's shuffle of all texts."""
    salt = b"" if seed is None else str(seed).encode()[:16]
    digest = hashlib.blake2b(text.encode(), digest_size=8, salt=salt)
    return int.from_bytes(digest.digest(), "little")


def reservoir(documents: Iterable[Document], size: int, seed: int) -> list[tuple[int, Document]]:
    """A uniform sample of a stream of different texts, without replacement, and where each stood in it.

    A text belongs to the sample when its seeded hash is among the smallest, so the sample does not depend on
    the order of the stream or on how it is cut into files. Memory holds ``size`` documents.
    """
    kept: list[tuple[int, int, Document]] = []
    for position, document in enumerate(documents):
        entry = (-text_key(document.text, seed), -position, document)
        if len(kept) < size:
            heapq.heappush(kept, entry)
        elif entry > kept[0]:
            heapq.heapreplace(kept, entry)
    return sorted(((-position, document) for _, position, document in kept), key=lambda entry: entry[0])


def at_positions(documents: Iterable[Document], positions: Iterable[int]) -> Iterator[Document]:
    """The documents at the positions given, in order; the stream is left after the last one."""
    wanted = iter(positions)
    looked_for = next(wanted, None)
    for position, document in enumerate(documents):
        if position == looked_for:
            yield document
            looked_for = next(wanted, None)
            if looked_for is None:
                return
