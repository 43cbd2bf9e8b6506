"""The guards, taken out one at a time: each must turn the matrix red, or the matrix does not look at what it guards.

A mutant changes SQL functions in the template of the run's own databases, or Python in the parent that every
process is forked from. Nothing in the product knows of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from inquest import crash
from inquest.crash import CrashPoint
from inquest.domain.effect import EffectState
from inquest.domain.observation import Query
from inquest.ports import RecordedReading, Write
from inquest.runtime.attempts import read_tool
from inquest.runtime.effects import ClaimedActs
from inquest.store.journal import PostgresJournal
from tests.crash.schedules import Blow, Schedule, schedule

MUTANT_SCHEDULES = 3


def _nothing() -> None:
    """Change nothing."""


@dataclass(frozen=True)
class Mutant:
    """One guard, how to take it out, and the runs that it guards."""

    guard: str
    points: tuple[CrashPoint, ...]
    blow: Blow = Blow.KILL
    statements: tuple[str, ...] = ()
    in_process: Callable[[], None] = field(default=_nothing)
    twice: bool = False

    def schedules(self, seed: int) -> list[Schedule]:
        """Give the runs in which it is looked for."""
        numbers = range(1, MUTANT_SCHEDULES + 1)
        drawn = [schedule(point, number, seed, self.blow) for number in numbers for point in self.points]
        return [replace(one, written_twice=self.twice) for one in drawn]


def in_database(statements: tuple[str, ...]) -> Callable[[str], None]:
    """Give what runs `statements` on the database of a connection string."""

    def mutate(conninfo: str) -> None:
        with psycopg.connect(conninfo, autocommit=True, options="-csearch_path=inquest") as connection:
            for statement in statements:
                connection.execute(statement.encode())

    return mutate


_NO_FENCE = """
create or replace function check_fence(a investigation, p_owner text, p_generation int, p_attempt int) returns void
language plpgsql as $$ begin end $$
"""
_NO_TARGET_FENCE = """
create or replace function check_target(p_target text, p_owner text, p_generation int) returns delivery_target
language sql as $$ select x from delivery_target x where x.target_id = p_target for no key update $$
"""
_CHANGED = """
do $do$
declare
  body text := pg_get_functiondef('inquest.{function}'::regproc);
  changed text := replace(body, $was${was}$was$, $is${becomes}$is$);
begin
  if changed = body then
    raise exception '{function} has nothing like that to take out';
  end if;
  execute changed;
end $do$
"""
_NO_RESERVATION = _CHANGED.format(
    function="reserve_send", was="set state = 'reserved'", becomes="set state = 'planned'"
)
_NO_VERSION_CHECK = _CHANGED.format(
    function="commit_write", was="if a.version <> (p ->> 'expected_version')::int then", becomes="if false then"
)


def _without_receipts() -> None:
    """Let every query go out again, whether there is a receipt of it or not."""
    as_it_is = ClaimedActs.query

    async def query(self: ClaimedActs, key: str, query: Query) -> RecordedReading:
        bound = self._terms.tools.get(query.tool)
        if bound is not None and self._standing(key).state is EffectState.COMMITTED:
            await read_tool(bound, query, self._pace, seconds_left=self._seconds_left, take_retry=lambda: False)
        return await as_it_is(self, key, query)

    _change(ClaimedActs, "query", query)


def _in_two_transactions() -> None:
    """Let the end of a run be committed first, and its deliveries planned after it."""
    as_it_is = PostgresJournal.commit

    async def commit(self: PostgresJournal, write: Write) -> int:
        if not write.revisions or not any(event.kind == "run_succeeded" for event in write.events):
            return await as_it_is(self, write)
        version = await as_it_is(self, write.but(revisions=()))
        crash.reached(CrashPoint.C17)
        planned = [revision.model_dump_json() for revision in write.revisions]
        await self._database.rows(
            "select inquest.plan_deliveries(%(id)s, %(revisions)s::jsonb)",
            {"id": write.fence.investigation_id, "revisions": f"[{','.join(planned)}]"},
        )
        return version

    _change(PostgresJournal, "commit", commit)


def _change(owner: Any, name: str, method: Any) -> None:  # noqa: ANN401  # any class and any method
    setattr(owner, name, method)


MUTANTS: dict[str, Mutant] = {
    "fence": Mutant(
        "the fence check",
        (CrashPoint.C12, CrashPoint.C09, CrashPoint.C20),
        blow=Blow.ZOMBIE,
        statements=(_NO_FENCE, _NO_TARGET_FENCE),
    ),
    "receipts": Mutant("the receipt lookup", (CrashPoint.C11, CrashPoint.C12), in_process=_without_receipts),
    "reservations": Mutant("reserve-before-send", (CrashPoint.C19, CrashPoint.C20), statements=(_NO_RESERVATION,)),
    "terminal": Mutant("the terminal transaction", (CrashPoint.C17,), in_process=_in_two_transactions),
    "version": Mutant(
        "the version check", (CrashPoint.C13, CrashPoint.C07), statements=(_NO_VERSION_CHECK,), twice=True
    ),
}
