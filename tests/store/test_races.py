"""Concurrent owners and writers (checklist 60, 65; recipes section 3, deadlock)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from inquest.domain.fence import Fence
from inquest.errors import FenceLost, VersionConflict
from inquest.ports import Fresh, Known, ReserveAnswer
from inquest.store.lease import ClaimLimits
from tests.postgres import NewDatabase
from tests.store.builders import (
    WORKSPACE,
    Store,
    at_once,
    contents,
    eventually,
    identity,
    model,
    nudge,
    query,
    receipt,
    run_started,
    write,
)
from tests.waiting import until

ROUNDS = 50
RACERS = 4
MANY = ClaimLimits(max_running=1_000)
ONE = ClaimLimits(max_running=1)


@pytest.fixture
async def racers(database: NewDatabase) -> AsyncIterator[list[Store]]:
    """Give workers of the same database, each with connections of its own."""
    made = database()
    stores = [Store(made.url, made.conninfo, pool_size=4) for _ in range(RACERS)]
    stores[0].add_episode()
    yield stores
    for store in stores:
        await store.database.aclose()


async def test_of_many_claims_exactly_one_wins(racers: list[Store]) -> None:
    for number in range(ROUNDS):
        await racers[0].opened(f"inv-{number}")

        found = await at_once(*(s.claims.claim(f"owner-{n}", limits=MANY) for n, s in enumerate(racers)))

        assert sorted(claim is None for claim in found) == [False, True, True, True]


async def test_racing_claims_never_overfill_a_workspace(racers: list[Store]) -> None:
    for number in range(RACERS):
        await racers[0].opened(f"inv-{number}")

    for _ in range(ROUNDS):
        found = await at_once(*(s.claims.claim(f"owner-{n}", limits=ONE) for n, s in enumerate(racers)))

        taken = [claim for claim in found if claim is not None]
        assert len(taken) == 1
        await racers[0].claims.release(taken[0].fence)


async def test_a_take_over_comes_after_a_receipt_that_is_under_way_and_does_not_wait_for_it(
    racers: list[Store],
) -> None:
    fence = await racers[0].started()
    await racers[0].journal.commit(write(fence, 2, nudge(), reservations=(query("seed/1"),)))
    await racers[0].claims.expire("inv-1")

    with racers[0].connection() as other, other.transaction():
        # The receipt has checked its fence and waits: somebody else is storing the same bytes.
        [digest] = contents(b"{}")
        other.execute("insert into content (workspace, digest, bytes) values (%s, %s, '{}')", (WORKSPACE, digest))
        receiving = asyncio.create_task(racers[0].journal.receive(fence, receipt(query("seed/1")), contents(b"{}")))
        await eventually(lambda: _waiting(racers[0], 1))
        assert await racers[1].claims.claim("owner-2") is None

    await receiving
    claim = await racers[1].claims.claim("owner-2")
    assert claim is not None
    assert isinstance(await racers[1].journal.reserve(claim.fence, 4, query("seed/1")), Known)


async def _waiting(store: Store, count: int) -> object | None:
    found = store.look("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()")
    return found if len(found) == count else None


async def test_of_two_owners_racing_for_a_key_exactly_one_acts(racers: list[Store]) -> None:
    # One has been superseded without knowing it: both believe that the key is theirs to reserve.
    first, second = racers[:2]
    for number in range(ROUNDS):
        name = f"inv-{number}"
        await first.opened(name)
        stale = (await first.claimed("owner-1", limits=MANY)).fence
        await first.journal.commit(write(stale, 0, run_started(identity(name))))
        await first.claims.expire(name)

        async def as_new_owner() -> ReserveAnswer:
            # A claim passes over a row that somebody holds, as the other's reserve does for a moment.
            claimed = await until(lambda: second.claims.claim("owner-2", limits=MANY))
            assert claimed is not None
            fence = claimed.fence
            return await second.journal.reserve(fence, 2, query("seed/1"))

        found = await at_once(as_new_owner(), first.journal.reserve(stale, 2, query("seed/1")))

        assert found[0] == Fresh()
        # Before the take-over the old owner is at version 1, so 2 is a conflict; after it, its fence is lost.
        assert isinstance(found[1], FenceLost | VersionConflict)
        [row] = (await first.journal.load(name)).effects
        assert (row.generation, row.dispatches) == (2, 1)


async def test_of_many_writes_at_one_version_exactly_one_is_taken(racers: list[Store]) -> None:
    fence = await racers[0].started()
    for version in range(2, 2 + ROUNDS):
        found = await at_once(*(s.journal.commit(write(fence, version, nudge())) for s in racers))

        assert sorted(map(str, found)) == sorted([str(version + 1), *map(str, filter(_is_conflict, found))])
        assert sum(map(_is_conflict, found)) == RACERS - 1


def _is_conflict(answer: object) -> bool:
    return isinstance(answer, VersionConflict)


async def test_a_new_key_is_reserved_once_by_one_owner_that_asks_twice(racers: list[Store]) -> None:
    fence = await racers[0].started()
    for number in range(1, 1 + ROUNDS):
        found = await at_once(*(s.journal.reserve(fence, 2, query(f"seed/{number}")) for s in racers))

        assert found == [Fresh()] * RACERS
        assert len((await racers[0].journal.load("inv-1")).effects) == number


async def test_receipts_of_a_batch_renewals_and_the_join_never_deadlock(racers: list[Store]) -> None:
    fence = await racers[0].started()
    version = 2
    for batch in range(1, 4):
        calls = [query(f"turn/{batch}/call/{number}") for number in range(1, 17)]
        shared = contents(*(b"%d" % number for number in range(8)))
        version = await racers[0].journal.commit(write(fence, version, nudge(), reservations=tuple(calls)))

        found = await at_once(
            *(
                racers[n % RACERS].journal.receive(
                    fence, receipt(call), {**dict(sorted(shared.items(), reverse=n % 2 == 0)), **contents(b"{}")}
                )
                for n, call in enumerate(calls)
            ),
            *(_renewed_often(s, fence) for s in racers),
        )

        assert found == [None] * (16 + RACERS)
        version = await racers[1].journal.commit(write(fence, version, nudge()))


async def _renewed_often(store: Store, fence: Fence) -> None:
    for _ in range(10):
        await store.claims.renew(fence)


async def test_investigations_that_store_the_same_bytes_in_another_order_never_deadlock(racers: list[Store]) -> None:
    fences = []
    for number in range(RACERS):
        await racers[0].opened(f"inv-{number}")
        fences.append((await racers[0].claimed(f"owner-{number}", limits=MANY)).fence)
        await racers[0].journal.commit(write(fences[-1], 0, run_started(identity(f"inv-{number}"))))

    for number in range(ROUNDS):
        new = list(contents(*(b"%d/%d" % (number, part) for part in range(20))).items())
        found = await at_once(
            *(
                s.journal.commit(write(fences[n], 1 + number, nudge(), contents=dict(new if n % 2 else reversed(new))))
                for n, s in enumerate(racers)
            )
        )
        assert found == [2 + number] * RACERS


async def test_a_take_over_comes_before_a_write_or_after_it(racers: list[Store]) -> None:
    # Either the write comes first and the claim sees its events, or passes it over while it is under way; or the
    # claim comes first and the write is refused.
    for number in range(ROUNDS):
        name = f"inv-{number}"
        await racers[0].opened(name)
        fence = (await racers[0].claimed("owner-1", limits=MANY)).fence
        await racers[0].journal.commit(write(fence, 0, run_started(identity(name))))
        await racers[0].claims.expire(name)

        written, claim = await at_once(
            racers[0].journal.commit(write(fence, 1, nudge(), reservations=(model("turn/1"),))),
            racers[1].claims.claim("owner-2", limits=MANY),
        )

        chronicle = await racers[0].journal.load(name)
        kinds = [event.body.kind for event in chronicle.events]
        if isinstance(written, FenceLost):
            assert kinds == ["run_started", "generation_advanced"]
            assert chronicle.effects == ()
        else:
            assert kinds == ["run_started", "loop_steered", *(["generation_advanced"] if claim else [])]
        if claim is None:
            await racers[1].claimed("owner-2", limits=MANY)


@pytest.mark.parametrize("left_by", ["nobody", "a death", "a death after progress", "yesterday's dollars"])
async def test_a_row_that_somebody_holds_keeps_no_other_of_its_workspace_from_being_claimed(
    store: Store, left_by: str
) -> None:
    limits = ClaimLimits(max_running=2)
    await store.opened("inv-1", severity_rank=4)
    if left_by.startswith("a death"):
        claim = await store.claimed()
        if left_by == "a death after progress":
            await store.journal.commit(write(claim.fence, 0, run_started(claim.identity)))
        await store.claims.expire("inv-1")
    await store.opened("inv-2", severity_rank=1)
    if left_by == "yesterday's dollars":
        store.look("update investigation set started_at = now() where investigation_id = 'inv-2'")
        store.look(
            "insert into spend_day (workspace, day, usd_micros) values ('acme', (now() at time zone 'UTC')::date, 9)"
        )
        limits = limits.but(usd_micros_a_day={"acme": 9})
    with store.connection() as other, other.transaction():
        other.execute("select 1 from investigation where investigation_id = 'inv-1' for update")

        found = await store.claims.claim("owner-2", limits=limits)

    assert found is not None
    assert found.fence.investigation_id == "inv-2"


async def test_claims_at_the_same_moment_go_to_the_workspaces_in_turn_and_not_all_to_the_first(
    racers: list[Store],
) -> None:
    """Each has read where the fewest run before any of them has the lock of that workspace."""
    racers[0].add_episode("episode-2", "rival")
    rival = Store(racers[0].database.url, racers[0].conninfo, "rival")
    for number in range(2):
        await racers[0].opened(f"acme-{number}", severity_rank=4)
        await rival.opened(f"rival-{number}", severity_rank=1, episode_id="episode-2")
    with racers[0].connection() as other, other.transaction():
        other.execute("select lock_workspace('acme')")
        claiming = [asyncio.create_task(s.claims.claim(f"owner-{n}")) for n, s in enumerate(racers[:2])]
        await eventually(lambda: _waiting(racers[0], 2))

    claims = await asyncio.gather(*claiming)

    assert sorted(claim.fence.investigation_id for claim in claims if claim) == ["acme-0", "rival-0"]
    await rival.database.aclose()
