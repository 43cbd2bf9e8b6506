"""A Postgres that a test may take away in the ways in which one goes away, and a sender that never gives up."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from inquest.store.embedded import EmbeddedPostgres, start
from inquest.store.embedded.postmaster import find_running
from inquest.store.migrate import upgrade
from tests.freezing import processes_of, send_each
from tests.postgres import SETTINGS, fast_folder
from tests.waiting import until

UNAVAILABLE, ACCEPTED = 503, 202
PATIENCE_S = 120.0
AGAIN_S = (0.3, 0.6, 1.2, 2.5, 5.0)
"""Between the tries of one post; the last, which is our Retry-After, repeats."""


class Restarting:
    """The server of a folder of its own."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._server: EmbeddedPostgres = start(base, settings=SETTINGS)
        self._frozen: list[int] = []
        self.url = self._server.sqlalchemy_url("postgres")

    def stop_at_once(self) -> None:
        """Do as `pg_ctl stop -m immediate` does: nothing is written out, no client is told."""
        running = find_running(self._data)
        assert running is not None
        os.kill(running.pid, signal.SIGQUIT)

    def start_again(self) -> None:
        self._server = start(self._base, settings=SETTINGS)

    def freeze(self) -> None:
        """Stop all of its processes; its host goes on to take connections and to acknowledge what is sent."""
        self._frozen = processes_of(self._base)
        send_each(self._frozen, signal.SIGSTOP)

    def thaw(self) -> None:
        send_each(self._frozen, signal.SIGCONT)
        self._frozen = []

    def end(self) -> None:
        self.thaw()
        self.start_again()
        self._server.stop()

    @property
    def _data(self) -> Path:
        (pid_file,) = self._base.rglob("postmaster.pid")
        return pid_file.parent


@contextmanager
def restarting_postgres() -> Iterator[Restarting]:
    """Give a migrated one for the length of a `with`."""
    base = Path(tempfile.mkdtemp(prefix="inquest-away-postgres-", dir=fast_folder()))
    server = Restarting(base)
    try:
        upgrade(server.url)
        yield server
    finally:
        server.end()
        shutil.rmtree(base)


@dataclass
class Sender:
    """Posts alerts at a pace, each until it is taken in, and notes what it was told and how soon."""

    url: str
    token: str
    told: list[tuple[int, float]] = field(default_factory=list)
    """Status and seconds of every answer; 0 where there was none."""
    taken: list[str] = field(default_factory=list)
    """Fingerprints of what was answered 202."""
    first: int = 0
    """The number of its first post: those below are of an earlier sender."""
    sent: int = field(init=False)
    """The number of its next post."""

    def __post_init__(self) -> None:
        self.sent = self.first

    async def send(self, every_s: float, until_set: asyncio.Event, *, new_group_every: int) -> None:
        """Post every `every_s`, whatever becomes of the posts before, until the event is set; then wait for all."""
        limits = httpx2.Limits(max_connections=200)
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_S, limits=limits) as client,
            asyncio.TaskGroup() as posts,
        ):
            while not until_set.is_set():
                posts.create_task(self._deliver(client, self.sent, self.sent // new_group_every))
                self.sent += 1
                await asyncio.sleep(every_s)

    async def _deliver(self, client: httpx2.AsyncClient, number: int, group: int) -> None:
        fingerprint = f"{number:016x}"
        body, waits = _post(fingerprint, group), iter(AGAIN_S)

        async def is_taken() -> bool:
            began = time.monotonic()
            try:
                answer = await client.post(self.url, content=body, headers={"Authorization": f"Bearer {self.token}"})
                status = answer.status_code
                assert status != UNAVAILABLE or "retry-after" in answer.headers
            except httpx2.TransportError:
                status = 0
            self.told.append((status, time.monotonic() - began))
            if status != ACCEPTED:
                await asyncio.sleep(next(waits, AGAIN_S[-1]))
            return status == ACCEPTED

        await until(is_taken, patience_s=PATIENCE_S)
        self.taken.append(fingerprint)

    def within_s(self, status: int, share: float) -> float:
        """Give the time within which so many of the answers with `status` came."""
        ranked = sorted(seconds for told, seconds in self.told if told == status)
        return ranked[min(int(len(ranked) * share), len(ranked) - 1)] if ranked else 0.0

    def count(self, status: int) -> int:
        return sum(told == status for told, _ in self.told)


def _post(fingerprint: str, group: int) -> bytes:
    labels = {"alertname": "Broken", "service": f"shop-{group}", "severity": "warning", "instance": fingerprint}
    alert = {"status": "firing", "labels": labels, "annotations": {}, "startsAt": "2026-03-01T10:00:00Z"}
    alert["fingerprint"] = fingerprint
    return json.dumps({"version": "4", "status": "firing", "groupKey": "{}", "alerts": [alert]}).encode()
