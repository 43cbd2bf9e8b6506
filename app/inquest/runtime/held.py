"""Stored bytes that a claim has seen, held in memory up to a cap; the longest unused go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

MAX_HELD_BYTES = 64 * 1024 * 1024


class HeldContents:
    """Contents by digest. What does not fit is read from the store again."""

    def __init__(self, most_bytes: int = MAX_HELD_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, digest: str) -> bytes | None:
        """Give the bytes if they are held."""
        found = self._held.get(digest)
        if found is not None:
            self._held.move_to_end(digest)
        return found

    def hold(self, contents: Mapping[str, bytes]) -> None:
        """Hold `contents`, letting go of what was unused longest."""
        for digest, stored in contents.items():
            if digest in self._held:
                self._held.move_to_end(digest)
                continue
            self._held[digest] = stored
            self._bytes += len(stored)
        while self._bytes > self._most_bytes and self._held:
            _, gone = self._held.popitem(last=False)
            self._bytes -= len(gone)
