"""The sockets of the HTTP service, bound by us: a port that is taken is said in a line, before anything is started."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from inquest.errors import ConfigurationError


@contextmanager
def bound_sockets(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Bind every address of `host`, and close them at the end. Nobody can connect before the server listens.

    Port 0 takes a free one, of the first address only. Raises ConfigurationError naming INQUEST_HOST or
    INQUEST_PORT.
    """
    with ExitStack() as stack:
        addresses = _addresses(host, port)
        yield [stack.enter_context(_bound(family, address)) for family, address in addresses]


def _addresses(host: str, port: int) -> Sequence[tuple[int, Any]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        msg = f"INQUEST_HOST: {host!r} is no address or name of this machine"
        raise ConfigurationError(msg) from error
    every = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    return every if port else every[:1]


def _bound(family: int, address: Any) -> socket.socket:  # noqa: ANN401  # each family has its own
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        msg = f"INQUEST_PORT: {address[0]}:{address[1]} cannot be listened on ({error.strerror}); is a service running there already?"
        raise ConfigurationError(msg) from error
    return bound
