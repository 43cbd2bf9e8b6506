"""One run's installation: its files, its processes, and the sender of its alerts."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from inquest.crash import CrashAt
from tests.crash.children import Child, Nursery
from tests.crash.patience import PATIENCE_S, poll
from tests.crash.postgres import Clone
from tests.crash.vendors import TURNS, Vendors, vendors
from tests.fakes import gitlab_notes, slack
from tests.loopback import HOST, free_port

KEY = "11" * 32
TOKEN = "the-matrix-sends-alerts"
LEASE_S, GRACE_S = "1", "0.3"
POST_TIMEOUT_S = 15.0
ACCEPTED = 202


@dataclass(frozen=True)
class Sent:
    """A post that was answered with 202, and the receipt that the answer named."""

    alert: str
    receipt_id: str


@dataclass
class House:
    """What runs, what was killed, and what was taken in."""

    folder: Path
    clone: Clone
    vendors: Vendors
    nursery: Nursery
    client: httpx2.AsyncClient
    twice: bool
    services: list[Child] = field(default_factory=list)
    workers: list[Child] = field(default_factory=list)
    ports: dict[Child, int] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    """Every alert that somebody tried to post."""
    blows: int = 0
    """How often something was done to a process that may cost one repeated call."""
    was_asked_to_leave: bool = False
    continued_at: float | None = None
    """When a process that had stood still past its lease was continued (seconds since 1970)."""

    @property
    def reports(self) -> Path:
        """Give where folders of reports are written."""
        return self.folder / "reports"

    # ---- processes

    async def serve(self, at: CrashAt | None = None) -> Child:
        """Start a service, and wait until it takes alerts or is gone."""
        port = free_port()
        child = await self._fork("serve", at, {"INQUEST_HOST": HOST, "INQUEST_PORT": str(port)})
        self.services.append(child)
        self.ports[child] = port

        await poll(lambda: '"serving"' in child.said() or not child.lives, "the service")
        return child

    async def work(self, at: CrashAt | None = None) -> Child:
        """Start a worker, and wait until it works or is gone."""
        child = await self._fork("work", at, {})
        self.workers.append(child)
        await poll(lambda: "worker_started" in child.said() or not child.lives, "the worker")
        return child

    async def run(self, *arguments: str) -> tuple[int, str]:
        """Run a command of ours to its end; give its exit code and what it printed."""
        child = await self._fork("-".join(arguments[:2]), None, {}, arguments=arguments)
        await asyncio.wait_for(child.ended.wait(), PATIENCE_S)
        return child.code, child.said()

    async def _fork(
        self, name: str, at: CrashAt | None, more: Mapping[str, str], *, arguments: tuple[str, ...] = ()
    ) -> Child:
        number = len(self.services) + len(self.workers) + 1
        armed = {} if at is None else {"INQUEST_CRASH_AT": f"{at.point.name}:{at.passing}:{at.ending}"}
        environment = {
            "INQUEST_DATABASE_URL": self.clone.url,
            "INQUEST_KEY_FILE": str(self.folder / "key"),
            "INQUEST_CONFIG": str(self.folder / "inquest.yaml"),
            "INQUEST_LEASE_S": LEASE_S,
            "INQUEST_DRAIN_GRACE_S": GRACE_S,
            "INTAKE_TOKEN": TOKEN,
            "SLACK_TOKEN": slack.TOKEN,
            "NOTES_TOKEN": gitlab_notes.TOKEN,
            **armed,
            **more,
        }
        log = self.folder / f"{number}-{name}.log"
        return await self.nursery.fork(
            name, arguments or (name,), environment, log, is_armed=at is not None, twice=self.twice
        )

    def end(self) -> None:
        """Kill what still runs."""
        for child in (*self.services, *self.workers):
            child.send(signal.SIGKILL)

    # ---- alerts

    async def post(self, alert: str, severity: str) -> None:
        """Send one alert as a sender does: again and again, at whoever serves, until somebody answers 2xx."""
        body = json.dumps(_post(alert, severity)).encode()
        self.alerts.append(alert)

        async def is_taken() -> bool:
            for child in [one for one in self.services if one.answers]:
                answer = await self._try(body, child)
                if answer is not None:
                    self.sent.append(Sent(alert, str(answer["receipt_id"])))
                    return True
            return False

        await poll(is_taken, f"a 2xx for {alert}")

    async def _try(self, body: bytes, child: Child) -> dict[str, Any] | None:
        """Post once; None for another answer than 202, and for none in its time, or from one that was stopped."""
        asking = asyncio.ensure_future(self._ask(body, self.ports[child]))
        stopping = asyncio.ensure_future(child.stopped.wait())
        await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not asking.done():
            asking.cancel()
            return None
        return asking.result()

    async def _ask(self, body: bytes, port: int) -> dict[str, Any] | None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        try:
            answer = await self.client.post(f"http://{HOST}:{port}/v1/alerts/am", content=body, headers=headers)
        except httpx2.HTTPError:
            return None
        found: dict[str, Any] | None = answer.json() if answer.status_code == ACCEPTED else None
        return found

    # ---- quiet

    async def unrest(self) -> tuple[object, ...] | None:
        """Give what still moves, None when everything that was taken in has ended and nothing is left to be sent."""
        ended, left, *moving = (await self.clone.rows(_STANDING))[0]
        return None if ended >= len(self.alerts) and left == 0 else (ended, left, *moving)


_STANDING = """
select (select count(*) from investigation where status in ('succeeded', 'failed', 'cancelled')),
  (select count(*) from investigation where status not in ('succeeded', 'failed', 'cancelled'))
  + (select count(*) from delivery where state in ('planned', 'reserved'))
  + (select count(*) from delivery_target where again_at is not null),
  (select sum(version) from investigation), (select sum(dispatches) from effect),
  (select sum(generation) from delivery_target), (select count(*) from delivery where state = 'sent')
