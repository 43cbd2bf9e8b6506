"""The report of a revision and of the API: f(what the journal comes to, where the episode stands)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from inquest.bootstrap.workspace import Workspace
from inquest.destinations.shared.bundle import evidence_that_fits, folder_files
from inquest.domain.delivery import DeliveryClaimed, RevisionKind
from inquest.domain.episode import Episode
from inquest.domain.event import RunCancelled, RunFailed, RunStarted, RunSucceeded
from inquest.domain.investigation import Status
from inquest.domain.projection import NOTHING_REBUILT
from inquest.domain.report import EarlierEpisode, Report
from inquest.errors import NotFound, ReplayMismatch
from inquest.ports import Chronicle, Signer
from inquest.runtime.delivery import Built
from inquest.runtime.recording import Ended, recorded_end, report_inputs
from inquest.runtime.replay import contents_wanted, rebuild
from inquest.runtime.unreadable import REASON
from inquest.stages.report import UNREVISED, EpisodeNow, ReportInputs, build_report
from inquest.store.alerts import PostgresAlerts
from inquest.store.content import PostgresContent
from inquest.store.database import Database
from inquest.store.investigations import PostgresInvestigations
from inquest.store.journal import PostgresJournal

FORM_FILES = {"md": "report.md", "json": "report.json", "html": "report.html"}


@dataclass(frozen=True)
class Reporting:
    """Builds reports from the database. What takes the CPU for long is done in a thread."""

    database: Database
    workspaces: Mapping[str, Workspace] = field(default_factory=dict)
    signer: Signer | None = None

    async def build(self, claimed: DeliveryClaimed) -> Built:
        """Build the report of a delivery's revision (`runtime.delivery.Build`)."""
        return await self._build(
            claimed.workspace, claimed.investigation_id, claimed.revision, claimed.kind, claimed.note
        )

    async def form(self, workspace: str, investigation_id: str, form: str) -> bytes:
        """Give the newest report in one form: "md", "json" or "html". Raises NotFound before there is one."""
        return (await self.folder(workspace, investigation_id))[FORM_FILES[form]]

    async def folder(self, workspace: str, investigation_id: str) -> dict[str, bytes]:
        """Give every file of a report folder as it would be written now.

        Raises NotFound for one that goes on, and for noise: there is no report of it.
        """
        kind, note = await self._closing_kind(workspace, investigation_id)
        built = await self._build(workspace, investigation_id, UNREVISED, kind, note)
        return await asyncio.to_thread(folder_files, built.report, built.contents, frozenset(), self.signer)

    async def _build(
        self, workspace: str, investigation_id: str, revision: int, kind: RevisionKind, note: str
    ) -> Built:
        journal = PostgresJournal(self.database, workspace)
        now = await self._episode_now(workspace, investigation_id)
        try:
            inputs = await self._inputs(journal, await journal.load(investigation_id), workspace)
        except ReplayMismatch as found:
            inputs = await self._bare(workspace, investigation_id, found)
        report = await asyncio.to_thread(build_report, inputs, now, revision=revision, kind=kind, note=note)
        return Built(report=report, contents=await self.evidence(workspace, report))

    async def evidence(self, workspace: str, report: Report) -> dict[str, bytes]:
        """Read the contents that the forms of `report` show, as far as they fit and are there."""
        return await PostgresContent(self.database, workspace).found(evidence_that_fits(report))

    async def _closing_kind(self, workspace: str, investigation_id: str) -> tuple[RevisionKind, str]:
        try:
            return _closing_kind(await PostgresJournal(self.database, workspace).load(investigation_id))
        except ReplayMismatch as found:
            await self._bare(workspace, investigation_id, found)
            return RevisionKind.FAILED, REASON

    async def _bare(self, workspace: str, investigation_id: str, found: ReplayMismatch) -> ReportInputs:
        """Give what the row says of one that failed because its journal cannot be loaded; raise `found` for another."""
        row = await PostgresInvestigations(self.database, workspace).get(investigation_id)
        if row.status is not Status.FAILED:
            raise found
        return ReportInputs(
            investigation_id=investigation_id, workspace=workspace, spend=row.spend, ended_at=row.ended_at
        )

    async def _inputs(self, journal: PostgresJournal, chronicle: Chronicle, workspace: str) -> ReportInputs:
        ended, ended_at = recorded_end(chronicle)
        bare = ReportInputs(investigation_id=chronicle.investigation_id, workspace=workspace, ended_at=ended_at)
        if not any(isinstance(event.body, RunStarted) for event in chronicle.events) or _is_unreadable(ended):
            return bare
        contents = await journal.content(contents_wanted(chronicle))
        rebuilt = await asyncio.to_thread(rebuild, chronicle, contents)
        connectors = self.workspaces[workspace].connectors if workspace in self.workspaces else ()
        return report_inputs(rebuilt, connectors=connectors, ended=ended, ended_at=ended_at)

    async def _episode_now(self, workspace: str, investigation_id: str) -> EpisodeNow:
        alerts = PostgresAlerts(self.database)
        episode = await alerts.episode_for(investigation_id)
        standing = await alerts.standing(episode.episode_id)
        return EpisodeNow(
            episode=episode,
            is_firing=standing.firing,
            resolved_at=_resolved_at(episode, standing.quiet_since),
            earlier=await self._earlier(workspace, episode.previous_investigation_id),
        )

    async def _earlier(self, workspace: str, previous_id: str | None) -> tuple[EarlierEpisode, ...]:
        if previous_id is None:
            return ()
        try:
            row = await PostgresInvestigations(self.database, workspace).get(previous_id)
            cause = await self._recorded_cause(workspace, previous_id)
        except NotFound:
            return ()  # it was deleted: this one's report goes out without it
        return (
            EarlierEpisode(
                investigation_id=previous_id,
                opened_at=row.created_at,
                verdict=row.verdict,
                root_cause=cause,
            ),
        )

    async def _recorded_cause(self, workspace: str, investigation_id: str) -> str:
        """Give the root cause that an investigation found; "" where it has none, or it cannot be read any more."""
        try:
            return _cause(await PostgresJournal(self.database, workspace).load(investigation_id))
        except ReplayMismatch:
            return ""


def _resolved_at(episode: Episode, quiet_since: datetime | None) -> datetime | None:
    """Give when the trouble was over: as the senders say it, but no later than it was told here."""
    said = episode.last_end
    return quiet_since if quiet_since is None or said is None else min(said, quiet_since)


def _is_unreadable(ended: Ended | None) -> bool:
    """Say whether the run failed because its journal could not be folded: its report has the reason, no evidence."""
    return ended is not None and ended.digest == NOTHING_REBUILT


def _closing_kind(chronicle: Chronicle) -> tuple[RevisionKind, str]:
    """Give the kind and the note of the revision that the end of the run planned. Raises NotFound without one."""
    match chronicle.events[-1].body if chronicle.events else None:
        case RunSucceeded(stop_reason=reason) if reason != "noise":
            return RevisionKind.REPORT, ""
        case RunFailed(reason=reason):
            return RevisionKind.FAILED, reason
        case RunCancelled(reason=reason):
            return RevisionKind.CANCELLED, reason
        case _:
            msg = f"report of {chronicle.investigation_id}"
            raise NotFound(msg)


def _cause(chronicle: Chronicle) -> str:
    found = [
        event.body.update.diagnosis.root_cause
        for event in chronicle.events
        if event.body.kind == "stage_committed" and event.body.update.stage == "diagnose"
    ]
    return found[-1] if found else ""
