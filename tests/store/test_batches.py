"""A write is whole or nothing, and what ends an investigation ends everything of it (checklist 41 to 49, 91)."""

import asyncio
from typing import Any

import pytest

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.delivery import RevisionKind
from inquest.domain.effect import EffectState
from inquest.domain.event import BatchJoined, EventBody
from inquest.domain.fence import Fence
from inquest.domain.investigation import Status
from inquest.domain.planned import ByInternal
from inquest.errors import FenceLost, IdentityMismatch, InvariantBroken, StoreUnavailable
from inquest.ports import Revision
from tests.store.builders import (
    Either,
    Store,
    contents,
    eventually,
    failed,
    identity,
    interrupt_raised,
    model,
    nudge,
    plan_committed,
    query,
    receipt,
    run_started,
    succeeded,
    turn_committed,
    write,
)


async def whole(store: Store) -> dict[str, Any]:
    """Give every row that a write may touch."""
    return {
        "chronicle": await store.journal.load("inv-1"),
        "investigation": store.look("select * from investigation"),
        "content": store.look("select digest from content"),
        "content_ref": store.look("select digest from content_ref"),
        "delivery": store.look("select * from delivery"),
        "spend_day": store.look("select * from spend_day"),
        "interrupt": store.look("select * from interrupt"),
        "jobs": store.look("select id from procrastinate.procrastinate_jobs"),
    }


async def test_events_are_read_as_they_were_written(either: Either) -> None:
    fence = await either.started()
    written: tuple[EventBody, ...] = (nudge(1), turn_committed(1, b"r"), nudge(2))

    await either.journal.commit(write(fence, 2, *written, contents=contents(b"r")))

    chronicle = await either.journal.load("inv-1")
    assert tuple(event.body for event in chronicle.events[2:]) == written
    assert [event.seq for event in chronicle.events] == [1, 2, 3, 4, 5]
    assert [event.batch_id for event in chronicle.events] == ["batch/1"] * 2 + ["batch/3"] * 3
    assert {event.committed_at.tzinfo for event in chronicle.events} != {None}


async def test_the_version_moves_only_when_events_are_appended(either: Either) -> None:
    fence = await either.started()
    await either.journal.reserve(fence, 2, query("seed/1"))

    version = await either.journal.commit(
        write(fence, 2, receipts=(receipt(query("seed/1")),), contents=contents(b"{}"), spend=Spend(model_turns=1))
    )

    assert version == (await either.journal.load("inv-1")).version == 2


BAD_WRITES: dict[str, dict[str, Any]] = {
    "a receipt of nothing": {"receipts": (receipt(query("seed/9")),), "contents": contents(b"{}")},
    "a key twice": {"reservations": (query("seed/1"), query("seed/1", b"other"))},
    "a reference to nothing": {"events": (nudge(), turn_committed(1, b"nowhere"))},
    "an internal result of nothing": {
        "events": (BatchJoined(batch="seed", results=(ByInternal(result=digest_of(b"x")),)),)
    },
    "a second plan": {"events": (nudge(), plan_committed())},
    "a second start": {"events": (nudge(), run_started())},
    "bytes under a foreign digest": {"contents": {digest_of(b"a"): b"b"}},
    "an event after the end": {"events": (succeeded(), nudge())},
    "two ends": {"events": (succeeded(), failed())},
    "a reservation under the end": {"events": (succeeded(),), "reservations": (query("seed/1"),)},
    "an event after a question": {"events": (interrupt_raised(), nudge())},
    "a batch over the cap": {"events": tuple(nudge().but(steering=nudge().steering.but(text="x" * 600_000)) for _ in "ab")},
    "text without bytes": {"events": (nudge().but(steering=nudge().steering.but(text="\ud800")),)},
    "a NUL in a call id": {"reservations": (query("seed/1").but(tool_call_id="a\x00b"),)},
    "a surrogate in a provider's id": {
        "receipts": (receipt(query("seed/0")).but(provider_request_id="\udfff"),),
        "contents": contents(b"{}"),
    },
    "a NUL in a note": {"revisions": (Revision(kind=RevisionKind.PROGRESS, note="\x00"),)},
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_WRITES)
async def test_a_write_that_breaks_a_rule_changes_nothing(either: Either, what: str) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, nudge(), reservations=(query("seed/0"),)))
    before = await either.journal.load("inv-1")
    parts: dict[str, Any] = {"contents": contents(b"kept only with the rest"), **BAD_WRITES[what]}

    with pytest.raises(InvariantBroken):
        await either.journal.commit(write(fence, 3, *parts.pop("events", (nudge(),)), **parts))

    assert await either.journal.load("inv-1") == before
    assert await either.status() is Status.RUNNING


async def test_the_first_event_is_run_started_with_the_identity_of_the_investigation(either: Either) -> None:
    await either.opened()
    fence = (await either.claimed()).fence

    with pytest.raises(InvariantBroken):
        await either.journal.commit(write(fence, 0, nudge()))
    for who in (identity("inv-2"), identity(workspace="rival"), identity().but(workflow_id="investigate/9")):
        with pytest.raises(IdentityMismatch):
            await either.journal.commit(write(fence, 0, run_started(who)))
    assert (await either.journal.load("inv-1")).version == 0

    assert await either.journal.commit(write(fence, 0, run_started())) == 1


