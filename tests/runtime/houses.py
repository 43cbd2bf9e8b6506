"""A database with one opened investigation, and worker processes that a test kills, stops, cuts off and sets wrong."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from inquest.domain.event import TurnCommitted
from inquest.domain.investigation import Status
from tests.runtime.toy import World
from tests.store.builders import Store
from tests.waiting import until

REPOSITORY = Path(__file__).parent.parent.parent
PATIENCE_S = 60.0


class House:
    """A database with one opened investigation and its target, and the worker processes of a test."""

    def __init__(self, url: str, conninfo: str) -> None:
        self.store = Store(url, conninfo)
        self.world = World(conninfo)
        self.processes: list[asyncio.subprocess.Process] = []

    async def open(self, name: str = "inv-1") -> None:
        await self.store.opened(name)
        self.store.add_target(name, "toy")

    async def worker(
        self,
        *,
        environment: Mapping[str, str] | None = None,
        **changes: Any,  # noqa: ANN401  # those of toy_worker
    ) -> asyncio.subprocess.Process:
        options = {
            "url": self.store.database.url, "conninfo": self.store.conninfo, "lease_s": 1.0, "turns": 3,
            "grace_s": 5.0, "send_for_s": 1.0, "concurrency": 2,
        }  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.runtime.toy_worker",
            json.dumps({**options, **changes}),
            cwd=REPOSITORY,
            env={**os.environ, **(environment or {})},
        )
        self.processes.append(process)
        return process

    async def reached(self, point: str, *, times: int = 1) -> None:
        async def seen() -> bool:
            return len(await self.world.reached(point)) >= times

        await until(seen, patience_s=PATIENCE_S)

    async def ended(self, name: str = "inv-1") -> None:
        async def succeeded() -> bool:
            return await self.store.status(name) is Status.SUCCEEDED

        await until(succeeded, patience_s=PATIENCE_S)

    async def sent(self, count: int = 1) -> None:
        def all_sent() -> bool:
            states = self.store.look("select state from delivery where state <> 'superseded'")
            return len(states) == count and all(row["state"] == "sent" for row in states)

        await until(all_sent, patience_s=PATIENCE_S)

    def row(self, name: str = "inv-1") -> dict[str, Any]:
        (found,) = self.store.look("select * from investigation where investigation_id = %s", name)
        return found

    async def turns(self, name: str = "inv-1") -> list[int]:
        events = (await self.store.journal.load(name)).events
        return [event.body.turn for event in events if isinstance(event.body, TurnCommitted)]

    async def end(self) -> None:
        for process in self.processes:
            if process.returncode is None:
                process.kill()
            await process.wait()
        await self.store.database.aclose()


async def kill(process: asyncio.subprocess.Process) -> None:
    process.kill()
    await process.wait()


@asynccontextmanager
async def prepared(url: str, conninfo: str) -> AsyncIterator[House]:
    house = House(url, conninfo)
    house.store.add_episode()
    await house.world.make()
    try:
        yield house
    finally:
        await house.end()
