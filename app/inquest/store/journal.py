"""The journal on Postgres: each write is one call of one function of `migrations/sql`, in autocommit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row

from inquest.domain.budget import MAX_DISPATCHES, MAX_OTHER_MODEL_TURNS
from inquest.domain.effect import EffectRow, Receipt, Reservation
from inquest.domain.event import EVENT_SCHEMA_VERSION, InterruptRaised, RunStarted, RunSucceeded
from inquest.domain.fence import Fence
from inquest.domain.intake import DailyCeilings
from inquest.errors import InvariantBroken, NotFound
from inquest.ports import Again, Chronicle, Fresh, Known, Moved, ReserveAnswer, Spent, Write
from inquest.store.chain import StoredEvent, read_chain
from inquest.store.content import PostgresContent
from inquest.store.database import Database
from inquest.store.rules import INTERRUPT_LIFE, Checked, check_contents, check_receipt, check_text, checked

_LOAD = """
select i.version, e.seq, e.batch_id, e.generation, e.attempt, e.kind, e.schema_version, e.body, e.body_digest,
  e.prev_digest, e.committed_at,
  case when e.seq is null or e.seq = 1 then (
    select coalesce(json_agg(json_build_object(
      'key', f.key, 'kind', f.kind, 'fingerprint', f.fingerprint, 'state', f.state, 'dispatches', f.dispatches,
      'generation', f.generation, 'attempt', f.attempt, 'expected_version', f.expected_version,
      'tool_call_id', f.tool_call_id, 'outcome_digest', f.outcome_digest,
      'provider_request_id', f.provider_request_id, 'provider_response_id', f.provider_response_id
    ) order by f.key collate "C"), '[]')
    from inquest.effect f where f.investigation_id = i.investigation_id) end as effects
from inquest.investigation i left join inquest.event e on e.investigation_id = i.investigation_id
where i.investigation_id = %(id)s and i.workspace = %(workspace)s
order by e.seq
"""
_COMMIT = """
select inquest.commit_write(%(workspace)s, %(p)s::jsonb, %(kinds)s::text[], %(bodies)s::bytea[],
  %(digests)s::text[], %(contents)s::bytea[])
"""
_RESERVE = """
select answer, (taken).key, (taken).fingerprint, (taken).dispatches, (taken).outcome_digest,
  (taken).provider_request_id, (taken).provider_response_id
from inquest.reserve_effect(%(workspace)s, %(id)s, %(owner)s, %(generation)s, %(attempt)s, %(expected_version)s,
  %(p)s::jsonb, %(max_dispatches)s, %(max_others)s, %(day_ceilings)s::jsonb)
"""
_RECEIVE = """
select inquest.receive_effect(%(workspace)s, %(id)s, %(owner)s, %(generation)s, %(attempt)s, %(key)s,
  %(fingerprint)s, %(outcome_digest)s, %(provider_request_id)s, %(provider_response_id)s, %(digests)s::text[],
  %(contents)s::bytea[])
