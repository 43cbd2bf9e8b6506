"""A small shop service that can really break, as a process: `python -m tests.e2e.checkout_app PORT`.

Its customers are inside it: twenty requests a second, each of which needs a connection of the pool for a
while. POST /break starts a job that takes connections and never gives them back: the pool fills up to its
limit first, and requests fail once they have waited for a connection in vain. POST /repair ends the job.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from tests.fakes.loopback import Reply, Seen, loopback

POOL_SIZE = 10
ARRIVES_EVERY_S = 0.05
HOLDS_S = 0.1
WAITS_AT_MOST_S = 3.0
LEAKS_EVERY_S = 0.15


class Checkout:
    """The service: a pool, requests by the status that they ended with, and the leak."""

    def __init__(self) -> None:
        self._pool = asyncio.Semaphore(POOL_SIZE)
        self._in_use = 0
        self._ended = Counter({200: 0, 503: 0})
        self._leak: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Let customers come, for ever."""
        while True:
            request = asyncio.create_task(self._checkout())
            self._requests.add(request)
            request.add_done_callback(self._requests.discard)
            await asyncio.sleep(ARRIVES_EVERY_S)

    async def _checkout(self) -> None:
        try:
            async with self._connection(WAITS_AT_MOST_S):
                await asyncio.sleep(HOLDS_S)
        except TimeoutError:
            self._ended[503] += 1
        else:
            self._ended[200] += 1

    @asynccontextmanager
    async def _connection(self, patience_s: float | None) -> AsyncIterator[None]:
        async with asyncio.timeout(patience_s):
            await self._pool.acquire()
        self._in_use += 1
        try:
            yield
        finally:
            self._in_use -= 1
            self._pool.release()

    async def _leaking(self) -> None:
        async with AsyncExitStack() as held:
            while True:
                await held.enter_async_context(self._connection(None))
                await asyncio.sleep(LEAKS_EVERY_S)

    async def answer(self, seen: Seen) -> Reply:
        match seen.method, seen.path:
            case "GET", "/metrics":
                return Reply(body=self._metrics().encode(), headers={"Content-Type": "text/plain; version=0.0.4"})
            case "POST", "/break":
                self._leak = self._leak or asyncio.create_task(self._leaking())
                return Reply(status=204)
            case "POST", "/repair":
                await self._repair()
                return Reply(status=204)
            case _:
                return Reply(status=404)

    async def _repair(self) -> None:
        leak, self._leak = self._leak, None
        if leak is not None:
            leak.cancel()
            with suppress(asyncio.CancelledError):
                await leak

    def _metrics(self) -> str:
        ended = [f'checkout_http_requests_total{{status="{code}"}} {count}' for code, count in self._ended.items()]
        return "\n".join(
            [
                "# TYPE checkout_http_requests_total counter",
                *ended,
                "# TYPE checkout_db_pool_connections_in_use gauge",
                f"checkout_db_pool_connections_in_use {self._in_use}",
                "# TYPE checkout_db_pool_connections_max gauge",
                f"checkout_db_pool_connections_max {POOL_SIZE}",
                "",
            ]
        )


async def main(port: int) -> None:
    """Serve until the process is ended."""
    shop = Checkout()
    async with loopback(shop.answer, port=port):
        await shop.run()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
