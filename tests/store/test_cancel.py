"""Cancel: one write from no owner, and one end, wherever the investigation stands (design 10; checklist 85 to 91)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from inquest.domain.delivery import RevisionKind
from inquest.domain.effect import EffectState, ModelFailed
from inquest.domain.event import GENESIS, TERMINAL_KINDS, RunCancelled, chain_digest
from inquest.domain.failure import FailureCode
from inquest.domain.fence import Fence
from inquest.domain.investigation import Status
from inquest.domain.observation import Error, Recorded
from inquest.errors import FenceLost, Gone, NotFound, WrongStatus
from inquest.ports import Renewal, Revision, Write
from inquest.store.actions import PostgresActions
from inquest.store.lease import ClaimLimits
from inquest.store.lease_line import connect
from tests.postgres import NewDatabase
from tests.store.builders import (
    NOON,
    WORKSPACE,
    Store,
    at_once,
    bells,
    contents,
    identity,
    interrupt_raised,
    model,
    nudge,
    opening,
    query,
    receipt,
    run_started,
    silence,
    succeeded,
    write,
)

LEASE = timedelta(seconds=30)
ROUNDS = 60
MANY = ClaimLimits(max_running=10_000)


@pytest.fixture
def actions(store: Store) -> PostgresActions:
    return PostgresActions(store.database, WORKSPACE)


async def terminal_events(store: Store, name: str = "inv-1") -> list[str]:
    events = (await store.journal.load(name)).events
    return [event.body.kind for event in events if event.body.kind in TERMINAL_KINDS]


# ---- wherever it stands


@pytest.mark.parametrize("changes", [{}, {"not_before": NOON.replace(year=2100), "defer_reason": "daily_usd"}])
async def test_one_that_never_began_is_cancelled_by_its_first_event(
    store: Store, actions: PostgresActions, changes: dict[str, Any]
) -> None:
    await store.open(opening(**changes))
    store.add_target()

    assert await actions.cancel("inv-1")

    (event,) = (await store.journal.load("inv-1")).events
    assert event.body == RunCancelled(reason="asked", actor="operator")
    assert (event.seq, event.generation, event.prev_digest) == (1, 1, GENESIS)
    assert event.body_digest == chain_digest(GENESIS, event.body.canonical())
    assert await store.status() is Status.CANCELLED
    assert await store.revisions() == ["cancelled"]
    assert bells(store, "deliveries") == ["inv-1-folder"]
    assert await store.claims.claim("owner-1") is None


async def test_one_that_runs_ends_and_its_owner_can_write_nothing_more(store: Store, actions: PostgresActions) -> None:
    fence = await store.started()
    await store.journal.commit(write(fence, 2, nudge(), reservations=(query("seed/1"), model("turn/1"))))
    before = await store.journal.load("inv-1")

    assert await actions.cancel("inv-1")

    after = await store.journal.load("inv-1")
    assert after.events[:-1] == before.events
    assert after.events[-1].generation == fence.generation + 1
    for refused in (
        store.journal.commit(write(fence, 3, nudge())),
        store.journal.commit(write(fence, 4, succeeded())),
        store.journal.reserve(fence, 4, query("seed/2")),
        store.journal.receive(fence, receipt(query("seed/1")), contents(b"{}")),
        store.claims.renew(fence),
        store.claims.release(fence),
        store.claims.fail_attempt(fence),
    ):
        with pytest.raises(FenceLost):
            await refused
    assert await store.journal.load("inv-1") == after
    assert await store.claims.claim("owner-2") is None


async def test_no_reserved_effect_is_left_and_each_is_closed_as_cancelled(
    store: Store, actions: PostgresActions
) -> None:
    fence = await store.started()
    known = query("seed/1")
    await store.journal.commit(write(fence, 2, nudge(), reservations=(known, query("seed/2"), model("turn/1"))))
    await store.journal.receive(fence, receipt(known), contents(b"{}"))

    await actions.cancel("inv-1")

    done, closed, turn = (await store.journal.load("inv-1")).effects
    assert [row.state for row in (done, closed, turn)] == [EffectState.COMMITTED] * 3
    assert done.outcome_digest == receipt(known).outcome_digest
    stored = await store.journal.content([str(closed.outcome_digest), str(turn.outcome_digest)])
    outcome = Recorded.parse(stored[str(closed.outcome_digest)]).outcome
    assert isinstance(outcome, Error)
    assert outcome.error.code is FailureCode.CANCELLED
    assert ModelFailed.parse(stored[str(turn.outcome_digest)]).kind == "cancelled"


async def test_one_that_waits_for_an_answer_ends_and_its_question_never_expires(
    store: Store, actions: PostgresActions
) -> None:
    fence = await store.started()
    await store.journal.commit(write(fence, 2, interrupt_raised()))
    assert await store.status() is Status.WAITING

    assert await actions.cancel("inv-1")

    store.look("update interrupt set expires_at = now()")
    store.look("select expire_interrupt('int-1', now(), 'x', '', 1)")
    assert await terminal_events(store) == ["run_cancelled"]


async def test_one_whose_owner_died_is_cancelled_and_not_taken_over(store: Store, actions: PostgresActions) -> None:
    await store.started()
    await store.claims.expire("inv-1")

    assert await actions.cancel("inv-1")

    assert await store.claims.claim("owner-2") is None


# ---- again, and too late


async def test_a_cancel_that_is_repeated_changes_nothing(store: Store, actions: PostgresActions) -> None:
    await store.started()
    store.add_target()
    await actions.cancel("inv-1")
    before = await store.journal.load("inv-1"), store.look("select * from investigation"), await store.revisions()

    assert not await actions.cancel("inv-1", actor="somebody else")

    after = await store.journal.load("inv-1"), store.look("select * from investigation"), await store.revisions()
    assert after == before


async def test_what_has_ended_is_not_cancelled(store: Store, actions: PostgresActions) -> None:
    fence = await store.started()
    await store.journal.commit(write(fence, 2, succeeded()))

    with pytest.raises(WrongStatus, match=r"^it has already succeeded$"):
        await actions.cancel("inv-1")

    assert await terminal_events(store) == ["run_succeeded"]


async def test_another_workspaces_is_like_one_that_never_was_and_a_deleted_one_is_gone(
    store: Store, actions: PostgresActions
) -> None:
    await store.started()
    for workspace, name in (("rival", "inv-1"), (WORKSPACE, "inv-2")):
        with pytest.raises(NotFound) as refused:
            await PostgresActions(store.database, workspace).cancel(name)
        assert not isinstance(refused.value, Gone)
    store.look("update investigation set status = 'deleting'")
    with pytest.raises(Gone):
        await actions.cancel("inv-1")


# ---- what follows


async def test_the_room_that_it_leaves_is_rung_for(store: Store, actions: PostgresActions) -> None:
    await store.started()
    await store.opened("inv-2")
    silence(store)

    await actions.cancel("inv-1")

    assert bells(store) == ["inv-2"]


async def test_workers_that_listen_are_told(store: Store, actions: PostgresActions) -> None:
    fence = await store.started()
    line = await asyncio.to_thread(connect, store.database.url, LEASE)
    try:
        heard: list[frozenset[str]] = []
        listening = threading.Thread(target=lambda: heard.append(line.moved(10.0)))
        listening.start()
        await actions.cancel("inv-1")
        await asyncio.to_thread(listening.join)
        assert heard == [frozenset({"inv-1"})]
        assert line.renew((fence,), LEASE) == {fence: Renewal.LOST}
    finally:
        line.close()


# ---- races


@pytest.fixture
async def rivals(database: NewDatabase) -> AsyncIterator[tuple[Store, PostgresActions]]:
    """Give a worker's store and an operator's hand, each with connections of its own."""
    made = database()
    worker = Store(made.url, made.conninfo)
    operator = Store(made.url, made.conninfo)
    worker.add_episode()
    yield worker, PostgresActions(operator.database, WORKSPACE)
    await worker.database.aclose()
    await operator.database.aclose()


async def _begun(worker: Store, name: str) -> Fence:
    await worker.opened(name)
    worker.add_target(name)
    fence = (await worker.claimed(limits=MANY)).fence
    await worker.journal.commit(write(fence, 0, run_started(identity(name)), reservations=()))
    return fence


async def test_a_cancel_that_races_success_leaves_one_end_and_one_last_revision(
    rivals: tuple[Store, PostgresActions],
) -> None:
    worker, operator = rivals
    ends: list[str] = []
    for number in range(ROUNDS):
        name = f"inv-{number}"
        fence = await _begun(worker, name)
        done = Write(
            fence=fence, expected_version=1, events=(succeeded(),), revisions=(Revision(kind=RevisionKind.REPORT),)
        )

        async def after(ticks: int, act: Any) -> object:  # noqa: ANN401  # either of the two
            for _ in range(ticks):  # neither always comes first
                await asyncio.sleep(0)
            return await act

        committed, cancelled = await at_once(
            after(number % 5, worker.journal.commit(done)), after(4 - number % 5, operator.cancel(name))
        )

        (end,) = await terminal_events(worker, name)
        ends.append(end)
        if end == "run_cancelled":
            assert (type(committed), cancelled) == (FenceLost, True)
            assert await worker.revisions(name) == ["cancelled"]
        else:
            assert (committed, type(cancelled)) == (2, WrongStatus)
            assert await worker.revisions(name) == ["report"]
    assert set(ends) == {"run_cancelled", "run_succeeded"}


async def test_of_many_cancels_one_ends_it(rivals: tuple[Store, PostgresActions]) -> None:
    worker, operator = rivals
    for number in range(10):
        name = f"inv-{number}"
        await _begun(worker, name)

        found = await at_once(*(operator.cancel(name) for _ in range(4)))

        assert sorted(found) == [False, False, False, True]
        assert await terminal_events(worker, name) == ["run_cancelled"]


async def test_a_cancel_that_races_a_claim_leaves_no_owner(rivals: tuple[Store, PostgresActions]) -> None:
    worker, operator = rivals
    for number in range(ROUNDS):
        name = f"inv-{number}"
        await worker.opened(name)

        claim, cancelled = await at_once(worker.claims.claim("owner-1", limits=MANY), operator.cancel(name))

        assert cancelled is True
        assert await terminal_events(worker, name) == ["run_cancelled"]
        (row,) = worker.look("select owner_id, status from investigation where investigation_id = %s", name)
        assert (row["owner_id"], row["status"]) == (None, "cancelled")
        if claim is not None:
            with pytest.raises(FenceLost):
                await worker.journal.commit(write(claim.fence, 0, run_started(identity(name))))


async def test_a_cancel_that_races_the_receipts_of_a_batch_closes_what_they_leave_and_never_deadlocks(
    rivals: tuple[Store, PostgresActions],
) -> None:
    worker, operator = rivals
    for number in range(20):
        name = f"inv-{number}"
        fence = await worker.started(name)
        calls = [query(f"turn/1/call/{call}") for call in range(1, 9)]
        await worker.journal.commit(write(fence, 2, nudge(), reservations=tuple(calls)))

        found = await at_once(
            *(worker.journal.receive(fence, receipt(call), contents(b"{}")) for call in calls), operator.cancel(name)
        )

        assert found[-1] is True
        assert {type(one) for one in found[:-1]} <= {type(None), FenceLost}
        rows = (await worker.journal.load(name)).effects
        assert {row.state for row in rows} == {EffectState.COMMITTED}
        kept = sum(row.outcome_digest == receipt(calls[0]).outcome_digest for row in rows)
        assert kept == sum(one is None for one in found[:-1])
