"""What this process connects to and which names it looks up, seen from below every library."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Connections:
    """Where sockets went ("127.0.0.1:9090") and what was resolved, in order."""

    opened: list[str] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)


_watching: list[Connections] = []
_hooked = False


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching or event not in {"socket.connect", "socket.getaddrinfo"}:
        return
    for watch in _watching:
        if event == "socket.getaddrinfo":
            host = arguments[0]
            watch.resolved.append(host.decode() if isinstance(host, bytes) else str(host))
        else:
            address = arguments[1]
            watch.opened.append(f"{address[0]}:{address[1]}" if isinstance(address, tuple) else str(address))


@contextmanager
def watch_connections() -> Iterator[Connections]:
    """Record every connect and every name look-up of this process (Python's audit events)."""
    global _hooked  # noqa: PLW0603  # an audit hook cannot be removed, so there is one for the process
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked = True
    watch = Connections()
    _watching.append(watch)
    try:
        yield watch
    finally:
        _watching.remove(watch)
