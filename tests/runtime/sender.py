"""A sender in a process of its own, for tests that kill it: the real runner, store and destinations.

It sends whatever is due, over and over. A point that the test has paused is waited at; each is named POINT/MESSAGE:
`claimed`, `reserved` (nothing is sent yet), `answered` (the vendor's answer is read), `ended`, `finding`, `found`.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.process import BaseProcess

from pydantic import SecretStr
from typing_extensions import override

from inquest.destinations.gitlab import GitlabNoteConfig, create_gitlab_note_destination
from inquest.destinations.slack import SlackConfig, create_slack_destinations, pace
from inquest.domain.delivery import Address, DeliveryClaimed, DeliveryFailed, Ending, Sent
from inquest.domain.report import Report
from inquest.ports import Destination
from inquest.runtime.clock import RandomIds
from inquest.runtime.delivery import Built, DeliveryOptions, DeliveryRunner
from inquest.store.database import Database
from inquest.store.deliveries import PostgresDeliveries
from inquest.telemetry import create_metrics
from tests.fakes import gitlab_notes, slack
from tests.incident import incident_shelf
from tests.reports import whole_report
from tests.runtime.toy import World

SLACK, NOTES = "slack", "notes"
MESSAGES = ("slack#thread", "slack#report", "notes")
RUNNING = frozenset({"received", "progress", "question"})
_DUE = "select t.target_id from inquest.delivery_target t where inquest.is_due(t) order by t.target_id limit 1"
_HAS_REPORT = """
select exists (select from inquest.delivery d join inquest.delivery_target t using (target_id)
  where t.investigation_id = %(id)s and d.kind = 'report') as found
"""


@dataclass(frozen=True)
class Ways:
    """Where everything is, and how long a sender holds what it has."""

    url: str
    conninfo: str
    slack_url: str
    gitlab_url: str
    lease_s: float = 0.5
    send_for_s: float = 1.0


class PausingDeliveries(PostgresDeliveries):
    """The real record, with points on both sides of what it does."""

    def __init__(self, database: Database, world: World) -> None:
        super().__init__(database, again_after=timedelta(seconds=1))
        self._world = world

    @override
    async def claim(self, owner_id: str, target_id: str, *, lease: timedelta) -> DeliveryClaimed | None:
        claimed = await super().claim(owner_id, target_id, lease=lease)
        if claimed is not None and claimed.step == "send":
            await self._world.reach(f"claimed/{claimed.destination}")
        return claimed

    @override
    async def reserve(self, claimed: DeliveryClaimed, rendered: bytes, *, send_for: timedelta) -> None:
        await super().reserve(claimed, rendered, send_for=send_for)
        await self._world.reach(f"reserved/{claimed.destination}")

    @override
    async def end(self, claimed: DeliveryClaimed, ending: Ending) -> None:
        await super().end(claimed, ending)
        if isinstance(ending, Sent):
            await self._world.reach(f"ended/{claimed.destination}")


class PausingDestination:
    """A real destination, with points on both sides of what the vendor is asked."""

    def __init__(self, inner: Destination, world: World) -> None:
        self.name, self.type = inner.name, inner.type
        self._inner = inner
        self._world = world

    def render(self, report: Report, contents: Mapping[str, bytes], *, guest: bool) -> bytes | None:
        return self._inner.render(report, contents, guest=guest)

    async def send(self, rendered: bytes, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed:
        answer = await self._inner.send(rendered, address, timeout_s=timeout_s)
        if isinstance(answer, Sent):
            await self._world.reach(f"answered/{self.name}")
        return answer

    async def find(self, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed | None:
        await self._world.reach(f"finding/{self.name}")
        found = await self._inner.find(address, timeout_s=timeout_s)
        await self._world.reach(f"found/{self.name}")
        return found


def destinations(ways: Ways) -> dict[str, Destination]:
    """Make the real destinations, at the fakes."""
    in_slack = SlackConfig(channel=slack.CHANNEL, token=SecretStr(slack.TOKEN), api_url=f"{ways.slack_url}/api")
    in_gitlab = GitlabNoteConfig(
        url=ways.gitlab_url,
        token=SecretStr(gitlab_notes.TOKEN),
        project=gitlab_notes.PROJECT,
        issue=gitlab_notes.ISSUE,
    )
    return {**create_slack_destinations(SLACK, in_slack), NOTES: create_gitlab_note_destination(NOTES, in_gitlab)}


def start(ways: Ways) -> BaseProcess:
    """Start a sender; the test kills it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_main, args=(ways,), daemon=True)
    process.start()
    return process


def _main(ways: Ways) -> None:
    asyncio.run(_serve(ways))


async def _serve(ways: Ways) -> None:
    pace.BETWEEN_S = 0.0  # the fake's rate is tested elsewhere
    database, world = Database(ways.url), World(ways.conninfo)
    shelf = incident_shelf()

    async def build(claimed: DeliveryClaimed) -> Built:
        ended = await database.value(_HAS_REPORT, {"id": claimed.investigation_id})
        report = whole_report(shelf).but(
            investigation_id=claimed.investigation_id, revision=claimed.revision, kind=claimed.kind.value
        )
        return Built(report if ended else report.but(diagnosis=None, ended_at=None, evidence=()), shelf.contents)

    runner = DeliveryRunner(
        PausingDeliveries(database, world),
        {("acme", name): PausingDestination(one, world) for name, one in destinations(ways).items()},
        build,
        metrics=create_metrics(),
        ids=RandomIds(),
        options=DeliveryOptions(
            claim_lease=timedelta(seconds=ways.lease_s),
            send_for=timedelta(seconds=ways.send_for_s),
            find_for_s=ways.send_for_s,
        ),
    )
    while True:
        due = await database.row(_DUE, {})
        if due is None:
            await asyncio.sleep(0.02)
        else:
            await runner.deliver(due.target_id)
