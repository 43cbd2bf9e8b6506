"""What is to be sent where, on Postgres. The rules are the SQL functions of `migrations/sql/0008_delivery.sql`.

Threads are in `0013_threads.sql`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from inquest.domain.canonical import digest_of
from inquest.domain.delivery import (
    MAX_RENDERED_BYTES,
    Absent,
    DeliveryClaimed,
    DeliveryFence,
    Ending,
    GivenUp,
    Postponed,
    RevisionKind,
    Sent,
    Thread,
    Uncertain,
    Unknowable,
    Unsaid,
)
from inquest.domain.investigation import Origin
from inquest.errors import InvariantBroken
from inquest.store.database import Database
from inquest.store.rules import check_text

AGAIN_AFTER = timedelta(seconds=60)
"""After a take-over of a reserved edit the newest revision is sent once more, this much later (design 12)."""

_PLACE = "select workspace, destination from inquest.delivery_target where target_id = %(id)s"
_NEXT_DUE = "select inquest.next_due_target(%(workspace)s, %(destination)s) as target_id"
_CLAIM = "select * from inquest.claim_target(%(id)s, %(owner)s, %(lease_ms)s, %(again_ms)s)"
_RESERVE = """
select inquest.reserve_send(%(id)s, %(owner)s, %(generation)s, %(revision)s, %(digest)s, %(rendered)s, %(send_ms)s)
"""
_END = """
select inquest.end_send(%(id)s, %(owner)s, %(generation)s, %(revision)s, %(ending)s, %(reason)s, %(reference)s,
  %(wait_ms)s, %(looked)s)
"""
_RELEASE = "select inquest.release_target(%(id)s, %(owner)s, %(generation)s)"


class PostgresDeliveries:
    """`ports.Deliveries` over all workspaces of one database. Leases and deadlines go by the database's clock."""

    def __init__(self, database: Database, *, again_after: timedelta = AGAIN_AFTER) -> None:
        self._database = database
        self._again_ms = _ms(again_after)

    async def place(self, target_id: str) -> tuple[str, str] | None:
        """Give the workspace and the destination's name of a target; None when there is no such target."""
        found = await self._database.row(_PLACE, {"id": target_id})
        return None if found is None else (found.workspace, found.destination)

    async def next_due(self, workspace: str, destination: str) -> str | None:
        """Give a target of this destination that has something due, the one that has waited longest."""
        due: str | None = await self._database.value(_NEXT_DUE, {"workspace": workspace, "destination": destination})
        return due

    async def claim(self, owner_id: str, target_id: str, *, lease: timedelta) -> DeliveryClaimed | None:
        """Take the target if something is due there; None changes nothing. Older unsent revisions are superseded."""
        parameters = {"id": target_id, "owner": owner_id, "lease_ms": _ms(lease), "again_ms": self._again_ms}
        row = await self._database.row(_CLAIM, parameters)
        if row is None:
            return None
        return DeliveryClaimed(
            fence=DeliveryFence(target_id=target_id, owner_id=owner_id, generation=row.generation),
            investigation_id=row.investigation_id,
            episode_id=row.episode_id,
            workspace=row.workspace,
            destination=row.destination,
            revision=row.revision,
            kind=RevisionKind(row.kind),
            note=row.note,
            step=row.step,
            attempts=row.attempts,
            reference=row.reference,
            thread=None if row.thread_root is None else Thread(reference=row.thread_root, own=row.thread_is_own),
            origin=Origin(**row.origin) if row.origin else None,
            planned_at=row.planned_at,
        )

    async def reserve(self, claimed: DeliveryClaimed, rendered: bytes, *, send_for: timedelta) -> None:
        """Store what will be sent, and hold the target until the send must be over.

        Raises FenceLost, and InvariantBroken for more than MAX_RENDERED_BYTES.
        """
        if len(rendered) > MAX_RENDERED_BYTES:
            raise InvariantBroken(f"a revision has {len(rendered)} bytes, {MAX_RENDERED_BYTES} are allowed")
        parameters = {
            **_named(claimed.fence),
            "revision": claimed.revision,
            "digest": digest_of(rendered),
            "rendered": rendered,
            "send_ms": _ms(send_for),
        }
        await self._database.value(_RESERVE, parameters)

    async def end(self, claimed: DeliveryClaimed, ending: Ending) -> None:
        """Record how it ended, let go of the target, and ring when more is due. Raises FenceLost."""
        parameters = {
            **_named(claimed.fence),
            "revision": claimed.revision,
            "looked": claimed.step == "find",
            **_ending(ending),
        }
        await self._database.value(_END, parameters)

    async def release(self, fence: DeliveryFence) -> None:
        """Let go of a target without an ending: what is reserved is looked up once its deadline has passed.

        Raises FenceLost.
        """
        await self._database.value(_RELEASE, _named(fence))


def _named(fence: DeliveryFence) -> dict[str, object]:
    return {"id": fence.target_id, "owner": fence.owner_id, "generation": fence.generation}


def _ending(ending: Ending) -> dict[str, object]:
    """Give an ending as `end_send` reads it."""
    match ending:
        case Sent(reference=reference):
            check_text("the reference of a delivery", reference)
            return {"ending": "sent", "reason": "", "reference": reference, "wait_ms": 0}
        case Postponed() | Uncertain():
            check_text("the reason of a delivery", ending.reason)
            return {"ending": ending.ending, "reason": ending.reason, "reference": None, "wait_ms": ending.wait_ms}
        case GivenUp() | Unknowable():
            check_text("the reason of a delivery", ending.reason)
            return {"ending": ending.ending, "reason": ending.reason, "reference": None, "wait_ms": 0}
        case Absent() | Unsaid():
            return {"ending": ending.ending, "reason": "", "reference": None, "wait_ms": 0}
        case unknown:
            assert_never(unknown)


def _ms(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)
