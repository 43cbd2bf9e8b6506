"""An installation over a test's own database: alerts go in, and one claim at a time is run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import LiteralString

from inquest.bootstrap.claiming import Claiming
from inquest.bootstrap.workspace import Workspaces
from inquest.domain.event import Event
from inquest.ports import Claimed, Model
from inquest.runtime.lease import LeaseGuard
from inquest.store.claims import PostgresClaims
from inquest.store.journal import PostgresJournal
from inquest.store.lease import ClaimLimits
from inquest.telemetry import create_metrics
from tests.bootstrap.files import NOBODY, OPEN_INTAKE, build, file_of
from tests.store.door import MORNING, Door, arrival, firing

LEASE = timedelta(seconds=30)


class Installation:
    """One workspace, "default", with an intake, and the sources and models that a test gives it."""

    def __init__(self, door: Door, folder: Path, **section: object) -> None:
        self.door = door
        self.database = door.database
        self.workspaces: Workspaces = build(
            file_of(
                intakes={"am": OPEN_INTAKE}, destinations={"reports": {"type": "folder", "path": "reports"}}, **section
            ),
            folder,
        )
        self.claims = PostgresClaims(self.database, ClaimLimits(only=tuple(self.workspaces)))
        self.owners = 0

    async def open(self, name: str = "CheckoutErrors", *, at: datetime | None = MORNING) -> str:
        """Take one alert in, which began `at`, and give the investigation that it opens."""
        (intake,) = self.workspaces["default"].intakes
        accepted = await self.door.take(arrival(firing(name, at, severity="critical"), into=intake))
        return accepted.investigations[0].investigation_id

    async def claim(self) -> Claimed:
        """Claim as the next owner; what the one before held has run out."""
        self.owners += 1
        self.door.rows("update investigation set lease_expires_at = clock_timestamp(), not_before = null")
        claimed = await self.claims.claim(f"owner-{self.owners}", lease=LEASE)
        if claimed is None:  # it died before it recorded anything: charged, after a wait
            self.door.rows("update investigation set not_before = null")
            claimed = await self.claims.claim(f"owner-{self.owners}", lease=LEASE)
        assert claimed is not None
        return claimed

    def claiming(self, models: Mapping[str, Model] | None = None) -> Claiming:
        return Claiming(
            database=self.database,
            workspaces=self.workspaces,
            key=NOBODY,
            metrics=create_metrics(),
            health={},
            models=models or {},
        )

    async def run(self, models: Mapping[str, Model] | None = None) -> None:
        """Claim what may run next, and run it."""
        claimed = await self.claim()
        await self.claiming(models).run(claimed, self.guard(claimed))

    def guard(self, claimed: Claimed) -> LeaseGuard:
        return LeaseGuard(claimed, asked_at=time.monotonic(), lease=LEASE)

    async def events(self, investigation_id: str) -> tuple[Event, ...]:
        return (await PostgresJournal(self.database, "default").load(investigation_id)).events

    async def aclose(self) -> None:
        for workspace in self.workspaces.values():
            await workspace.aclose()

    def value(self, query: LiteralString, *parameters: object) -> object:
        (value,) = self.door.column(query, *parameters)
        return value