"""


class PostgresJournal:
    """`ports.Journal` and `ports.Effects` for one workspace. Every method may raise StoreUnavailable.

    Nothing is retried here. After StoreUnavailable a write may or may not have happened: `reserve` and
    `receive` may be repeated as they are; after `commit`, load and look.
    """

    def __init__(self, database: Database, workspace: str, ceilings: DailyCeilings | None = None) -> None:
        """`ceilings` are those of a day: a model turn that could cross one is not reserved."""
        self._database = database
        self._workspace = workspace
        found = ceilings or DailyCeilings()
        self._day_ceilings = json.dumps(
            {"workspace": found.workspace_usd_micros, "installation": found.installation_usd_micros}
        )
        self._content = PostgresContent(database, workspace)

    async def load(self, investigation_id: str) -> Chronicle:
        """Read events in order, their chain checked, and effect rows by key, as of one moment.

        Raises NotFound, and ReplayMismatch naming the first broken link.
        """
        rows = await self._database.rows(_LOAD, {"id": investigation_id, "workspace": self._workspace})
        if not rows:
            raise NotFound(f"investigation {investigation_id}")
        version: int = rows[0].version
        events = read_chain((stored_event(row) for row in rows if row.seq is not None), version)
        effects = tuple(EffectRow.parse(json.dumps(effect)) for effect in rows[0].effects or ())
        return Chronicle(investigation_id=investigation_id, version=version, events=events, effects=effects)

    async def commit(self, write: Write) -> int:
        """Do `write` whole or not at all, and give the new version.

        Raises FenceLost, VersionConflict, FingerprintMismatch, BudgetExhausted, Halted, NotFound, and
        InvariantBroken for what only a bug of ours writes (`store.rules`).
        """
        plan = checked(write)
        version: int = await self._database.value(
            _COMMIT,
            {
                "workspace": self._workspace,
                "p": json.dumps(_document(write, plan)),
                "kinds": [event.kind for event in write.events],
                "bodies": list(plan.bodies),
                "digests": list(write.contents),
                "contents": list(write.contents.values()),
            },
        )
        return version

    async def content(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        """Read stored bytes. Raises NotFound naming the first digest that is missing."""
        return await self._content.get(digests)

    async def reserve(self, fence: Fence, expected_version: int, reservation: Reservation) -> ReserveAnswer:
        """Reserve one key, or take over what a dead owner reserved.

        A key that this owner itself reserved (with a batch, or before an answer got lost) is Fresh; one that it
        itself moved is Moved again.
        Raises FenceLost, VersionConflict (for a key never seen), FingerprintMismatch, BudgetExhausted, Halted.
        """
        check_text("tool_call_id", reservation.tool_call_id)
        parameters = {
            **self._fenced(fence),
            "expected_version": expected_version,
            "p": json.dumps(reservation.model_dump(mode="json")),
            "max_dispatches": MAX_DISPATCHES,
            "max_others": MAX_OTHER_MODEL_TURNS,
            "day_ceilings": self._day_ceilings,
        }
        found = await self._database.row(_RESERVE, parameters)
        if found is None:
            raise InvariantBroken("reserve_effect gave no answer")
        return _answer(found, reservation.key)

    async def receive(self, fence: Fence, receipt: Receipt, contents: Mapping[str, bytes]) -> None:
        """Record one outcome; the same receipt again changes nothing. It never writes the aggregate's row.

        Raises FenceLost, FingerprintMismatch.
        """
        check_contents(contents)
        check_receipt(receipt)
        parameters = {
            **self._fenced(fence),
            **receipt.model_dump(),
            "digests": list(contents),
            "contents": list(contents.values()),
        }
        await self._database.value(_RECEIVE, parameters)

    def _fenced(self, fence: Fence) -> dict[str, object]:
        return {
            "workspace": self._workspace,
            "id": fence.investigation_id,
            "owner": fence.owner_id,
            "generation": fence.generation,
            "attempt": fence.attempt,
        }


def _document(write: Write, plan: Checked) -> dict[str, object]:
    """Give what `commit_write` reads of a write, but the bytes."""
    fence = write.fence
    document: dict[str, object] = {
        "investigation_id": fence.investigation_id,
        "owner_id": fence.owner_id,
        "generation": fence.generation,
        "attempt": fence.attempt,
        "expected_version": write.expected_version,
        "schema_version": EVENT_SCHEMA_VERSION,
        "lifecycle": plan.lifecycle,
        "references": [digest for digest in plan.references if digest not in write.contents],
        "marks": plan.marks.model_dump(mode="json", exclude_none=True),
        "receipts": [receipt.model_dump(mode="json") for receipt in write.receipts],
        "reservations": [reservation.model_dump(mode="json") for reservation in write.reservations],
        "max_other_model_turns": MAX_OTHER_MODEL_TURNS,
        "revisions": [revision.model_dump(mode="json") for revision in write.revisions],
        "spend": None if write.spend is None else write.spend.model_dump(),
    }
    for event in write.events:
        if isinstance(event, RunStarted):
            document["identity"] = event.identity.model_dump()
        if isinstance(event, InterruptRaised):
            asked = event.model_dump(include={"interrupt_id", "prompt", "remaining_s"})
            document["interrupt"] = {**asked, "life_s": INTERRUPT_LIFE.total_seconds()}
        if isinstance(event, RunSucceeded):
            document["noise"] = event.stop_reason == "noise"
    return document


def _answer(row: Row[Any], asked: str) -> ReserveAnswer:
    match row.answer:
        case "fresh":
            return Fresh()
        case "mine":
            return Fresh() if row.key == asked else Moved(key=row.key)
        case "again":
            return Again(dispatches=row.dispatches)
        case "moved":
            return Moved(key=row.key)
        case "spent":
            return Spent()
        case "known":
            receipt = Receipt(
                key=row.key,
                fingerprint=row.fingerprint,
                outcome_digest=row.outcome_digest,
                provider_request_id=row.provider_request_id,
                provider_response_id=row.provider_response_id,
            )
            return Known(receipt=receipt)
        case unknown:
            raise InvariantBroken(f"reserve_effect answered {unknown!r}")


def stored_event(row: Row[Any]) -> StoredEvent:
    """Give a row of `event` as it is read."""
    return StoredEvent(
        seq=row.seq,
        batch_id=row.batch_id,
        generation=row.generation,
        attempt=row.attempt,
        kind=row.kind,
        schema_version=row.schema_version,
        body=bytes(row.body),
        body_digest=row.body_digest,
        prev_digest=row.prev_digest,
        committed_at=row.committed_at,
    )
