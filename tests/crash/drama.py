"""One run: an installation is started, alerts are sent, the blow falls, others go on; then the truths are looked at."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import LiteralString

import psycopg

from inquest.crash import CrashAt, CrashPoint
from tests.crash.children import Child, Nursery
from tests.crash.house import House, house
from tests.crash.patience import PATIENCE_S, OutOfPatience, poll, until_still
from tests.crash.postgres import Clone
from tests.crash.schedules import POINTS, Blow, Schedule
from tests.crash.truths import Breach, Kind, breaches

SHOWN_LOG_CHARS = 1_500
_LOCKED = "lock table event in exclusive mode"
_LOCKED_ACCEPT = "lock table alert in exclusive mode"
_WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
_CLAIMED = "select count(*) from investigation where generation > 0"
_STILL = "select title, status, generation, attempt, version from investigation"
_UNSENT = (
    "select target_id, revision, kind, state, attempts, outcome from delivery where state not in ('sent', 'superseded')"
)


@dataclass
class Played:
    """How a run went."""

    schedule: Schedule
    breaches: list[Breach] = field(default_factory=list)
    logs: str = ""
    """The ends of the logs, where something broke."""

    @property
    def is_broken(self) -> bool:
        """Say whether a truth does not hold; a send that was let go late is told, and breaks none."""
        return any(one.kind is not Kind.LATE for one in self.breaches)


async def play(schedule: Schedule, clone: Clone, nursery: Nursery, *, patience_s: float = PATIENCE_S) -> Played:
    """Do one run on an empty database."""
    played = Played(schedule)
    async with house(clone, nursery, twice=schedule.written_twice) as one:
        try:
            await _Drama(schedule, one, clone, played.breaches, patience_s).run()
            played.breaches += await breaches(one)
        except (OutOfPatience, psycopg.Error, OSError) as error:
            played.breaches.append(Breach(Kind.LOST, f"{type(error).__name__}: {error}; {await _standing(clone)}"))
        if played.breaches:
            played.logs = _ends_of_logs(one)
    return played


@dataclass
class _Drama:
    schedule: Schedule
    house: House
    clone: Clone
    breaches: list[Breach]
    patience_s: float
    victim: Child = field(init=False)

    async def run(self) -> None:
        """Do it up to quiet."""
        await self._set_the_scene()
        async with self._kept_alive(), self._beside():
            await asyncio.gather(*(self.house.post(*alert) for alert in self._alerts()))
            await self._quiet()
            if self.schedule.blow is Blow.ZOMBIE:
                await self._let_the_zombie_go_on()
        if not self.house.blows:
            self.breaches.append(Breach(Kind.VACUOUS, f"nobody came to {self.schedule.at}"))

    def _alerts(self) -> list[tuple[str, str]]:
        return [(f"CrashMatrix{number}", each) for number, each in enumerate(self.schedule.severities, start=1)]

    async def _quiet(self) -> None:
        async def unrest() -> tuple[object, ...] | None:
            try:
                return await self.house.unrest()
            except psycopg.OperationalError as error:  # it is being restarted
                return (str(error),)

        await until_still(unrest, "quiet", patience_s=self.patience_s)

    # ---- who is there

    async def _set_the_scene(self) -> None:
        schedule, about = self.schedule, POINTS[self.schedule.point]
        if about.who == "service":
            self.victim = await self.house.serve(schedule.at)
            if schedule.peer and schedule.blow is not Blow.ZOMBIE:
                await self.house.serve(schedule.second)
            await self.house.work()
        else:
            await self.house.serve()
            self.victim = await self.house.work(schedule.at)
            if schedule.peer and about.is_sending and schedule.blow is Blow.KILL:
                await self.house.work(schedule.at)
        match about.held:
            case "model":
                self.house.vendors.at_model.close()
            case "notes":
                self.house.vendors.at_notes.close()
            case _:
                pass

    async def _start_another(self, at: CrashAt | None) -> None:
        if POINTS[self.schedule.point].who == "service":
            await self.house.serve(at)
        else:
            await self.house.work(at)

    @asynccontextmanager
    async def _kept_alive(self) -> AsyncIterator[None]:
        """See to it that there is always a service and a worker; who takes over first may be killed too."""
        keeping = asyncio.ensure_future(self._keep_alive())
        try:
            yield
        finally:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping

    async def _keep_alive(self) -> None:
        seen, second = set[Child](), None if self.schedule.peer else self.schedule.second
        while True:
            everybody = [*self.house.services, *self.house.workers]
            gone = [child for child in everybody if not child.lives and child not in seen]
            for child in gone:
                seen.add(child)
                self._note_blow()
            if gone and not any(child.answers for child in self.house.services):
                await self.house.serve(second)
                second = None
            if gone and not any(child.answers for child in self.house.workers):
                await self.house.work(second)
                second = None
            if not gone:
                await _any_end(everybody)

    def _note_blow(self) -> None:
        self.house.blows += 1
        self.house.vendors.at_model.open()
        self.house.vendors.at_notes.open()

    # ---- what happens beside the alerts

    @asynccontextmanager
    async def _beside(self) -> AsyncIterator[None]:
        acts = [self._peer_comes(), self._blow_falls(), self._leave_is_asked()]
        doing = [asyncio.ensure_future(act) for act in acts]
        try:
            yield
        finally:
            for one in doing:
                one.cancel()
            for found in await asyncio.gather(*doing, return_exceptions=True):
                if isinstance(found, Exception):
                    raise found

    async def _peer_comes(self) -> None:
        """Start the peer of a worker once everything is claimed, so that the victim has something to die with."""
        about = POINTS[self.schedule.point]
        if about.who == "service" or not self.schedule.peer or about.is_sending or self.schedule.blow is Blow.ZOMBIE:
            return

        async def is_claimed() -> bool:
            return not self.victim.answers or await self.clone.value(_CLAIMED) >= self.schedule.alerts

        await poll(is_claimed, "the claims")
        await self.house.work(self.schedule.second)

    async def _leave_is_asked(self) -> None:
        """Ask the victim to leave while its first call waits, where the point is in the drain."""
        if self.schedule.point is CrashPoint.C24:
            await self.house.vendors.at_model.someone_came.wait()
            self.house.was_asked_to_leave = True
            self.victim.send(signal.SIGTERM)

    async def _blow_falls(self) -> None:
        """Do to the victim, once it stands still, what is not a kill."""
        if self.schedule.blow is Blow.KILL:
            return
        if self.schedule.blow is Blow.POSTGRES and self.schedule.point is CrashPoint.C03:
            await self._postgres_is_killed_in_accept()
            return
        await self.victim.stopped.wait()
        self._note_blow()
        match self.schedule.blow:
            case Blow.ZOMBIE:
                await self._start_another(None)
            case Blow.DRAIN:
                await self._drained()
            case Blow.POSTGRES:
                await self._postgres_is_killed()

    async def _drained(self) -> None:
        self.house.was_asked_to_leave = True
        self.victim.send(signal.SIGTERM)
        self.victim.go_on()
        await self.victim.ended.wait()
        if self.victim.code != 0:
            self.breaches.append(Breach(Kind.LOST, f"a drain ended with {self.victim.code}"))

    async def _postgres_is_killed(self) -> None:
        """Kill it, at C16 in the middle of the transaction: what that has to write to is locked by us."""
        if self.schedule.point is CrashPoint.C16:
            async with self._locked(_LOCKED):
                self.victim.go_on()
                await self._killed_while_somebody_waits()
            return
        await self.clone.kill_and_restart()
        self.victim.go_on()

    async def _postgres_is_killed_in_accept(self) -> None:
        async with self._locked(_LOCKED_ACCEPT):
            await self.victim.stopped.wait()
            self._note_blow()
            await self._killed_while_somebody_waits()
        self.victim.go_on()

    @asynccontextmanager
    async def _locked(self, statement: LiteralString) -> AsyncIterator[None]:
        """Hold a lock inside the `with`, in which the server is killed."""
        locker = await self.clone.connect()
        try:
            await locker.set_autocommit(False)
            await locker.execute(statement)
            yield
        finally:
            with suppress(psycopg.OperationalError):
                await locker.close()

    async def _killed_while_somebody_waits(self) -> None:
        async def is_waited_for() -> bool:
            return bool(await self.clone.value(_WAITING))

        await poll(is_waited_for, "a transaction that is under way")
        await self.clone.kill_and_restart()

    async def _let_the_zombie_go_on(self) -> None:
        """Continue it, alone, with one more alert to show that it works; what it had in hand must change nothing."""
        about = POINTS[self.schedule.point]
        for child in self.house.services if about.who == "service" else self.house.workers:
            if child is not self.victim:
                child.send(signal.SIGKILL)
                await child.ended.wait()
        self.house.continued_at = time.time()
        self.victim.go_on()
        await self.house.post(f"CrashMatrix{self.schedule.alerts + 1}", "critical")
        await self._quiet()


async def _any_end(children: list[Child]) -> None:
    """Wait until one of those that live has ended; a moment, when there may be new ones."""
    ends = [asyncio.ensure_future(child.ended.wait()) for child in children if child.lives]
    await asyncio.wait(ends, timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
    for one in ends:
        one.cancel()


async def _standing(clone: Clone) -> str:
    """Say where everything stands, for whoever reads of a failure."""
    try:
        return f"{await clone.rows(_STILL)} {await clone.rows(_UNSENT)}"
    except (psycopg.Error, OSError) as error:
        return type(error).__name__


def _ends_of_logs(one: House) -> str:
    children = [*one.services, *one.workers]
    return "\n".join(f"--- {child.log.name} ({child.code})\n{child.said()[-SHOWN_LOG_CHARS:]}" for child in children)