"""


def _post(alert: str, severity: str) -> dict[str, Any]:
    labels = {"alertname": alert, "namespace": "shop", "service": "checkout", "severity": severity}
    return {
        "version": "4",
        "groupKey": f'{{}}:{{alertname="{alert}"}}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "inquest",
        "groupLabels": {"alertname": alert},
        "commonLabels": labels,
        "commonAnnotations": {},
        "externalURL": "http://alertmanager:9093",
        "alerts": [
            {
                "status": "firing",
                "labels": labels,
                "annotations": {"summary": "More than a fifth of the requests fail"},
                "startsAt": datetime.now(UTC).isoformat(),
                "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": "http://prometheus:9090/graph?g0.expr=errors+%3E+0.2&g0.tab=1",
                "fingerprint": f"{sum(alert.encode()):x}-{alert}",
            }
        ],
    }


@asynccontextmanager
async def house(clone: Clone, nursery: Nursery, *, twice: bool) -> AsyncIterator[House]:
    """Make one for the length of a `with`; what still runs at its end is killed."""
    folder = Path(tempfile.mkdtemp(prefix="inquest-crash-run-"))
    # No connection is kept: a sender of alerts that retries makes a new one.
    fresh = httpx2.Limits(max_keepalive_connections=0)
    client = httpx2.AsyncClient(trust_env=False, verify=False, timeout=POST_TIMEOUT_S, limits=fresh)  # no TLS
    async with vendors() as beside, client:
        workspace = {
            "intakes": {"am": {"type": "alertmanager", "auth": {"bearer_env": "INTAKE_TOKEN"}}},
            "budgets": {"max_model_turns": TURNS},
            **beside.sections(),
        }
        (folder / "inquest.yaml").write_text(json.dumps({"version": 1, "workspaces": {"default": workspace}}))
        (folder / "key").write_text(f"{KEY}\n")
        (folder / "key").chmod(0o600)
        made = House(folder, clone, beside, nursery, client, twice)
        try:
            yield made
        finally:
            made.end()
            shutil.rmtree(folder, ignore_errors=True)
