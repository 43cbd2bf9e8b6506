"""The end of an investigation whose journal cannot even be loaded: else it would be tried for ever."""

from __future__ import annotations

from inquest.domain.budget import Spend
from inquest.domain.delivery import RevisionKind
from inquest.domain.event import RunFailed
from inquest.domain.projection import NOTHING_REBUILT
from inquest.errors import ReplayMismatch
from inquest.ports import Claimed, Journal, Revision, Write
from inquest.runtime.ends import ATTEMPTS_USED_UP, UNREADABLE
from inquest.telemetry import Metrics, log, report_error

REASON = f"{ATTEMPTS_USED_UP}; {UNREADABLE}"


async def end_unreadable(journal: Journal, claimed: Claimed, found: ReplayMismatch, metrics: Metrics) -> None:
    """Append run_failed at the version of the claim, unsigned, and plan the report that says so.

    What was spent stays as it was counted. Raises FenceLost, VersionConflict, StoreUnavailable.
    """
    log().error("journal_unreadable", error=str(found))
    report_error(found, tags={"investigation": claimed.fence.investigation_id})
    await journal.commit(
        Write(
            fence=claimed.fence,
            expected_version=claimed.version,
            events=(RunFailed(reason=REASON, projection_digest=NOTHING_REBUILT, signature=None, spend=Spend()),),
            revisions=(Revision(kind=RevisionKind.FAILED, note=REASON),),
        )
    )
    metrics.investigations.labels("failed", "").inc()
