"""Owners that die around a write, and what a take-over must come to: for any store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from inquest.domain.effect import Receipt, Reservation
from inquest.domain.fence import Fence
from inquest.domain.investigation import Gathered
from inquest.domain.planned import Dispatch
from inquest.domain.projection import Projection
from inquest.models.scripted import in_order
from inquest.ports import Chronicle, ReserveAnswer, Write
from inquest.store.memory import MemoryJournal
from tests.builders import T0
from tests.loop_host import Host, call, calls, judged, reply, tool

T = TypeVar("T")
LINES = [
    calls(call("metrics_query", "a", expression="up"), call("logs_query", "b", expression="err"), content="Looking."),
    calls(call("metrics_query", "c", expression="up"), call("search_tools", "d", query="changes_query")),
    reply("Too early."),
    calls(
        call("changes_query", "e", expression="deploys"),
        call("open_hypothesis", "f", text="A deploy did it.", refuted_by="no deploy"),
        call("metrics_query", "g", expression="up", cursor="page-2"),
        call("no_such_tool", "h"),
    ),
    calls(*judged("h1", "h2"), call("read_evidence", "i", id="E1", grep="up")),
    reply("The deployment broke it."),
]
SCRIPT = in_order(LINES)


class Dying:
    """A journal whose owner dies around its `dies_at`-th write: the write happened (after) or not (before)."""

    def __init__(self, memory: MemoryJournal, dies_at: int, *, before: bool) -> None:
        self._memory = memory
        self._dies_at = dies_at
        self._before = before
        self.writes = 0
        self.dead = asyncio.Event()

    async def _around(self, write: Callable[[], Awaitable[T]]) -> T:
        self.writes += 1
        dies = self.writes == self._dies_at
        if self.dead.is_set() or (dies and self._before):
            await self._die()
        result = await write()
        if dies:
            await self._die()
        return result

    async def _die(self) -> None:
        self.dead.set()
        await asyncio.Event().wait()

    async def load(self, investigation_id: str) -> Chronicle:
        return await self._memory.load(investigation_id)

    async def content(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        return await self._memory.content(digests)

    async def commit(self, write: Write) -> int:
        return await self._around(lambda: self._memory.commit(write))

    async def reserve(self, fence: Fence, expected_version: int, reservation: Reservation) -> ReserveAnswer:
        return await self._around(lambda: self._memory.reserve(fence, expected_version, reservation))

    async def receive(self, fence: Fence, receipt: Receipt, contents: Mapping[str, bytes]) -> None:
        return await self._around(lambda: self._memory.receive(fence, receipt, contents))


def dying_instead(dying: Dying) -> Callable[[MemoryJournal], Dying]:
    return lambda _: dying


def new_host(*, store: object = None, begins: datetime = T0) -> Host:
    tools = [
        tool("metrics_query"),
        tool("logs_query", signal="logs"),
        tool("changes_query", signal="changes"),
        *(tool(f"other{n}_query", signal="names") for n in range(30)),
    ]
    tools[0].spec.parameters["properties"]["cursor"] = {"type": "string"}  # type: ignore[index,call-overload]
    return Host(tools, signals=("metrics", "logs", "changes"), seeds=("errors", "latency"), store=store, begins=begins)


async def whole_run() -> tuple[Gathered, Projection, Host]:
    host = new_host()
    gathered = await host.gather(SCRIPT)
    return gathered, await host.projected(), host


async def run_and_die(host: Host, dies_at: int, *, before: bool) -> Dying | None:
    """Run until the owner dies; None when it ended before."""
    fence = await host.start()
    dying = Dying(host.memory, dies_at, before=before)
    host.wrap = dying_instead(dying)
    task = asyncio.create_task(host.gather(SCRIPT, fence))
    death = asyncio.create_task(dying.dead.wait())
    done, _ = await asyncio.wait({task, death}, return_when=asyncio.FIRST_COMPLETED)
    for one in (task, death):
        one.cancel()
    await asyncio.gather(task, death, return_exceptions=True)
    host.wrap = lambda memory: memory
    return None if task in done else dying


async def bought_too_often(host: Host) -> list[str]:
    """Name the keys that were acted on more often than their rows say; a row counts one and each re-dispatch."""
    state, chronicle = await host.state(), await host.chronicle()
    dispatches = {row.key: row.dispatches for row in chronicle.effects}
    plans = [one.plan for turn in state.turns for one in turn.calls if isinstance(one.plan, Dispatch)]
    queries = {plan.key: plan.query for plan in plans} | {seed.key: seed.query for seed in state.plan.seeds}
    ran = Counter(query.canonical_digest() for one in host.tools for query in one.ran)
    asked = Counter(f"turn/{view.turn}" for view in host.views)
    often = {key: ran[query.canonical_digest()] for key, query in queries.items()} | dict(asked)
    return [key for key, times in often.items() if times > dispatches[key]]


async def writes_of_a_whole_run() -> int:
    host = new_host()
    fence = await host.start()
    dying = Dying(host.memory, -1, before=False)
    host.wrap = dying_instead(dying)
    await host.gather(SCRIPT, fence)
    return dying.writes
