"""The one answer of a question: consumed once, by its name, with the time that was left; on both stores."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inquest.domain.event import InterruptAnswered, InterruptExpired
from inquest.domain.investigation import Status
from inquest.errors import FenceLost, NotFound, WrongStatus
from inquest.store.actions import PostgresActions
from inquest.store.investigations import Filters
from tests.store.builders import WORKSPACE, Either, Store, at_once, bells, interrupt_raised, nudge, silence, write

ROUNDS = 20


async def waiting(either: Either) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, interrupt_raised()))


async def test_an_answer_queues_the_investigation_which_goes_on_under_a_new_fence(either: Either) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, interrupt_raised()))

    await either.answer("int-1", "alice did")

    assert await either.status() is Status.QUEUED
    (body,) = [event.body for event in (await either.journal.load("inv-1")).events[3:]]
    assert isinstance(body, InterruptAnswered)
    assert (body.interrupt_id, body.answer, body.actor) == ("int-1", "alice did", "operator")
    with pytest.raises(FenceLost):
        await either.journal.commit(write(fence, 4, nudge()))
    claim = await either.claimed("owner-2")
    assert (claim.version, claim.fence.attempt, claim.fence.generation) == (5, 1, fence.generation + 2)


async def test_the_deadline_is_the_answers_moment_and_what_was_left_when_it_was_asked(either: Either) -> None:
    await waiting(either)

    await either.answer("int-1")

    event = (await either.journal.load("inv-1")).events[-1]
    assert isinstance(event.body, InterruptAnswered)
    assert abs(event.body.extended_until - event.committed_at - timedelta(seconds=300)) < timedelta(seconds=5)


async def test_one_answer_is_consumed_and_the_next_one_is_refused_wherever_the_run_stands_by_then(
    either: Either,
) -> None:
    await waiting(either)
    await either.answer("int-1")
    with pytest.raises(WrongStatus, match="it was answered before"):
        await either.answer("int-1")

    await either.claimed("owner-2")
    with pytest.raises(WrongStatus, match="it was answered before"):
        await either.answer("int-1", "bob")

    answers = [
        event.body.answer
        for event in (await either.journal.load("inv-1")).events
        if isinstance(event.body, InterruptAnswered)
    ]
    assert answers == ["alice"]


async def test_another_questions_name_is_refused_and_the_run_still_waits(either: Either) -> None:
    await waiting(either)

    with pytest.raises(NotFound):
        await either.answer("int-2")

    assert await either.status() is Status.WAITING
    assert (await either.journal.load("inv-1")).version == 3


async def test_the_name_of_an_earlier_question_does_not_answer_a_later_one(either: Either) -> None:
    await waiting(either)
    await either.answer("int-1")
    fence = (await either.claimed("owner-2")).fence
    await either.journal.commit(write(fence, 5, interrupt_raised("int-2")))

    with pytest.raises(WrongStatus, match="it was answered before"):
        await either.answer("int-1")

    assert await either.status() is Status.WAITING
    await either.answer("int-2")
    assert await either.status() is Status.QUEUED


async def test_a_question_that_nobody_answered_for_a_week_takes_no_answer_any_more(either: Either) -> None:
    await waiting(either)

    assert [await either.pass_a_week(), await either.pass_a_week()] == [1, 0]

    with pytest.raises(WrongStatus, match="nobody answered it in time"):
        await either.answer("int-1")
    event = (await either.journal.load("inv-1")).events[-1]
    assert isinstance(event.body, InterruptExpired)
    assert abs(event.body.extended_until - event.committed_at - timedelta(seconds=300)) < timedelta(seconds=5)
    assert (await either.claimed("owner-2")).fence.attempt == 1


async def test_a_waiting_run_takes_no_room_and_no_number_of_claims_moves_it(either: Either) -> None:
    await waiting(either)

    assert [await either.claims.claim(f"owner-{number}") for number in range(2, 6)] == [None] * 4

    assert (await either.journal.load("inv-1")).version == 3
    assert await either.status() is Status.WAITING


# ---- Postgres alone


async def test_of_two_answers_at_once_one_is_taken(store: Store) -> None:
    actions = PostgresActions(store.database, WORKSPACE)
    fence = await store.started()
    version = 2
    for number in range(ROUNDS):
        name = f"int-{number}"
        await store.journal.commit(write(fence, version, interrupt_raised(name)))

        ended = await at_once(*(actions.answer("inv-1", name, said) for said in ("alice", "bob")))

        assert sorted(str(one) for one in ended) == ["None", "it was answered before"]
        claim = await store.claimed(f"owner-{number}")
        fence, version = claim.fence, claim.version
    events = (await store.journal.load("inv-1")).events
    assert sum(isinstance(event.body, InterruptAnswered) for event in events) == ROUNDS


async def test_an_answer_that_meets_the_expiry_is_taken_or_refused_and_there_is_one_of_both(store: Store) -> None:
    await waiting(store)
    store.look("update interrupt set expires_at = expires_at - interval '7 days'")

    ended = await at_once(store.pass_a_week(), store.answer("int-1"))

    assert [str(one) for one in ended] in (["1", "nobody answered it in time"], ["0", "None"])
    kinds = [event.body.kind for event in (await store.journal.load("inv-1")).events[3:]]
    assert kinds in (["interrupt_expired"], ["interrupt_answered"])


async def test_an_answer_rings_and_tells_the_readers_that_it_goes_on(store: Store) -> None:
    await store.opened()
    store.add_target()
    fence = await store.started()
    await store.journal.commit(write(fence, 2, interrupt_raised()))
    silence(store)

    await store.answer("int-1", "alice did")

    assert bells(store) == ["inv-1"]
    (row,) = store.look("select kind, note from delivery")
    assert row == {"kind": "progress", "note": "It was answered, and goes on."}
    (kept,) = store.look("select answer, actor, answered_at is not null as closed from interrupt")
    assert kept == {"answer": "alice did", "actor": "operator", "closed": True}
    (left,) = store.look("select deadline_at - now() between '295 s' and '300 s' as left from investigation")
    assert left == {"left": True}


async def test_a_row_shows_what_it_asks_only_while_it_waits(store: Store) -> None:
    await waiting(store)
    row = await store.investigations.get("inv-1")
    assert row.question is not None
    assert (row.question.interrupt_id, row.question.prompt) == ("int-1", "who deployed?")
    assert abs(row.question.expires_at - row.question.raised_at - timedelta(days=7)) < timedelta(seconds=1)
    assert (await store.investigations.page(Filters())).rows == (row,)

    await store.answer("int-1")

    assert (await store.investigations.get("inv-1")).question is None


async def test_another_workspaces_question_is_not_there(store: Store) -> None:
    await waiting(store)

    with pytest.raises(NotFound):
        await PostgresActions(store.database, "another").answer("inv-1", "int-1", "x")

    assert await store.status() is Status.WAITING


async def test_a_cancelled_one_takes_no_answer_and_a_waiting_one_is_not_deleted(store: Store) -> None:
    actions = PostgresActions(store.database, WORKSPACE)
    await waiting(store)
    with pytest.raises(WrongStatus):
        await actions.delete("inv-1")
    assert await store.status() is Status.WAITING

    await actions.cancel("inv-1")

    with pytest.raises(WrongStatus, match="it is cancelled: it waits for no answer"):
        await store.answer("int-1")


async def test_a_broken_journal_takes_no_answer(store: Store) -> None:
    await waiting(store)
    store.look("set session_replication_role = replica; delete from event where seq = 3")

    with pytest.raises(WrongStatus, match="broken"):
        await store.answer("int-1")
