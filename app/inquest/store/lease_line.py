"""The lease thread's own connection: renewals, and word of fences that were moved by a write from no owner."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import psycopg

from inquest.domain.fence import Fence
from inquest.errors import StoreUnavailable
from inquest.ports import Renewal
from inquest.store.claims import renew_now
from inquest.store.url import conninfo

CHANNEL = "inquest_fence"
"""What `inquest.fence_moved` notifies; the payload is an investigation's id."""
CONNECT_TIMEOUT_S = 3
MIN_TIMEOUT_MS = 500


class PostgresLeaseLine:
    """`ports.LeaseLine`. It belongs to one thread; nothing here waits longer than about one lease.

    But for a server that hangs on a host that lives, where no limit of ours ends the wait: then `abort` does.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def renew(self, fences: Sequence[Fence], lease: timedelta) -> Mapping[Fence, Renewal]:
        """Lengthen these leases in one statement that waits for no row. Raises StoreUnavailable."""
        return renew_now(self._connection, fences, lease=lease)

    def moved(self, timeout_s: float) -> frozenset[str]:
        """Wait at most `timeout_s` for ids whose fence was moved. Raises StoreUnavailable."""
        with _translated():
            first = {heard.payload for heard in self._connection.notifies(timeout=timeout_s, stop_after=1)}
            return frozenset(first)

    def abort(self) -> None:
        """Break the connection, from another thread. Never raises."""
        with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection. Never raises."""
        with suppress(psycopg.Error):
            self._connection.close()


def connect(url: str, lease: timedelta) -> PostgresLeaseLine:
    """Connect to the database at `url` and listen. Raises StoreUnavailable.

    A statement that waits for longer than half a lease is given up, and a peer that does not acknowledge for a
    lease is taken for dead: a renewal that comes later is of no use.
    """
    lease_ms = max(lease // timedelta(milliseconds=1), MIN_TIMEOUT_MS)
    with _translated():
        connection = psycopg.connect(
            conninfo(url),
            autocommit=True,
            connect_timeout=CONNECT_TIMEOUT_S,
            options=f"-csearch_path=inquest,pg_temp -cstatement_timeout={max(lease_ms // 2, MIN_TIMEOUT_MS)}",
            tcp_user_timeout=lease_ms,
            keepalives_idle=max(1, lease_ms // 2_000),
            keepalives_interval=max(1, lease_ms // 4_000),
            keepalives_count=2,
        )
        try:
            connection.execute(f"listen {CHANNEL}")
        except psycopg.Error:
            connection.close()
            raise
    return PostgresLeaseLine(connection)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.OperationalError as error:
        raise StoreUnavailable("the database does not answer the lease's connection") from error
