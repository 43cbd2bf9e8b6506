"""Contents that know which thread has read them: an event loop that reads much of them keeps no leases meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TypeVar

from typing_extensions import override

V = TypeVar("V")


class Watched(Mapping[str, V]):
    """`contents`, and the threads that looked anything up in them."""

    def __init__(self, contents: Mapping[str, V]) -> None:
        self._contents = contents
        self.readers: set[int] = set()

    @override
    def __getitem__(self, digest: str) -> V:
        self.readers.add(threading.get_ident())
        return self._contents[digest]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    @override
    def __len__(self) -> int:
        return len(self._contents)

    def check_left_this_thread_alone(self) -> None:
        """Raise AssertionError when nobody looked, or the thread that asks now did."""
        assert self.readers, "nothing was read"
        assert threading.get_ident() not in self.readers, "the event loop's own thread has read them"
