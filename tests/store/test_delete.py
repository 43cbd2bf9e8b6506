"""Delete: a tombstone, and nothing of the text of what it covers; what others share stays (ADR 0016)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from inquest.domain.alert import Alert
from inquest.domain.delivery import Sent
from inquest.domain.investigation import Origin, Status
from inquest.errors import FenceLost, Gone, NotFound, RoleMissing, StoreUnavailable, WrongStatus
from inquest.store import actions as module
from inquest.store.actions import Deleted, PostgresActions, Sending
from inquest.store.deliveries import PostgresDeliveries
from inquest.store.lease import ClaimLimits
from inquest.store.sweep import PostgresSweep
from tests.store.builders import (
    WORKSPACE,
    Store,
    at_once,
    contents,
    eventually,
    identity,
    interrupt_raised,
    nudge,
    opening,
    plan_committed,
    query,
    receipt,
    run_started,
    turn_committed,
    write,
)
from tests.store.door import Door, arrival, firing, intake, resolved

CANARY = "CANARY-7331"
SEND = timedelta(seconds=30)
LONG = timedelta(minutes=10)
"""The lease of an owner that outlives a test, however busy the machine is."""
TEXTUAL = """
select table_schema as schema, table_name as name, column_name as of
from information_schema.columns join information_schema.tables using (table_schema, table_name)
where table_schema in ('inquest', 'procrastinate') and table_type = 'BASE TABLE'
  and data_type in ('text', 'bytea', 'jsonb', 'json', 'character varying', 'ARRAY')
