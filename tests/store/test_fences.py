"""The right to act (checklist 50 to 57): every store, the same answers."""

from datetime import timedelta

import pytest

from inquest.domain.event import GenerationAdvanced
from inquest.domain.fence import Fence
from inquest.domain.investigation import Status
from inquest.errors import FenceLost, NotFound, VersionConflict
from inquest.ports import Fresh
from tests.store.builders import Either, Store, contents, eventually, model, nudge, query, receipt, write


async def test_a_claim_gives_owner_generation_and_attempt(either: Either) -> None:
    await either.opened()

    claim = await either.claimed("owner-1")

    assert claim.fence == Fence(investigation_id="inv-1", owner_id="owner-1", generation=1, attempt=1)
    assert (claim.version, claim.exhausted) == (0, False)


async def test_a_live_lease_is_busy_and_nothing_changes(either: Either) -> None:
    fence = await either.started()

    assert await either.claims.claim("owner-2") is None

    assert (await either.journal.load("inv-1")).version == 2
    assert await either.journal.commit(write(fence, 2, nudge())) == 3


async def test_a_take_over_advances_the_generation_in_the_journal(either: Either) -> None:
    await either.started()
    await either.claims.expire("inv-1")

    claim = await either.claimed("owner-2")

    newest = (await either.journal.load("inv-1")).events[-1]
    assert (claim.fence.generation, claim.fence.attempt, claim.version, newest.seq) == (2, 1, 3, 3)
    assert newest.body == GenerationAdvanced(owner_id="owner-2", generation=2, attempt=1, why="lease_expired")
    assert (newest.generation, newest.attempt) == (2, 1)


async def test_a_claim_before_anything_is_recorded_appends_nothing(either: Either) -> None:
    await either.opened()
    await either.claims.release((await either.claimed()).fence)

    claim = await either.claimed("owner-2")

    assert (claim.fence.generation, claim.version) == (2, 0)
    assert (await either.journal.load("inv-1")).events == ()


async def test_a_superseded_owner_can_do_nothing(either: Either) -> None:
    stale = await either.started()
    reserved = query("seed/1")
    await either.journal.commit(write(stale, 2, nudge(), reservations=(reserved,)))
    await either.taken_over("owner-2")
    before = await either.journal.load("inv-1")

    with pytest.raises(FenceLost):
        await either.journal.reserve(stale, before.version, query("seed/2"))
    with pytest.raises(FenceLost):
        await either.journal.reserve(stale, before.version, reserved)
    with pytest.raises(FenceLost):
        await either.journal.receive(stale, receipt(reserved), contents(b"{}"))
    with pytest.raises(FenceLost):
        await either.journal.commit(write(stale, before.version, nudge()))
    with pytest.raises(FenceLost):
        await either.claims.renew(stale)
    with pytest.raises(FenceLost):
        await either.claims.release(stale)
    with pytest.raises(FenceLost):
        await either.claims.fail_attempt(stale)

    assert await either.journal.load("inv-1") == before


@pytest.mark.parametrize("change", [{"owner_id": "other"}, {"generation": 2}, {"attempt": 2}])
async def test_each_part_of_the_fence_decides(either: Either, change: dict[str, object]) -> None:
    fence = await either.started()

    with pytest.raises(FenceLost):
        await either.journal.commit(write(fence.but(**change), 2, nudge()))
    with pytest.raises(FenceLost):
        await either.claims.renew(fence.but(**change))


async def test_an_expired_lease_that_nobody_took_is_renewed(either: Either) -> None:
    fence = await either.started()
    await either.claims.expire("inv-1")

    await either.claims.renew(fence)

    assert await either.claims.claim("owner-2") is None


async def test_an_owner_whose_lease_ran_out_may_still_write_until_somebody_takes_over(either: Either) -> None:
    fence = await either.started()
    await either.claims.expire("inv-1")

    assert await either.journal.commit(write(fence, 2, nudge())) == 3


async def test_expired_leases_can_be_left_alone(either: Either) -> None:
    await either.started()
    await either.claims.expire("inv-1")

    assert await either.claims.claim("owner-2", take_expired=False) is None
    assert await either.claims.claim("owner-2") is not None


async def test_a_moved_version_is_a_conflict_and_not_a_lost_fence(either: Either) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, nudge()))

    with pytest.raises(VersionConflict):
        await either.journal.commit(write(fence, 2, nudge()))
    with pytest.raises(VersionConflict):
        await either.journal.reserve(fence, 2, model("turn/1"))

    assert await either.journal.reserve(fence, 3, model("turn/1")) == Fresh()


async def test_what_does_not_exist_is_not_found(either: Either) -> None:
    nobody = Fence(investigation_id="nowhere", owner_id="owner-1", generation=1, attempt=1)

    with pytest.raises(NotFound):
        await either.journal.load("nowhere")
    with pytest.raises(NotFound):
        await either.journal.commit(write(nobody, 0))
    with pytest.raises(NotFound):
        await either.journal.reserve(nobody, 0, query("seed/1"))
    with pytest.raises(NotFound):
        await either.journal.receive(nobody, receipt(query("seed/1")), contents(b"{}"))


async def test_another_workspace_does_not_find_it(store: Store) -> None:
    fence = await store.started()
    foreign = Store(store.database.url, store.conninfo, "rival")

    with pytest.raises(NotFound):
        await foreign.journal.load("inv-1")
    with pytest.raises(NotFound):
        await foreign.journal.commit(write(fence, 2, nudge()))
    with pytest.raises(NotFound):
        await foreign.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))

    await foreign.database.aclose()
    assert (await store.journal.load("inv-1")).version == 2


async def test_leases_go_by_the_clock_of_the_database(store: Store) -> None:
    # A worker never sends a moment, so a wrong clock of its own has nothing to change.
    await store.opened()
    claim = await store.claimed(lease=timedelta(minutes=5))

    [row] = store.look("select lease_expires_at - clock_timestamp() as left from investigation")

    assert timedelta(minutes=4) < row["left"] <= timedelta(minutes=5)
    assert claim.lease_expires_at - claim.now <= timedelta(minutes=5)


async def test_a_lease_expires_by_itself(store: Store) -> None:
    await store.started()
    fence = (await store.journal.load("inv-1")).events[0]
    await store.claims.renew(
        Fence(investigation_id="inv-1", owner_id="owner-1", generation=fence.generation, attempt=1),
        lease=timedelta(milliseconds=50),
    )

    claim = await eventually(lambda: store.claims.claim("owner-2"))

    assert claim.fence.generation == 2


async def test_a_lost_fence_never_marks_the_investigation(either: Either) -> None:
    stale = await either.started()
    await either.taken_over("owner-2")

    with pytest.raises(FenceLost):
        await either.claims.fail_attempt(stale)

    assert await either.status() is Status.RUNNING
