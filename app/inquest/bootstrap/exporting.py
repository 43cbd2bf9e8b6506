"""An ended investigation, gathered from the database for a bundle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from inquest.bootstrap.reporting import Reporting
from inquest.bundles.contents import IntakeFacts, PostFacts, has_begun
from inquest.bundles.writing import Plan, Recorded, pieces, plan, wanted
from inquest.domain.event import TERMINAL_KINDS
from inquest.errors import NotFound, WrongStatus
from inquest.ports import Chronicle, Signer
from inquest.runtime.replay import Rebuilt, contents_wanted, rebuild, replay
from inquest.store.alerts import MAX_PAGE, PostgresAlerts
from inquest.store.content import PostgresContent
from inquest.store.database import Database
from inquest.store.journal import PostgresJournal


@dataclass(frozen=True)
class Exporting:
    """Makes bundles of investigations of any workspace. A report in one has no links: those are configuration."""

    database: Database
    signer: Signer | None

    async def plan(self, workspace: str, investigation_id: str) -> Plan:
        """Decide what its bundle holds.

        Raises NotFound, WrongStatus while it goes on, and ReplayMismatch where its journal is not what it was.
        """
        recorded = await self._recorded(workspace, investigation_id)
        sizes = await PostgresContent(self.database, workspace).sizes(sorted(wanted(recorded)))
        return await asyncio.to_thread(plan, recorded, sizes, self.signer)

    def pieces(self, workspace: str, planned: Plan) -> AsyncIterator[bytes]:
        """Give the bytes of the bundle. Raises NotFound when it is deleted meanwhile."""
        return pieces(planned, PostgresContent(self.database, workspace).get)

    async def _recorded(self, workspace: str, investigation_id: str) -> Recorded:
        journal = PostgresJournal(self.database, workspace)
        chronicle = await journal.load(investigation_id)
        if not chronicle.events or chronicle.events[-1].body.kind not in TERMINAL_KINDS:
            raise WrongStatus(f"{investigation_id} has not ended: there is nothing yet that could be exported")
        return Recorded(
            workspace=workspace,
            chronicle=chronicle,
            rebuilt=await self._rebuilt(journal, chronicle),
            intake=await self._intake(workspace, investigation_id),
            report=await self._report(workspace, investigation_id),
        )

    async def _rebuilt(self, journal: PostgresJournal, chronicle: Chronicle) -> Rebuilt | None:
        if not has_begun(chronicle):
            return None
        contents = await journal.content(contents_wanted(chronicle))
        await asyncio.to_thread(replay, chronicle, contents)
        return await asyncio.to_thread(rebuild, chronicle, contents)

    async def _intake(self, workspace: str, investigation_id: str) -> IntakeFacts:
        alerts = PostgresAlerts(self.database)
        posts = await alerts.receipts_of(workspace, investigation_id)
        listed = tuple(
            PostFacts(
                receipt_id=one.receipt_id,
                intake=one.intake,
                state=one.state,
                received_at=one.received_at,
                body_digest=one.body_digest,
                members=one.members,
                counts=one.counts,
            )
            for one in posts[: MAX_PAGE - 1]
        )
        episode = await alerts.episode_for(investigation_id)
        return IntakeFacts(episode=episode, posts=listed, unlisted=len(posts) > len(listed))

    async def _report(self, workspace: str, investigation_id: str) -> dict[str, bytes]:
        """Give the files of its report; {} for noise."""
        try:
            return await Reporting(self.database, signer=self.signer).folder(workspace, investigation_id)
        except NotFound:
            return {}