"""


def places(conninfo: str, canary: str = CANARY) -> list[str]:
    """Name every column of every table that holds `canary`, in text, in bytes or in JSON."""
    found = []
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for schema, name, of in connection.execute(TEXTUAL).fetchall():
            held = connection.execute(
                SQL("select 1 from {}.{} where position({} in convert_to({}::text, 'UTF8')) > 0"
                    " or position({} in {}::text) > 0").format(
                    Identifier(schema), Identifier(name), canary.encode(), Identifier(of),
                    canary.encode().hex(), Identifier(of),
                )
            ).fetchone()  # fmt: skip
            found += [f"{name}.{of}"] if held else []
    return sorted(found)


@pytest.fixture
def actions(store: Store) -> PostgresActions:
    return PostgresActions(store.database, WORKSPACE)


async def ended(store: Store, name: str = "inv-1", text: str = CANARY) -> None:
    """Run one to its end, with `text` wherever the journal and its surroundings may hold any."""
    raw = text.encode()
    await store.open(opening(name, title=text, service=text, origin=Origin(intake="am", source="x", channel=text)))
    for destination in ("folder", "slack#thread"):
        store.add_target(name, destination)
    store.look("""select plan_deliveries(%s, '[{"kind": "received", "note": ""}]')""", name)
    fence = await _begin(store, name)
    await store.journal.commit(
        write(fence, 2, turn_committed(1, raw), interrupt_raised(f"int-{name}").but(prompt=text),
              contents=contents(raw, b"shared"), reservations=())
    )  # fmt: skip
    with store.connection() as connection:
        connection.execute(
            "update interrupt set answer = %s, actor = %s where investigation_id = %s", (text, text, name)
        )
        connection.execute(
            "update investigation set status = 'succeeded', ended_at = now() where investigation_id = %s", (name,)
        )


async def _begin(store: Store, name: str) -> Any:  # noqa: ANN401  # a fence
    claim = await store.claimed(limits=ClaimLimits(max_running=100))
    assert claim.fence.investigation_id == name
    fence = claim.fence
    await store.journal.commit(
        write(fence, 0, run_started(claim.identity), plan_committed(), reservations=(query("seed/1").but(tool_call_id=CANARY),))
    )  # fmt: skip
    await store.journal.receive(
        fence, receipt(query("seed/1"), b"outcome " + name.encode()).but(provider_request_id=CANARY),
        contents(b"outcome " + name.encode()),
    )  # fmt: skip
    return fence


async def deliver(
    store: Store, name: str = "inv-1", destination: str = "folder", reference: str = f"/reports/{CANARY}"
) -> None:
    """Send what is due there."""
    deliveries = PostgresDeliveries(store.database)
    claimed = await deliveries.claim("sender", f"{name}-{destination}", lease=SEND)
    assert claimed is not None
    await deliveries.reserve(claimed, f"report {CANARY}".encode(), send_for=SEND)
    await deliveries.end(claimed, Sent(reference=reference))


# ---- what goes


async def test_nothing_of_its_text_is_left_in_any_table(store: Store, actions: PostgresActions) -> None:
    await ended(store)
    await deliver(store)
    await deliver(store, destination="slack#thread", reference=f"C1/{CANARY}")
    before = places(store.conninfo)
    assert {"content.bytes", "delivery_target.reference", "effect.provider_request_id", "effect.tool_call_id",
            "interrupt.answer", "interrupt.prompt", "investigation.origin", "investigation.title",
            "thread_root.reference"} <= set(before)  # fmt: skip

    await actions.delete("inv-1")

    assert places(store.conninfo) == []
    for table in (
        "event",
        "effect",
        "interrupt",
        "delivery",
        "delivery_target",
        "content_ref",
        "content",
        "thread_root",
    ):
        with store.connection() as connection:
            assert connection.execute(SQL("select * from {}").format(Identifier(table))).fetchall() == [], table


async def test_the_tombstone_says_that_there_was_one_and_no_more(store: Store, actions: PostgresActions) -> None:
    await ended(store)
    fence_before = store.look("select generation, spend, created_at from investigation")

    await actions.delete("inv-1")

    (row,) = store.look("select * from investigation")
    assert (row["status"], row["title"], row["service"], row["verdict"], row["origin"]) == ("deleting", "", "", "", {})
    assert row["purged_at"] is not None
    assert [
        {"generation": row["generation"] - 1, "spend": row["spend"], "created_at": row["created_at"]}
    ] == fence_before


async def test_what_was_sent_stays_and_is_named(store: Store, actions: PostgresActions) -> None:
    await ended(store)
    await deliver(store)

    assert await actions.delete("inv-1") == Deleted(
        investigation_id="inv-1", purged=True, sent=(Sending(destination="folder", reference=f"/reports/{CANARY}"),)
    )


async def test_each_folder_that_was_written_is_named_and_a_message_that_was_edited_once(
    store: Store, actions: PostgresActions
) -> None:
    await ended(store)
    for folder in ("inv-1/r1", "inv-1/r2"):
        await deliver(store, reference=folder)
        await deliver(store, destination="slack#thread", reference="C1/1.0")
        store.look("""select plan_deliveries('inv-1', '[{"kind": "members", "note": ""}]')""")

    found = await actions.delete("inv-1")

    assert [(one.destination, one.reference) for one in found.sent] == [
        ("folder", "inv-1/r1"), ("folder", "inv-1/r2"), ("slack#thread", "C1/1.0"),
    ]  # fmt: skip


async def test_a_delete_whose_purge_broke_is_finished_by_whoever_asks_again(
    store: Store, actions: PostgresActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ended(store)
    await deliver(store)
    with monkeypatch.context() as broken:
        broken.setattr(module, "_PURGE", "select pg_terminate_backend(pg_backend_pid()), %(id)s")
        with pytest.raises(StoreUnavailable):
            await actions.delete("inv-1")

    again = await actions.delete("inv-1")

    assert (again.purged, [one.reference for one in again.sent]) == (True, [f"/reports/{CANARY}"])
    assert places(store.conninfo) == []


async def test_what_was_not_sent_is_not_sent_any_more(store: Store, actions: PostgresActions) -> None:
    await ended(store)

    await actions.delete("inv-1")

    assert await PostgresDeliveries(store.database).claim("sender", "inv-1-folder", lease=SEND) is None


# ---- what stays


async def test_what_another_shares_stays_until_that_is_deleted_too(store: Store, actions: PostgresActions) -> None:
    await ended(store, "inv-1")
    await ended(store, "inv-2")

    await actions.delete("inv-1")

    assert await store.journal.content(list(contents(CANARY.encode(), b"shared")))
    chronicle = await store.journal.load("inv-2")
    assert await store.journal.content([row.outcome_digest for row in chronicle.effects if row.outcome_digest])
    await actions.delete("inv-2")
    assert store.look("select * from content") == []


async def test_a_re_run_of_it_stays_and_speaks_on_in_its_thread(store: Store, actions: PostgresActions) -> None:
    await ended(store)
    await deliver(store, destination="slack#thread", reference="C1/1.2")
    await actions.rerun("inv-1", "new")

    await actions.delete("inv-1")

    assert [row["reference"] for row in store.look("select reference from thread_root")] == ["C1/1.2"]
    (target,) = store.look("select target_id from delivery_target where destination = 'slack#thread'")
    claimed = await PostgresDeliveries(store.database).claim("sender", target["target_id"], lease=SEND)
    assert claimed is not None
    assert (claimed.investigation_id, claimed.guest, claimed.address.thread) == ("new", True, "C1/1.2")


async def test_a_re_run_that_was_deleted_is_not_begun_again_by_a_client_that_tries_again(
    store: Store, actions: PostgresActions
) -> None:
    await ended(store)
    await actions.rerun("inv-1", "new", key="a-name-of-the-client")
    store.look("update investigation set status = 'failed' where investigation_id = 'new'")
    await actions.delete("new")

    again = await actions.rerun("inv-1", "newer", key="a-name-of-the-client")

    assert (again.investigation_id, again.opened) == ("new", False)
    assert places(store.conninfo, "a-name-of-the-client") == []


# ---- when


@pytest.mark.parametrize("status", ["deferred", "queued", "running", "waiting"])
async def test_what_has_not_ended_is_cancelled_first(store: Store, actions: PostgresActions, status: str) -> None:
    await ended(store)
    with store.connection() as connection:
        connection.execute("update investigation set status = %s", (status,))
    before = places(store.conninfo)

    with pytest.raises(WrongStatus, match=f"^it is {status}: cancel it first$"):
        await actions.delete("inv-1")

    assert places(store.conninfo) == before


async def test_it_is_deleted_once_and_is_another_workspaces_never(store: Store, actions: PostgresActions) -> None:
    await ended(store)
    for workspace, name in (("rival", "inv-1"), (WORKSPACE, "inv-2")):
        with pytest.raises(NotFound) as refused:
            await PostgresActions(store.database, workspace).delete(name)
        assert not isinstance(refused.value, Gone)

    found = await at_once(*(actions.delete("inv-1") for _ in range(4)))

    assert {type(one).__name__ for one in found} <= {"Deleted", "Gone"}, (
        "asked at once, whoever comes before the purge helps it"
    )
    assert len({one for one in found if isinstance(one, Deleted)}) == 1
    with pytest.raises(Gone):
        await actions.delete("inv-1")


async def test_a_message_that_is_under_way_is_waited_for_and_its_sender_writes_nothing(
    store: Store, actions: PostgresActions
) -> None:
    await ended(store)
    deliveries = PostgresDeliveries(store.database)
    sender = await deliveries.claim("sender", "inv-1-folder", lease=SEND)
    assert sender is not None
    await deliveries.reserve(sender, CANARY.encode(), send_for=SEND)

    deleted = await actions.delete("inv-1")

    assert not deleted.purged
    assert await actions.delete("inv-1") == deleted, "asked again, the same is said"
    with pytest.raises(FenceLost):
        await deliveries.end(sender, Sent(reference=CANARY))
    sweep = PostgresSweep(store.database, ClaimLimits())
    assert await sweep.purge_deleted() == 0
    store.look("update delivery set send_deadline = now()")
    assert [await sweep.purge_deleted(), await sweep.purge_deleted()] == [1, 0]
    assert places(store.conninfo) == []


async def test_a_sender_that_had_not_reserved_stops(store: Store, actions: PostgresActions) -> None:
    await ended(store)
    deliveries = PostgresDeliveries(store.database)
    sender = await deliveries.claim("sender", "inv-1-folder", lease=SEND)
    assert sender is not None

    assert (await actions.delete("inv-1")).purged

    with pytest.raises(NotFound):
        await deliveries.reserve(sender, CANARY.encode(), send_for=SEND)
    assert places(store.conninfo) == []


async def test_without_the_retention_role_nothing_is_deleted_and_it_is_said_what_to_run(
    store: Store, actions: PostgresActions
) -> None:
    await ended(store)
    store.look("create or replace function can_purge() returns boolean language sql as 'select false'")

    with pytest.raises(RoleMissing, match="create role inquest_retention"):
        await actions.delete("inv-1")

    assert await store.status() is Status.SUCCEEDED


async def test_the_role_that_deletes_is_laid_down_again(store: Store, actions: PostgresActions) -> None:
    await ended(store)
    with store.connection() as connection, connection.transaction():
        connection.execute("select bury_investigation('acme', 'inv-1')")
        connection.execute("select purge_investigation('inv-1')")
        (role,) = connection.execute("select current_user = session_user as same").fetchall()
    assert role["same"]


# ---- at the same moment


async def test_an_investigation_that_stores_the_same_bytes_meanwhile_keeps_them(
    store: Store, actions: PostgresActions
) -> None:
    await store.opened("other")
    fence = (await store.claimed(limits=ClaimLimits(max_running=100), lease=LONG)).fence
    await store.journal.commit(write(fence, 0, run_started(identity("other"))))
    shared = contents(*(b"shared %d" % number for number in range(20)))
    for number in range(15):
        name = f"inv-{number}"
        await ended(store, name)
        store.look("insert into content (workspace, digest, bytes) select %s, d, b from unnest(%s::text[], %s::bytea[])"
                   " as t (d, b) on conflict do nothing", WORKSPACE, list(shared), list(shared.values()))  # fmt: skip
        store.look("insert into content_ref select %s, %s, d from unnest(%s::text[]) d", name, WORKSPACE, list(shared))
        store.look("delete from content_ref where investigation_id = 'other'")

        written, deleted = await at_once(
            store.journal.commit(write(fence, 1 + number, nudge(), contents=shared)), actions.delete(name)
        )

        assert written == 2 + number
        assert isinstance(deleted, Deleted)
        assert dict(await store.journal.content(list(shared))) == shared


async def test_bytes_that_a_purge_takes_between_two_steps_of_a_write_are_stored_again(
    store: Store, actions: PostgresActions
) -> None:
    first, second = sorted(contents(b"shared", b"another").items())
    await store.opened("other")
    fence = (await store.claimed(limits=ClaimLimits(max_running=100), lease=LONG)).fence
    await store.journal.commit(write(fence, 0, run_started(identity("other"))))
    await ended(store)
    store.look("insert into content values (%s, %s, %s) on conflict do nothing", WORKSPACE, *first)
    store.look("insert into content_ref values ('inv-1', %s, %s) on conflict do nothing", WORKSPACE, first[0])
    store.look("delete from content_ref where digest = %s", second[0])
    store.look("delete from content where digest = %s", second[0])

    with store.connection() as slow:
        slow.execute("begin")
        slow.execute("insert into content values (%s, %s, %s)", (WORKSPACE, *second))
        writing = asyncio.create_task(store.journal.commit(write(fence, 1, nudge(), contents=dict((first, second)))))
        await eventually(lambda: _waits(store))  # it has seen the first, and waits for the second
        await actions.delete("inv-1")
        slow.execute("rollback")

    assert await writing == 2
    assert dict(await store.journal.content([first[0], second[0]])) == dict((first, second))


async def _waits(store: Store) -> object | None:
    waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    return store.look(waiting) or None


async def test_a_sender_that_is_about_to_reserve_the_same_bytes_again_never_deadlocks_with_a_purge(
    store: Store, actions: PostgresActions
) -> None:
    await ended(store)
    await deliver(store)
    [rendered] = contents(f"report {CANARY}".encode())

    with store.connection() as sender, sender.transaction():  # in the order of reserve_send: contents, then the target
        sender.execute("select from content where digest = %s for key share", (rendered,))
        deleting = asyncio.create_task(actions.delete("inv-1"))
        await eventually(lambda: _waits(store))
        sender.execute("select from delivery_target where investigation_id = 'inv-1' for no key update")

    assert (await deleting).purged
    assert places(store.conninfo) == []


# ---- what the senders told


def fires() -> Alert:
    return firing(CANARY, pod=CANARY, fingerprint="f1")


def stops() -> Alert:
    return resolved(CANARY, pod=CANARY, fingerprint="f1")


async def test_the_alerts_and_posts_that_brought_it_are_forgotten(door: Door) -> None:
    hand = PostgresActions(door.database, "acme")
    for alert in (fires(), fires(), stops()):
        await door.take(arrival(alert))
    (found,) = door.column("select investigation_id from investigation")
    door.end_investigation()
    assert {"alert.body", "alert.labels", "alert.name", "receipt_body.body"} <= set(places(door.conninfo))

    await hand.delete(found)

    assert places(door.conninfo) == []
    assert len(door.column("select receipt_id from intake_receipt")) == 3
    door.accounts()


async def test_a_forgotten_alert_that_fires_on_is_no_new_investigation_and_says_its_text_anew(door: Door) -> None:
    hand = PostgresActions(door.database, "acme")
    await door.post(fires())
    (found,) = door.column("select investigation_id from investigation")
    door.end_investigation()
    await hand.delete(found)

    assert await door.post(fires()) == {"duplicate": 1}

    row = door.row("select name, labels ->> 'pod' as pod, octet_length(body) > 0 as told from alert")
    assert row == {"name": CANARY, "pod": CANARY, "told": True}
    assert len(door.column("select investigation_id from investigation")) == 1


async def test_a_forgotten_alert_resolves_and_fires_again_as_any_other(door: Door) -> None:
    hand = PostgresActions(door.database, "acme")
    await door.post(fires())
    (found,) = door.column("select investigation_id from investigation")
    door.end_investigation()
    await hand.delete(found)

    assert await door.post(stops()) == {"resolved_only": 1}
    assert door.column("select status from alert") == ["resolved"]
    assert await door.post(fires()) == {"duplicate": 1}
    door.pass_time(timedelta(hours=6))
    door.sweep()
    door.pass_time(timedelta(hours=1))
    door.sweep()
    assert await door.post(fires()) == {"opened": 1}


async def test_a_post_that_brought_another_alert_stays_until_both_are_deleted(door: Door) -> None:
    hand = PostgresActions(door.database, "acme")
    await door.take(arrival(firing(CANARY), firing("Other", service="other"), into=intake()))
    ids = door.column("select investigation_id from investigation order by title")
    assert CANARY < "Other"
    door.end_investigation()

    await hand.delete(ids[0])
    assert places(door.conninfo) == ["receipt_body.body"]
    await hand.delete(ids[1])
    assert door.column("select 1 from receipt_body") == []


async def test_alerts_are_kept_while_a_re_run_of_their_episode_is_there(door: Door) -> None:
    hand = PostgresActions(door.database, "acme")
    await door.post(fires())
    (found,) = door.column("select investigation_id from investigation")
    door.end_investigation()
    await hand.rerun(found, "new")
    door.end_investigation()

    await hand.delete(found)
    assert "alert.body" in places(door.conninfo)
    await hand.delete("new")
    assert places(door.conninfo) == []
