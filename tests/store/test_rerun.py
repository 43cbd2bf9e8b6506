"""Re-run: one more investigation of the same episode, beside the one that it repeats (design 12)."""

from __future__ import annotations

import pytest

from inquest.domain.intake import DailyCeilings
from inquest.domain.investigation import WORKFLOW, Origin, Status
from inquest.errors import Gone, NotFound, WrongStatus
from inquest.store.actions import PostgresActions, Rerun
from inquest.store.lease import ClaimLimits
from inquest.store.sweep import PostgresSweep
from tests.store.builders import WORKSPACE, Store, at_once, bells, opening, silence

ORIGIN = Origin(intake="am", source="alertmanager", channel="C1", thread="1.2")
DOLLAR = 1_000_000


@pytest.fixture
async def actions(store: Store) -> PostgresActions:
    """Give what acts on one that has succeeded, and had two destinations."""
    await store.open(opening(severity_rank=3, origin=ORIGIN, title="CheckoutErrors", service="checkout"))
    for destination in ("slack#report", "slack#thread"):
        store.add_target("inv-1", destination)
    store.look("update investigation set status = 'succeeded', verdict = 'healthy', ended_at = now()")
    silence(store)
    return PostgresActions(store.database, WORKSPACE)


async def test_it_is_another_investigation_of_the_same_episode_and_the_first_stays_as_it_is(
    store: Store, actions: PostgresActions
) -> None:
    before = store.look("select * from investigation")

    assert await actions.rerun("inv-1", "new") == Rerun(investigation_id="new", opened=True)

    first, new = await store.investigations.get("inv-1"), await store.investigations.get("new")
    assert store.look("select * from investigation where investigation_id = 'inv-1'") == before
    assert new.identity == first.identity.but(run_id="new", session_id="operator", workflow_id=WORKFLOW)
    assert (new.parent_id, new.status, new.verdict) == ("inv-1", Status.QUEUED, "")
    assert (new.origin, new.severity_rank, new.title, new.service) == (ORIGIN, 3, "CheckoutErrors", "checkout")
    assert bells(store) == ["new"]


async def test_it_says_so_at_every_destination_of_the_first(store: Store, actions: PostgresActions) -> None:
    await actions.rerun("inv-1", "new")

    found = store.look(
        "select destination, revision, kind, state from delivery join delivery_target using (target_id)"
        " where investigation_id = 'new' order by destination"
    )
    assert [tuple(row.values()) for row in found] == [
        ("slack#report", 1, "received", "planned"),
        ("slack#thread", 1, "received", "planned"),
    ]
    assert len(bells(store, "deliveries")) == 2


async def test_what_is_asked_for_again_under_the_same_name_is_one(store: Store, actions: PostgresActions) -> None:
    first = await actions.rerun("inv-1", "new", key="K")
    store.look("update investigation set status = 'failed'")

    assert first.opened
    assert await actions.rerun("inv-1", "other", key="K") == Rerun(investigation_id="new", opened=False)
    assert await actions.rerun("inv-1", "third", key="L") == Rerun(investigation_id="third", opened=True)


async def test_a_key_names_a_re_run_of_one_investigation_only(store: Store, actions: PostgresActions) -> None:
    await actions.rerun("inv-1", "new", key="K")
    store.look("update investigation set status = 'failed'")

    assert (await actions.rerun("new", "grandchild", key="K")).opened


async def test_of_many_tries_at_once_one_opens_it(store: Store, actions: PostgresActions) -> None:
    for number in range(20):
        found = await at_once(*(actions.rerun("inv-1", f"{number}-{one}", key=f"K{number}") for one in range(4)))

        assert {one.investigation_id for one in found} <= {f"{number}-{one}" for one in range(4)}
        assert len({one.investigation_id for one in found}) == 1
        assert sorted(one.opened for one in found) == [False, False, False, True]
        store.look("update investigation set status = 'failed'")


async def test_nor_do_two_of_one_episode_begin_at_once(store: Store, actions: PostgresActions) -> None:
    parents = ["inv-1", *(f"again-{number}" for number in range(3))]
    for name in parents[1:]:
        await store.open(opening(name, parent_id="inv-1"))
    for number in range(20):
        store.look("update investigation set status = 'failed'")

        found = await at_once(*(actions.rerun(parent, f"{number}-{parent}") for parent in parents))

        assert sorted(type(one).__name__ for one in found) == ["Rerun", *["WrongStatus"] * 3]


