"""An investigation that nobody can go on with keeps no other of its workspace from running, on Postgres."""

from collections.abc import Callable

import pytest

from inquest.domain.event import TERMINAL_KINDS
from inquest.domain.investigation import Status
from inquest.errors import InvariantBroken, ReplayMismatch
from inquest.store.lease import ClaimLimits
from inquest.store.sweep import CONCLUSIONS_TRIED, SET_ASIDE, PostgresSweep
from tests.store.builders import Store, interrupt_raised, nudge, write

LIMITS = ClaimLimits(max_running=1)


@pytest.fixture
def sweep(store: Store) -> PostgresSweep:
    return PostgresSweep(store.database, LIMITS)


def past_the_guards(store: Store, statement: str) -> None:
    """Change events as a bad disk or a restored half of a backup does: no trigger and no reference looks."""
    with store.connection() as connection, connection.transaction():
        connection.execute("set local session_replication_role = replica")
        connection.execute(statement.encode())


def lose_the_last_event(store: Store) -> None:
    past_the_guards(
        store,
        "delete from event e using investigation i where i.investigation_id = 'inv-1'"
        " and e.investigation_id = i.investigation_id and e.seq = i.version",
    )


def lose_every_event(store: Store) -> None:
    past_the_guards(store, "delete from event where investigation_id = 'inv-1'")


def fall_behind_the_journal(store: Store) -> None:
    past_the_guards(store, "update investigation set version = version - 1 where investigation_id = 'inv-1'")


def end_in_the_journal_only(store: Store) -> None:
    past_the_guards(store, "update event set kind = 'run_failed' where investigation_id = 'inv-1' and seq = 2")


BREAKS = (lose_the_last_event, lose_every_event, fall_behind_the_journal, end_in_the_journal_only)


@pytest.mark.parametrize("break_it", BREAKS)
@pytest.mark.parametrize("left_by", ["drain", "death"])
async def test_a_broken_journal_blocks_no_other_claim_of_its_workspace(
    store: Store, break_it: Callable[[Store], None], left_by: str
) -> None:
    fence = await store.started()
    store.look("update investigation set severity_rank = 4")
    await store.journal.commit(write(fence, 2, nudge()))
    if left_by == "drain":
        await store.claims.release(fence)
    else:
        await store.claims.expire("inv-1")
    break_it(store)
    await store.opened("inv-2", severity_rank=1)

    found = await store.claims.claim("owner-2", limits=ClaimLimits(max_running=2))

    assert found is not None
    assert found.fence.investigation_id == "inv-2"


@pytest.mark.parametrize("break_it", BREAKS)
async def test_a_broken_journal_ends_failed_and_gives_its_room_back(
    store: Store, sweep: PostgresSweep, break_it: Callable[[Store], None]
) -> None:
    await store.started()
    store.add_target()
    await store.claims.expire("inv-1")
    break_it(store)
    await store.opened("inv-2")
    assert await store.claims.claim("owner-2", limits=LIMITS) is None

    assert [await sweep.set_aside_broken(take_expired=True) for _ in "12"] == [1, 0]

    assert await store.status() is Status.FAILED
    assert await store.revisions() == ["failed"]
    ends = store.look("select seq, kind from event where kind = any(%s)", list(TERMINAL_KINDS))
    (row,) = store.look("select version, owner_id, ended_at is not null as ended from investigation where version > 0")
    assert (ends, row["owner_id"], row["ended"]) == ([{"seq": row["version"], "kind": "run_failed"}], None, True)
    claim = await store.claims.claim("owner-2", limits=LIMITS)
    assert claim is not None


async def test_what_is_missing_stays_visible_behind_the_end_that_was_written(
    store: Store, sweep: PostgresSweep
) -> None:
    await store.started()
    await store.claims.expire("inv-1")
    lose_the_last_event(store)
    await sweep.set_aside_broken(take_expired=True)

    with pytest.raises(ReplayMismatch, match="2"):
        await store.journal.load("inv-1")


async def test_a_whole_journal_is_never_set_aside(store: Store, sweep: PostgresSweep) -> None:
    fence = await store.started("inv-1")
    assert await sweep.set_aside_broken(take_expired=True) == 0
    await store.claims.expire("inv-1")
    assert await sweep.set_aside_broken(take_expired=True) == 0
    await store.claims.renew(fence)
    await store.claims.release(fence)
    await store.opened("inv-2")
    assert await sweep.set_aside_broken(take_expired=True) == 0


async def test_an_owner_that_lives_finds_out_itself(store: Store, sweep: PostgresSweep) -> None:
    fence = await store.started()
    lose_the_last_event(store)
    assert await sweep.set_aside_broken(take_expired=True) == 0
    with pytest.raises(InvariantBroken):
        await store.journal.commit(write(fence, 2, nudge()))
    await store.claims.expire("inv-1")
    assert await sweep.set_aside_broken(take_expired=False) == 0
    await store.claims.fail_attempt(fence)
    assert await sweep.set_aside_broken(take_expired=False) == 1


async def test_a_broken_one_that_waits_for_an_answer_is_ended_and_no_other_expiry_is_kept_back(
    store: Store, sweep: PostgresSweep
) -> None:
    for name, asked in (("inv-1", "int-1"), ("inv-2", "int-2")):
        fence = await store.started(name)
        await store.journal.commit(write(fence, 2, interrupt_raised(asked)))
    lose_the_last_event(store)
    store.look("update interrupt set expires_at = now()")

    assert await sweep.expire_interrupts() == 1
    assert await sweep.set_aside_broken(take_expired=True) == 1
    assert [await store.status(name) for name in ("inv-1", "inv-2")] == [Status.FAILED, Status.QUEUED]


@pytest.mark.parametrize("dies", [False, True])
async def test_what_cannot_even_be_concluded_is_tried_a_few_times_and_then_ended(
    store: Store, sweep: PostgresSweep, *, dies: bool
) -> None:
    allowed = ClaimLimits(max_attempts=1, max_running=1)
    sweep = PostgresSweep(store.database, allowed)
    await store.opened()
    attempts = []
    while await sweep.set_aside_broken(take_expired=True) == 0:
        claim = await store.claims.claim("owner-1", limits=allowed)
        if claim is None:
            await store.come_due()
            continue
        attempts.append((claim.fence.attempt, claim.exhausted))
        if dies:
            await store.claims.expire("inv-1")
        else:
            await store.claims.fail_attempt(claim.fence, max_attempts=1)

    assert attempts == [(1, False)] + [(1 + tried, True) for tried in range(1, CONCLUSIONS_TRIED + 1)]
    assert await store.status() is Status.FAILED
    (event,) = (await store.journal.load("inv-1")).events
    assert event.body == SET_ASIDE
