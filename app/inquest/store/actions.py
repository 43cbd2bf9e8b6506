"""What an operator does to an investigation from outside: answer, cancel, run again, delete.

The rules are the SQL functions of `migrations/sql/0014` to `0016` and `0022`: each is one transaction that locks the aggregate,
checks its status, and takes the fence from whoever owns it.
"""

from __future__ import annotations

import json

from inquest.domain.canonical import digest_of
from inquest.domain.event import EVENT_SCHEMA_VERSION, InterruptAnswered, RunCancelled
from inquest.domain.intake import DailyCeilings
from inquest.domain.investigation import WORKFLOW, Status
from inquest.domain.value import Value
from inquest.errors import Gone, InvariantBroken, NotFound
from inquest.store.database import Database
from inquest.store.rules import ANSWERED_NOTE, ASKED, CLOSED_BY_CANCEL, OPERATOR, check_text

MAX_KEY_CHARS = 200
KEY_PATTERN = r"^[\x21-\x7e]+$"
"""What a client may call a re-run: a header can hold it."""

_CANCEL = """
select inquest.cancel_investigation(%(workspace)s, %(id)s, %(body)s, %(reason)s, %(schema_version)s,
  %(digests)s::text[], %(contents)s::bytea[], %(outcomes)s::jsonb)
"""
_RERUN = """
select * from inquest.rerun_investigation(%(workspace)s, %(id)s, %(new_id)s, %(key)s, %(session)s, %(workflow)s,
  %(workspace_usd_micros)s, %(installation_usd_micros)s)
"""
_ASKED = """
select i.status, q.interrupt_id, clock_timestamp() + q.remaining as until
from inquest.investigation i left join inquest.interrupt q
  on q.investigation_id = i.investigation_id and q.interrupt_id = %(interrupt)s
where i.investigation_id = %(id)s and i.workspace = %(workspace)s
"""
_ANSWER = """
select inquest.answer_interrupt(%(workspace)s, %(id)s, %(interrupt)s, %(answer)s, %(actor)s, %(until)s, %(body)s,
  %(note)s, %(schema_version)s)
"""
_BURY = "select inquest.bury_investigation(%(workspace)s, %(id)s)::text"
_PURGE = "select inquest.purge_investigation(%(id)s)"
_NO_CEILINGS = DailyCeilings()


class Rerun(Value):
    """The investigation that repeats another; `opened` is False when it was there already, under the same key."""

    investigation_id: str
    opened: bool


class Sending(Value):
    """A message or folder that a destination has: `reference` is the destination's own name for it."""

    destination: str
    reference: str


class Deleted(Value):
    """What a delete came to. `purged` is False while a message is under way: the sweep takes the rest then."""

    investigation_id: str
    purged: bool
    sent: tuple[Sending, ...]


class PostgresActions:
    """Acts on the investigations of one workspace. Each raises NotFound, Gone and StoreUnavailable."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = workspace

    async def cancel(self, investigation_id: str, *, actor: str = OPERATOR) -> bool:
        """End it where it stands; False when it was cancelled before, and nothing changed.

        Its owner loses its fence and is told. Raises WrongStatus when it has ended otherwise.
        """
        cancelled: bool = await self._database.value(
            _CANCEL,
            {
                **self._named(investigation_id),
                "body": RunCancelled(reason=ASKED, actor=actor).canonical(),
                "reason": ASKED,
                "schema_version": EVENT_SCHEMA_VERSION,
                "digests": [digest_of(outcome) for outcome in CLOSED_BY_CANCEL.values()],
                "contents": list(CLOSED_BY_CANCEL.values()),
                "outcomes": json.dumps({kind: digest_of(outcome) for kind, outcome in CLOSED_BY_CANCEL.items()}),
            },
        )
        return cancelled

    async def answer(self, investigation_id: str, interrupt_id: str, answer: str, *, actor: str = OPERATOR) -> None:
        """Give the one answer of a question, sanitised and redacted already; the investigation is queued to go on.

        Raises NotFound for a question that it was never asked, WrongStatus when it has an answer, nobody answered in
        time, or it waits for none any more. Nothing is changed then.
        """
        check_text("the answer of an interrupt", answer)
        asked = await self._database.row(_ASKED, {**self._named(investigation_id), "interrupt": interrupt_id})
        if asked is None:
            raise NotFound(f"investigation {investigation_id}")
        if asked.status == Status.DELETING:
            raise Gone(f"investigation {investigation_id} was deleted")
        if asked.interrupt_id is None:
            raise NotFound(f"interrupt {interrupt_id}")
        answered = InterruptAnswered(interrupt_id=interrupt_id, answer=answer, actor=actor, extended_until=asked.until)
        await self._database.value(
            _ANSWER,
            {
                **self._named(investigation_id),
                "interrupt": interrupt_id,
                "answer": answer,
                "actor": actor,
                "until": asked.until,
                "body": answered.canonical(),
                "note": ANSWERED_NOTE,
                "schema_version": EVENT_SCHEMA_VERSION,
            },
        )

    async def rerun(
        self,
        investigation_id: str,
        new_id: str,
        *,
        key: str = "",
        actor: str = OPERATOR,
        ceilings: DailyCeilings = _NO_CEILINGS,
    ) -> Rerun:
        """Open `new_id` for the same episode. Asked again under one `key`, it is one; "" is no key.

        Raises WrongStatus while an investigation of the episode has not ended.
        """
        found = await self._database.row(
            _RERUN,
            {
                **self._named(investigation_id),
                "new_id": new_id,
                "key": digest_of(key.encode("utf-8", "surrogatepass")) if key else "",
                "session": actor,
                "workflow": WORKFLOW,
                "workspace_usd_micros": ceilings.workspace_usd_micros,
                "installation_usd_micros": ceilings.installation_usd_micros,
            },
        )
        if found is None:
            raise InvariantBroken("rerun_investigation gave no answer")
        return Rerun(investigation_id=found.investigation_id, opened=found.opened)

    async def delete(self, investigation_id: str) -> Deleted:
        """Put its tombstone, and take away everything that it holds; gives what stays where it was sent.

        Raises WrongStatus before it has ended, RoleMissing where the database cannot delete journals.
        """
        answer: str = await self._database.value(_BURY, self._named(investigation_id))
        sent = tuple(Sending(**one) for one in json.loads(answer))
        purged: bool = await self._database.value(_PURGE, {"id": investigation_id})
        return Deleted(investigation_id=investigation_id, purged=purged, sent=sent)

    def _named(self, investigation_id: str) -> dict[str, object]:
        return {"workspace": self._workspace, "id": investigation_id}