async def test_without_a_key_a_second_one_waits_for_the_first(store: Store, actions: PostgresActions) -> None:
    found = await at_once(*(actions.rerun("inv-1", f"new-{one}") for one in range(4)))

    assert sorted(type(one).__name__ for one in found) == ["Rerun", *["WrongStatus"] * 3]


@pytest.mark.parametrize("status", ["deferred", "queued", "running", "waiting"])
async def test_what_has_not_ended_is_not_run_again(store: Store, actions: PostgresActions, status: str) -> None:
    with store.connection() as connection:
        connection.execute("update investigation set status = %s", (status,))

    with pytest.raises(WrongStatus, match=f"^it is {status}: a re-run begins when it has ended$"):
        await actions.rerun("inv-1", "new")


async def test_nor_is_it_while_another_of_its_episode_goes_on(store: Store, actions: PostgresActions) -> None:
    await actions.rerun("inv-1", "new")

    with pytest.raises(WrongStatus, match=r"^new of the same episode is queued: "):
        await actions.rerun("inv-1", "newer")


async def test_another_workspaces_is_like_one_that_never_was_and_a_deleted_one_is_gone(
    store: Store, actions: PostgresActions
) -> None:
    for workspace, name in (("rival", "inv-1"), (WORKSPACE, "inv-2")):
        with pytest.raises(NotFound) as refused:
            await PostgresActions(store.database, workspace).rerun(name, "new")
        assert not isinstance(refused.value, Gone)
    store.look("update investigation set status = 'deleting'")
    with pytest.raises(Gone):
        await actions.rerun("inv-1", "new")


# ---- admission


@pytest.mark.parametrize("ceiling", ["workspace_usd_micros", "installation_usd_micros"])
async def test_a_day_whose_dollars_are_spent_defers_it(store: Store, actions: PostgresActions, ceiling: str) -> None:
    store.look("insert into spend_day (workspace, day, usd_micros)"
               " select w, (now() at time zone 'UTC')::date, 1000000 from unnest(array['acme', '']) w")  # fmt: skip

    await actions.rerun("inv-1", "new", ceilings=DailyCeilings(**{ceiling: DOLLAR}))

    row = await store.investigations.get("new")
    assert (row.status, row.defer_reason) == (Status.DEFERRED, "daily_usd")
    assert row.not_before is not None
    assert (row.not_before.hour, row.not_before.minute) == (0, 0)
    assert bells(store) == []
    [note] = {one["note"] for one in store.look("select note from delivery")}
    assert note == "daily_usd"


async def test_a_deferred_one_whose_episode_is_long_over_still_runs_since_somebody_asked_for_it(
    store: Store, actions: PostgresActions
) -> None:
    store.look("insert into spend_day (workspace, day, usd_micros)"
               " values ('acme', (now() at time zone 'UTC')::date, 1000000)")  # fmt: skip
    await actions.rerun("inv-1", "new", ceilings=DailyCeilings(workspace_usd_micros=DOLLAR))
    store.look("update episode set ended_at = now() - interval '3 days'")
    await store.come_due("new")

    await PostgresSweep(store.database, ClaimLimits()).admit_deferred()

    assert await store.status("new") is Status.QUEUED


async def test_it_waits_for_room_as_any_other(store: Store, actions: PostgresActions) -> None:
    store.add_episode("episode-2")
    await store.open(opening("busy", episode_id="episode-2", severity_rank=4))
    await actions.rerun("inv-1", "new")
    limits = ClaimLimits(max_running=1)

    claimed = await store.claims.claim("owner-1", limits=limits)
    assert claimed is not None
    assert claimed.fence.investigation_id == "busy"
    assert await store.claims.claim("owner-2", limits=limits) is None


async def test_it_takes_no_slot_of_an_intakes_hour(store: Store, actions: PostgresActions) -> None:
    await actions.rerun("inv-1", "new")

    (row,) = store.look("select intake, counted_as from investigation where investigation_id = 'new'")
    assert tuple(row.values()) == ("", "")


async def test_it_is_claimed_and_runs_as_any_other(store: Store, actions: PostgresActions) -> None:
    await actions.rerun("inv-1", "new")

    claim = await store.claimed("owner-2")

    assert claim.fence.investigation_id == "new"
    assert claim.version == 0
