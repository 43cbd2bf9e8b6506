"""The engine: Procrastinate behind `ports.Engine` (its safe use: ADR 0012). `ring` of `migrations/sql` rings.

A job is a bell and carries one id. Its retries, its handling of stalled jobs, `lock` and `queueing_lock` are
never used; its attempts are not ours; a job that is lost or doubled changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, LiteralString

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from psycopg_pool import AsyncConnectionPool
from psycopg_pool.pool_async import AddConnection, MaintenanceTask
from typing_extensions import override

from inquest.store.database import KEEPALIVES
from inquest.store.url import conninfo
from inquest.telemetry import Recurring

if TYPE_CHECKING:
    from procrastinate.connector import Notify

TASKS = {"investigations": "investigate", "deliveries": "deliver"}
"""The one task of each queue; `ring` of the migrations names both."""
UPKEEP_QUEUE = "upkeep"
UPKEEP_CRON = "* * * * *"
POLL_S = 5.0
HEARTBEAT_S = 10.0
STALLED_AFTER_S = 30.0
RELISTEN_S = 0.5
POOL_MAX = 4
POOL_TIMEOUT_S = 30.0
"""The engine outlives a database that is away for less than this; after that it is started anew."""
RECONNECT_S = 1.0
"""The longest wait between two attempts to connect."""
CONNECT_TIMEOUT_S = 5
ANSWER_TIMEOUT_S = 40.0
"""For one statement, with the wait for its connection, which ends sooner. A Postgres that hangs on a host that lives, or
a proxy that says nothing more, would be waited for without an end."""
HAND_BACK_S = 1.0
"""How long an engine that ends, asked or broken, waits for the calls that run. They are bells: whoever does the work
keeps it, and a broken engine that waited longer would keep the next one from hearing anything."""

Upkeep = Callable[[], Awaitable[object]]


class PersistentPool(AsyncConnectionPool[Any]):
    """A pool that tries to connect every second.

    By itself it would wait ever longer: after an outage of 40 s the queue stayed deaf for 20 s more.
    """

    @override
    async def schedule_task(self, task: MaintenanceTask, delay: float) -> None:
        await super().schedule_task(task, min(delay, RECONNECT_S) if isinstance(task, AddConnection) else delay)


class ListeningConnector(PsycopgConnector):
    """A connector whose LISTEN survives, and whose statements end.

    Without the first, a restart of Postgres leaves the worker deaf or ends it; without the second, a connection that
    nothing more comes through keeps it from polling for as long as it stands.
    """

    @override
    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        """Run a statement. Raises ConnectorException, after ANSWER_TIMEOUT_S too, as all of these do."""
        async with _answered_in_time():
            await super().execute_query_async(query, **arguments)

    @override
    async def execute_query_one_async(self, query: LiteralString, **arguments: Any) -> dict[str, Any]:
        """Give the one row of a statement."""
        async with _answered_in_time():
            row: dict[str, Any] = await super().execute_query_one_async(query, **arguments)
        return row

    @override
    async def execute_query_all_async(self, query: LiteralString, **arguments: Any) -> list[dict[str, Any]]:
        """Give all rows of a statement."""
        async with _answered_in_time():
            rows: list[dict[str, Any]] = await super().execute_query_all_async(query, **arguments)
        return rows

    @override
    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Listen until cancelled, over as many connections as it takes."""
        lost = Recurring("queue_listener_lost")
        while True:
            try:
                await super().listen_notify(on_notification, channels)
            except ConnectorException:
                lost.happened()
            await asyncio.sleep(RELISTEN_S)


@asynccontextmanager
async def _answered_in_time() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            yield
    except TimeoutError as error:
        raise ConnectorException from error


class ProcrastinateEngine:
    """`ports.Engine`: each `serve` builds an App of its own, so that a broken one leaves nothing behind.

    `upkeep` is the one periodic task: with one registered, the engine notices when its heartbeat or its listener
    fails.
    """

    def __init__(self, url: str, *, upkeep: Upkeep) -> None:
        self._conninfo = conninfo(url)
        self._upkeep = upkeep

    async def serve(
        self, queue: Literal["investigations", "deliveries"], on_ring: Callable[[str], Awaitable[None]], *, slots: int
    ) -> None:
        """Call `on_ring` with the id of each ring of `queue`, at most `slots` at once, until cancelled.

        Calls that run when it ends are cancelled after HAND_BACK_S. Returns or raises, whatever Procrastinate
        raises, when the engine broke: serve again.
        """
        app = self._app(queue, on_ring)
        queues = [queue, UPKEEP_QUEUE] if queue == "deliveries" else [queue]
        async with app.open_async():
            await app.run_worker_async(
                queues=queues,
                name=queue,
                concurrency=slots,
                install_signal_handlers=False,
                fetch_job_polling_interval=POLL_S,
                update_heartbeat_interval=HEARTBEAT_S,
                stalled_worker_timeout=STALLED_AFTER_S,
                shutdown_graceful_timeout=HAND_BACK_S,
                delete_jobs="always",
            )

    def _app(self, queue: str, on_ring: Callable[[str], Awaitable[None]]) -> App:
        connector = ListeningConnector(
            pool_factory=PersistentPool,
            conninfo=self._conninfo,
            kwargs={
                "options": "-csearch_path=procrastinate,pg_temp",
                "connect_timeout": CONNECT_TIMEOUT_S,
                **KEEPALIVES,
            },
            min_size=1,
            max_size=POOL_MAX,
            timeout=POOL_TIMEOUT_S,
        )
        app = App(connector=connector)

        @app.task(name=TASKS[queue], queue=queue)
        async def ring(id: str) -> None:  # noqa: A002  # the name that the jobs carry
            await on_ring(id)

        @app.periodic(cron=UPKEEP_CRON)
        @app.task(name="upkeep", queue=UPKEEP_QUEUE)
        async def upkeep(timestamp: int) -> None:  # noqa: ARG001  # Procrastinate gives it
            await self._upkeep()

        return app
