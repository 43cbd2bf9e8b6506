"""The kill switch on Postgres: nothing is claimed, reserved or sent; alerts are taken in; what waited is rung for."""

from __future__ import annotations

import pytest

from inquest.errors import Halted
from inquest.store.halts import EVERYTHING, PostgresHalts
from tests.store.builders import Store, at_once, bells, query, silence, write
from tests.store.door import Door, arrival, firing, intake
from tests.store.test_deliveries import LEASE, SEND_FOR, TARGET, Sending


@pytest.fixture
def halts(store: Store) -> PostgresHalts:
    return PostgresHalts(store.database)


async def test_who_halted_first_and_when_is_what_is_shown(halts: PostgresHalts) -> None:
    assert await halts.halt("acme", actor="ana")
    (first,) = await halts.standing()

    assert not await halts.halt("acme", actor="bob")
    assert await halts.halt(actor="eve")

    everything, again = await halts.standing()
    assert (everything.workspace, everything.actor, again) == (EVERYTHING, "eve", first)
    assert (again.actor, again.covers("acme"), again.covers("rival"), everything.covers("rival")) == (
        "ana", True, False, True,
    )  # fmt: skip


async def test_what_was_halted_by_name_is_resumed_by_name(halts: PostgresHalts) -> None:
    await halts.halt("acme")
    await halts.halt()

    assert await halts.resume()
    assert not await halts.resume()

    assert [one.workspace for one in await halts.standing()] == ["acme"]


async def test_a_resume_rings_for_what_waited_where_nothing_is_halted_still(store: Store, halts: PostgresHalts) -> None:
    store.add_episode("episode-2", "rival")
    await store.opened("inv-1", severity_rank=1)
    await store.opened("inv-2", severity_rank=4)
    store.look(
        "update investigation set workspace = 'rival', episode_id = 'episode-2' where investigation_id = 'inv-1'"
    )
    await halts.halt("rival")
    await halts.halt()
    silence(store)

    await halts.resume()
    assert bells(store) == ["inv-2"]
    await halts.resume("rival")
    assert bells(store) == ["inv-2", "inv-1"]


async def test_no_reservation_is_accepted_after_the_commit_of_a_halt_however_many_ask(
    store: Store, halts: PostgresHalts
) -> None:
    fences = [await store.started(f"inv-{number}") for number in range(4)]
    await halts.halt()

    found = await at_once(*(store.journal.reserve(fence, 2, query("seed/1")) for fence in fences))

    assert [type(one) for one in found] == [Halted] * 4
    assert store.look("select key from effect") == []


async def test_what_runs_drains_to_queued_at_no_charge_and_goes_on_after_the_resume(
    store: Store, halts: PostgresHalts
) -> None:
    fence = await store.started()
    await halts.halt("acme")
    await store.journal.commit(write(fence, 2))  # what came back is recorded

    await store.claims.release(fence)
    assert (await store.status(), await store.claims.claim("owner-2")) == ("queued", None)

    await halts.resume("acme")
    claimed = await store.claims.claim("owner-2")
    assert claimed is not None
    assert (claimed.fence.attempt, claimed.fence.generation) == (1, 2)


async def test_nothing_is_sent_while_its_workspace_is_halted_and_it_is_afterwards(
    store: Store, halts: PostgresHalts
) -> None:
    await store.opened()
    store.add_target()
    sending = Sending(store)
    sending.plan("received")
    claimed = await sending.claim()
    await halts.halt("acme")

    with pytest.raises(Halted):
        await sending.deliveries.reserve(claimed, b"report", send_for=SEND_FOR)
    await sending.deliveries.release(claimed.fence)
    assert not await sending.due(), "nor claimed"
    assert sending.states() == {1: "planned"}

    await halts.resume("acme")
    again = await sending.deliveries.claim("owner-3", TARGET, lease=LEASE)
    assert again is not None
    assert again.attempts == 0, "a halt is no try"


async def test_alerts_are_taken_in_while_everything_is_halted(halts: PostgresHalts, store: Store) -> None:
    door = Door(store.database.url, store.conninfo)
    await halts.halt()
    try:
        accepted = await door.take(arrival(firing(), into=intake(destinations=("folder",))))
    finally:
        await door.aclose()

    assert [one.status for one in accepted.investigations] == ["queued"]
