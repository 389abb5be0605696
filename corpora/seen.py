"""Which texts were read already, in little memory."""

from typing import Any

RECENT = 500_000
"""Keys kept in a set, about 80 bytes each; all earlier ones are kept sorted, 8 bytes each."""


class Seen:
    """A growing set of 64-bit keys."""

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._earlier: Any = None

    def add(self, key: int) -> bool:
        """Adds a key; says whether it was new."""
        if key in self._recent or self._is_earlier(key):
            return False
        self._recent.add(key)
        if len(self._recent) >= RECENT:
            self._sort()
        return True

    def _is_earlier(self, key: int) -> bool:
        if self._earlier is None:
            return False
        at = self._earlier.searchsorted(self._earlier.dtype.type(key))
        return bool(at < len(self._earlier) and self._earlier[at] == key)

    def _sort(self) -> None:
        import numpy as np

        recent = np.fromiter(self._recent, np.uint64, len(self._recent))
        earlier = recent if self._earlier is None else np.concatenate([self._earlier, recent])
        earlier.sort()
        self._earlier = earlier
        self._recent.clear()
