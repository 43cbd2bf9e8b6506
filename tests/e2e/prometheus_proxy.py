"""A reverse proxy before a Prometheus, as a process with a journal of what was asked.

    python -m tests.e2e.prometheus_proxy PORT UPSTREAM JOURNAL [HELD]

The first query whose expression contains HELD is journalled and then never answered: its connection stays
open until whoever asked is gone. Without HELD none is. Everything else goes to UPSTREAM and comes back as it is. JOURNAL has a line
for each request as it comes ("asked") and one as its answer leaves ("answered").
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import httpx2

from tests.e2e.journals import Journal
from tests.fakes.loopback import Act, Hang, Reply, Seen, loopback

UPSTREAM_TIMEOUT_S = 30.0
NOT_ASKED_FOR = frozenset({"timeout"})
"""How long the asker waits is no part of what it asks."""


class Proxy:
    """Passes requests on, but for the one that is held."""

    def __init__(self, upstream: httpx2.AsyncClient, journal: Journal, held: str | None) -> None:
        self._upstream = upstream
        self._journal = journal
        self._held = held
        self._number = 0

    async def answer(self, seen: Seen) -> Act:
        if seen.path == "/ready":
            return Reply()
        self._number += 1
        number = self._number
        asked = sorted(pair for pair in seen.params if pair[0] not in NOT_ASKED_FOR)
        self._journal.write(what="asked", number=number, method=seen.method, path=seen.path, params=asked)
        if self._held is not None and self._held in seen.param("query"):
            self._held = None
            return Hang()
        reply = await passed_on(self._upstream, seen)
        self._journal.write(what="answered", number=number, status=reply.status)
        return reply


async def passed_on(upstream: httpx2.AsyncClient, seen: Seen) -> Reply:
    """Ask `upstream` the same, and give its answer as it is."""
    headers = {"Content-Type": kind} if (kind := seen.headers.get("content-type")) else {}
    got = await upstream.request(seen.method, seen.target, content=seen.body, headers=headers)
    return Reply(got.status_code, got.content, {"Content-Type": got.headers.get("content-type", "")})


def is_health_check(params: Iterable[Sequence[str]]) -> bool:
    """Tell a worker's question whether Prometheus is well from those of an investigation."""
    return ("query", "1") in {tuple(pair) for pair in params}


async def main(port: int, upstream: str, journal: Path, held: str | None) -> None:
    """Serve until the process is ended."""
    async with httpx2.AsyncClient(base_url=upstream, timeout=UPSTREAM_TIMEOUT_S, trust_env=False) as client:
        proxy = Proxy(client, Journal(journal), held)
        async with loopback(proxy.answer, port=port):
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None))
