"""The sockets of the HTTP service and of a worker's metrics, bound by us: a port that is taken is said in a line, before anything is started."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from inquest.entrypoints.http.access import check_bind
from inquest.entrypoints.http.worker_metrics import MAX_SCRAPERS
from inquest.errors import ConfigurationError
from inquest.settings import Settings, operator_token


@contextmanager
def bound_sockets(host: str, port: int, *, named: str = "INQUEST") -> Iterator[list[socket.socket]]:
    """Bind every address of `host`, and close them at the end. Nobody can connect before the server listens.

    Port 0 takes a free one, of the first address only. Raises ConfigurationError naming the variable of the
    host or of the port: `named`, then _HOST or _PORT.
    """
    with ExitStack() as stack:
        addresses = _addresses(host, port, f"{named}_HOST")
        yield [stack.enter_context(_bound(family, address, f"{named}_PORT")) for family, address in addresses]


def check_metrics(settings: Settings, *, beside_the_service: bool) -> None:
    """Refuse to show a worker's metrics to others without a token, or on the port of the service beside it.

    Raises ConfigurationError naming what to set.
    """
    port = settings.worker_metrics_port
    if port is None:
        return
    check_bind(settings.worker_metrics_host, token=operator_token(settings), variable="INQUEST_WORKER_METRICS_HOST")
    if beside_the_service and port == settings.port != 0:
        msg = f"INQUEST_WORKER_METRICS_PORT: {port} is the port of the HTTP service; give the worker another, or 0"
        raise ConfigurationError(msg)


@contextmanager
def metrics_sockets(settings: Settings) -> Iterator[list[socket.socket]]:
    """Listen where a worker shows its metrics; at no socket when it shows them nowhere.

    It listens at once: of two workers that start together on one port, the second is told. Raises ConfigurationError.
    """
    check_metrics(settings, beside_the_service=False)
    port = settings.worker_metrics_port
    if port is None:
        yield []
        return
    with bound_sockets(settings.worker_metrics_host, port, named="INQUEST_WORKER_METRICS") as sockets:
        for one in sockets:
            _listen(one, "INQUEST_WORKER_METRICS_PORT")
        yield sockets


def port_of(sockets: Sequence[socket.socket]) -> int | None:
    """Give the port that was bound, None for no socket."""
    return sockets[0].getsockname()[1] if sockets else None


def _addresses(host: str, port: int, variable: str) -> Sequence[tuple[int, Any]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        msg = f"{variable}: {host!r} is no address or name of this machine"
        raise ConfigurationError(msg) from error
    every = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    return every if port else every[:1]


def _bound(family: int, address: Any, variable: str) -> socket.socket:  # noqa: ANN401  # each family has its own
    # With the protocol said: asyncio sets TCP_NODELAY on no other, and an answer's second packet then waits 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise _taken(address, variable, error) from error
    return bound


def _listen(bound: socket.socket, variable: str) -> None:
    try:
        bound.listen(MAX_SCRAPERS)
    except OSError as error:
        raise _taken(bound.getsockname(), variable, error) from error


def _taken(address: Any, variable: str, error: OSError) -> ConfigurationError:  # noqa: ANN401  # each family has its own
    place = f"{address[0]}:{address[1]} cannot be listened on ({error.strerror})"
    return ConfigurationError(f"{variable}: {place}; is a service running there already?")
