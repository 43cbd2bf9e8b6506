"""Connections to Postgres: one bounded pool, first come first served, our schema on every connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from inquest.errors import InvariantBroken, StoreUnavailable
from inquest.store.pulse import Pulse
from inquest.store.refusals import translated
from inquest.store.url import driver_url

POOL_SIZE = 6
"""Connections of one process (recipes: six keep a batch of 16 effects at 0.8 ms each)."""
WAIT_S = 30
"""How long a caller waits for one of them."""
CONNECT_TIMEOUT_S = 5
STATEMENT_TIMEOUT_MS = 30_000
LOCK_TIMEOUT_MS = 10_000
ANSWER_S = 40
"""How long a caller waits for the answer to a statement. The server's own limit ends it sooner, unless the server itself
hangs, with its disk, while its host still acknowledges what is sent."""
DEAD_PEER_MS = 20_000
"""A peer that acknowledges nothing for this long is gone: a host that went away sends no word, and no statement
timeout of its own ends the wait. The operator's kernel would wait for 15 minutes."""
KEEPALIVES: dict[str, int] = {
    "tcp_user_timeout": DEAD_PEER_MS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}
"""Seconds, after which a connection that waits for an answer is probed: together as long as DEAD_PEER_MS."""
OPTIONS = (
    f"-csearch_path=inquest,pg_temp -cstatement_timeout={STATEMENT_TIMEOUT_MS} -clock_timeout={LOCK_TIMEOUT_MS}"
    " -ctimezone=UTC -cidle_in_transaction_session_timeout=60000"
)
"""Set at connect, so that a connection can never lack them. A transaction-pooling proxy drops them: unsupported."""

Parameters = Mapping[str, object]


class Database:
    """The pool of one process, for one event loop.

    Who waits, waits in a semaphore of the pool's size, first come first served, not in SQLAlchemy's own queue:
    with 32 callers for a few connections that halved the slowest calls.
    """

    def __init__(self, url: str, *, pool_size: int = POOL_SIZE) -> None:
        self._url = url
        self._engine = create_async_engine(
            driver_url(url),
            isolation_level="AUTOCOMMIT",
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=WAIT_S,
            skip_autocommit_rollback=True,
            hide_parameters=True,
            connect_args={"options": OPTIONS, "connect_timeout": CONNECT_TIMEOUT_S, **KEEPALIVES},
        )
        self._transactional = self._engine.execution_options(isolation_level="READ COMMITTED")
        self._turn = asyncio.Semaphore(pool_size)
        self._pulse = Pulse(url)

    @property
    def url(self) -> str:
        """Give the URL it was made with. It may hold a password."""
        return self._url

    async def rows(self, statement: str, parameters: Parameters) -> Sequence[Row[Any]]:
        """Run one statement with %(name)s parameters in autocommit and give its rows.

        Raises StoreUnavailable, and whatever the functions of `migrations/sql` refuse with.
        """
        async with self._my_turn(), _answered_in_time():
            with translated():
                async with self._engine.connect() as connection:
                    result = await connection.exec_driver_sql(statement, dict(parameters))
                    return result.fetchall() if result.returns_rows else ()

    async def row(self, statement: str, parameters: Parameters) -> Row[Any] | None:
        """As `rows`, for a statement that gives one row at most. Raises InvariantBroken when there are more."""
        found = await self.rows(statement, parameters)
        if len(found) > 1:
            raise InvariantBroken(f"{len(found)} rows where one was asked for")
        return found[0] if found else None

    async def value(self, statement: str, parameters: Parameters) -> Any:  # noqa: ANN401  # a column's type
        """As `rows`, for a statement that gives exactly one value."""
        found = await self.row(statement, parameters)
        if found is None or len(found) != 1:
            raise InvariantBroken("no value where one was asked for")
        return found[0]

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection in one READ COMMITTED transaction: committed at the end, rolled back on an error.

        For several statements that stand or fall together, never around anything that waits for the outside: all of
        them have ANSWER_S. Raises as `rows`.
        """
        async with self._my_turn(), _answered_in_time():
            with translated():
                async with self._transactional.begin() as connection:
                    yield connection

    async def answers(self) -> None:
        """Return when the database answers a question of no weight, past the pool. Raises StoreUnavailable, soon."""
        await self._pulse.felt()

    async def aclose(self) -> None:
        """Close every connection. The database can be used again after it; it connects anew."""
        await self._pulse.aclose()
        await self._engine.dispose()

    @asynccontextmanager
    async def _my_turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(WAIT_S):
                await self._turn.acquire()
        except TimeoutError as error:
            raise StoreUnavailable(f"no connection became free in {WAIT_S} s") from error
        try:
            yield
        finally:
            self._turn.release()


@asynccontextmanager
async def _answered_in_time() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(ANSWER_S):
            yield
    except TimeoutError as error:
        raise StoreUnavailable(f"the database gave no answer in {ANSWER_S} s") from error