@pytest.mark.parametrize(("event", "status"), [(succeeded(), Status.SUCCEEDED), (failed(), Status.FAILED)])
async def test_an_end_closes_the_lease_and_leaves_nothing_runnable(
    either: Either, event: EventBody, status: Status
) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, nudge(), reservations=(query("seed/1"), model("turn/1"))))

    await either.journal.commit(write(fence, 3, event))

    rows = (await either.journal.load("inv-1")).effects
    assert {row.state for row in rows} == {EffectState.ABANDONED}
    assert await either.status() is status
    with pytest.raises(FenceLost):
        await either.journal.commit(write(fence, 4, nudge()))
    with pytest.raises(FenceLost):
        await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))
    assert await either.claims.claim("owner-2") is None


async def test_a_question_lets_go_of_the_investigation(either: Either) -> None:
    fence = await either.started()

    await either.journal.commit(write(fence, 2, nudge(), interrupt_raised()))

    assert await either.status() is Status.WAITING
    assert await either.claims.claim("owner-2") is None
    with pytest.raises(FenceLost):
        await either.journal.commit(write(fence, 4, nudge()))


async def test_a_question_is_kept_with_what_was_left_of_the_time(store: Store) -> None:
    fence = await store.started()

    await store.journal.commit(write(fence, 2, interrupt_raised("int-9")))

    [row] = store.look(
        "select interrupt_id, prompt, answer, extract(epoch from remaining)::int as remaining,"
        " expires_at - raised_at between '6 days 23 hours' and '7 days 1 hour' as a_week from interrupt"
    )
    assert row == {
        "interrupt_id": "int-9", "prompt": "who deployed?", "answer": None, "remaining": 300, "a_week": True
    }  # fmt: skip


async def test_a_revision_is_planned_for_every_destination(store: Store) -> None:
    fence = await store.started()
    store.add_target("inv-1", "folder")
    store.add_target("inv-1", "slack")
    await store.journal.commit(write(fence, 2, nudge(), revisions=(Revision(kind=RevisionKind.PROGRESS),)))

    await store.journal.commit(
        write(fence, 3, succeeded(), revisions=(Revision(kind=RevisionKind.REPORT, note="done"),))
    )

    planned = store.look("select target_id, revision, kind, note, state from delivery order by 1, 2")
    assert planned == [
        {"target_id": target, "revision": revision, "kind": kind, "note": note, "state": "planned"}
        for target in ("inv-1-folder", "inv-1-slack")
        for revision, kind, note in ((1, "progress", ""), (2, "report", "done"))
    ]
    rung = store.look(
        "select args ->> 'id' as id, count(*) as times from procrastinate.procrastinate_jobs"
        " where queue_name = 'deliveries' and task_name = 'deliver' group by 1 order by 1"
    )
    assert rung == [{"id": "inv-1-folder", "times": 2}, {"id": "inv-1-slack", "times": 2}]


async def test_an_end_rings_for_the_next_one_of_the_workspace(store: Store) -> None:
    fence = await store.started()
    await store.opened("inv-low", severity_rank=1)
    await store.opened("inv-high", severity_rank=4)
    store.look("delete from procrastinate.procrastinate_jobs")

    await store.journal.commit(write(fence, 2, succeeded()))

    assert _bells(store) == ["inv-high"]


def _bells(store: Store) -> list[str]:
    found = store.look("select args ->> 'id' as id from procrastinate.procrastinate_jobs order by id")
    return [row["id"] for row in found]


async def test_an_end_as_noise_moves_its_opener_in_the_accounts(store: Store) -> None:
    fence = await store.started()
    store.look("update investigation set receipt_id = 'post-1', counted_as = 'opened'")
    store.look(
        "insert into intake_receipt (receipt_id, workspace, intake, receipt_key, body_digest, state, counts)"
        " values ('post-1', 'acme', 'am', 'k', 'd', 'accepted', '{\"opened\": 1, \"joined\": 2}')"
    )

    await store.journal.commit(write(fence, 2, succeeded().but(stop_reason="noise")))

    [receipt_row] = store.look("select counts from intake_receipt")
    assert receipt_row["counts"] == {"opened": 0, "joined": 2, "noise": 1}


async def commit_blocked_at_its_last_step(store: Store, fence: Fence) -> None:
    """Commit everything that a write can hold; another transaction holds the row that it needs last."""
    await store.journal.commit(
        write(
            fence,
            2,
            turn_committed(1, b"reply"),
            interrupt_raised(),
            receipts=(receipt(model("turn/1"), b"reply"),),
            contents=contents(b"reply"),
            revisions=(Revision(kind=RevisionKind.QUESTION),),
            spend=Spend(model_turns=1),
        )
    )


async def test_a_backend_that_dies_in_the_middle_of_a_write_leaves_nothing(store: Store) -> None:
    fence = await store.started()
    store.add_target()
    await store.journal.reserve(fence, 2, model("turn/1"))
    before = await whole(store)

    with store.connection() as other, other.transaction():
        other.execute("select * from spend_day for update")
        blocked = asyncio.create_task(commit_blocked_at_its_last_step(store, fence))
        await eventually(lambda: _somebody_waiting(store))
        killed = store.look(
            "select pg_terminate_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'"
            " and datname = current_database()"
        )
        with pytest.raises(StoreUnavailable):
            await blocked
    assert len(killed) == 1
    assert await whole(store) == before

    await commit_blocked_at_its_last_step(store, fence)
    assert await store.status() is Status.WAITING


async def _somebody_waiting(store: Store) -> object | None:
    found = store.look("select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()")
    return found or None
