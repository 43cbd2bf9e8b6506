"""Reservations and receipts (checklist 58 to 66): an act happens once, whoever dies in between."""

from typing import LiteralString

import psycopg
import pytest

from inquest.domain.canonical import digest_of
from inquest.domain.effect import EffectRow, EffectState, Receipt, Reservation
from inquest.domain.fence import Fence
from inquest.errors import FingerprintMismatch, Halted, InvariantBroken
from inquest.ports import Again, Fresh, Known, Moved, Spent
from tests.store.builders import (
    Either,
    Store,
    contents,
    model,
    nudge,
    query,
    receipt,
    run_started,
    turn_committed,
    write,
)


async def rows(either: Either) -> dict[str, EffectRow]:
    return {row.key: row for row in (await either.journal.load("inv-1")).effects}


async def reserved(either: Either, *reservations: Reservation) -> Fence:
    """Start an investigation that has reserved a batch at version 3."""
    fence = await either.started()
    await either.journal.commit(write(fence, 2, nudge(), reservations=reservations))
    return fence


async def test_a_batch_is_reserved_with_the_turn_that_planned_it(either: Either) -> None:
    fence = await either.started()
    asked, calls = model("turn/1"), (query("turn/1/call/2"), query("turn/1/call/1"))
    await either.journal.reserve(fence, 2, asked)

    turn = turn_committed(1, b"reply")
    version = await either.journal.commit(
        write(fence, 2, turn, receipts=(receipt(asked, b"reply"),), reservations=calls, contents=contents(b"reply"))
    )

    found = await rows(either)
    assert version == 3
    assert list(found) == ["turn/1", "turn/1/call/1", "turn/1/call/2"]
    assert (found["turn/1"].state, found["turn/1"].expected_version) == (EffectState.COMMITTED, 2)
    assert {row.expected_version for key, row in found.items() if "call" in key} == {3}


async def test_a_row_carries_the_right_under_which_it_was_reserved(either: Either) -> None:
    fence = await either.started()
    asked = query("seed/1").but(tool_call_id="call_abc")

    await either.journal.reserve(fence, 2, asked)

    assert (await rows(either))["seed/1"] == EffectRow(
        key="seed/1",
        kind=asked.kind,
        fingerprint=asked.fingerprint,
        state=EffectState.RESERVED,
        dispatches=1,
        generation=1,
        attempt=1,
        expected_version=2,
        tool_call_id="call_abc",
    )


async def test_a_committed_key_answers_from_its_receipt(either: Either) -> None:
    asked = query("seed/1")
    fence = await reserved(either, asked)
    answered = receipt(asked).but(provider_request_id="req", provider_response_id="resp")
    await either.journal.receive(fence, answered, contents(b"{}"))

    assert await either.journal.reserve(fence, 3, asked) == Known(receipt=answered)
    later = await either.taken_over("owner-2")
    assert await either.journal.reserve(later, 4, asked) == Known(receipt=answered)
    assert await either.journal.content([answered.outcome_digest]) == {answered.outcome_digest: b"{}"}


async def test_a_committed_key_is_refused_to_another_request(either: Either) -> None:
    fence = await reserved(either, query("seed/1"))
    await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))

    with pytest.raises(FingerprintMismatch):
        await either.journal.reserve(fence, 3, query("seed/1", b"other"))


async def test_one_owner_never_means_two_requests_by_a_key(either: Either) -> None:
    fence = await reserved(either, query("seed/1"))

    with pytest.raises(FingerprintMismatch):
        await either.journal.reserve(fence, 3, query("seed/1", b"other"))
    with pytest.raises(FingerprintMismatch):
        await either.journal.commit(write(fence, 3, nudge(), reservations=(query("seed/1", b"other"),)))
    with pytest.raises(FingerprintMismatch):
        await either.journal.receive(fence, receipt(query("seed/1", b"other")), contents(b"{}"))


async def test_reserving_again_under_the_same_right_changes_nothing(either: Either) -> None:
    fence = await reserved(either, query("seed/1"))

    assert await either.journal.reserve(fence, 3, query("seed/1")) == Fresh()

    assert (await rows(either))["seed/1"].dispatches == 1


async def test_the_same_receipt_again_changes_nothing(either: Either) -> None:
    fence = await reserved(either, query("seed/1"))
    await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))

    await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))

    assert (await rows(either))["seed/1"].state is EffectState.COMMITTED


async def test_a_second_outcome_is_refused(either: Either) -> None:
    fence = await reserved(either, query("seed/1"))
    await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))

    with pytest.raises(InvariantBroken):
        await either.journal.receive(fence, receipt(query("seed/1"), b"[]"), contents(b"[]"))

    assert (await rows(either))["seed/1"].outcome_digest == digest_of(b"{}")


async def test_an_outcome_needs_a_reservation(either: Either) -> None:
    fence = await either.started()

    with pytest.raises(InvariantBroken):
        await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))


async def test_an_outcome_needs_its_bytes(either: Either) -> None:
    fence = await reserved(either, query("seed/1"))

    with pytest.raises(InvariantBroken):
        await either.journal.receive(fence, receipt(query("seed/1")), {})

    assert (await rows(either))["seed/1"].state is EffectState.RESERVED


async def test_what_a_dead_owner_reserved_is_dispatched_again(either: Either) -> None:
    await reserved(either, query("seed/1"))
    fence = await either.taken_over("owner-2")

    assert await either.journal.reserve(fence, 4, query("seed/1")) == Again(dispatches=2)

    row = (await rows(either))["seed/1"]
    assert (row.generation, row.dispatches, row.expected_version) == (2, 2, 4)
    await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))


async def test_taking_over_needs_no_version(either: Either) -> None:
    await reserved(either, query("seed/1"))
    fence = await either.taken_over("owner-2")

    assert await either.journal.reserve(fence, 0, query("seed/1")) == Again(dispatches=2)


async def test_after_the_third_dispatch_a_key_is_spent_and_can_only_be_closed(either: Either) -> None:
    await reserved(either, query("seed/1"))
    for number in (2, 3):
        fence = await either.taken_over(f"owner-{number}")
        answer = await either.journal.reserve(fence, 0, query("seed/1"))
        assert answer == Again(dispatches=number)

    fence = await either.taken_over("owner-4")
    assert await either.journal.reserve(fence, 0, query("seed/1")) == Spent()

    assert (await rows(either))["seed/1"].dispatches == 3
    await either.journal.receive(fence, receipt(query("seed/1"), b"spent"), contents(b"spent"))
    assert (await rows(either))["seed/1"].outcome_digest == digest_of(b"spent")


async def test_a_new_release_moves_an_open_key_to_a_try(either: Either) -> None:
    await reserved(either, query("seed/1"))
    fence = await either.taken_over("owner-2")

    assert await either.journal.reserve(fence, 4, query("seed/1", b"new")) == Moved(key="seed/1/try/2")

    found = await rows(either)
    assert found["seed/1"].state is EffectState.ABANDONED
    assert found["seed/1/try/2"].fingerprint == query("seed/1", b"new").fingerprint
    again = query("seed/1", b"new")  # the answer was lost
    assert await either.journal.reserve(fence, 4, again) == Moved(key="seed/1/try/2")
    assert await either.journal.reserve(fence, 4, again.but(key="seed/1/try/2")) == Fresh()
    answered = Receipt(
        key="seed/1/try/2", fingerprint=query("seed/1", b"new").fingerprint, outcome_digest=digest_of(b"{}")
    )
    await either.journal.receive(fence, answered, contents(b"{}"))
    assert await either.journal.reserve(fence, 4, query("seed/1", b"new")) == Known(receipt=answered)


async def test_a_key_can_move_more_than_once(either: Either) -> None:
    await reserved(either, model("turn/1"))
    for number in range(2, 12):
        fence = await either.taken_over(f"owner-{number}")
        answer = await either.journal.reserve(fence, 0, model("turn/1", b"%d" % number))
        assert answer == Moved(key=f"turn/1/try/{number}")


async def test_an_abandoned_taking_takes_no_outcome(either: Either) -> None:
    await reserved(either, query("seed/1"))
    fence = await either.taken_over("owner-2")
    await either.journal.reserve(fence, 4, query("seed/1", b"new"))

    with pytest.raises(InvariantBroken):
        await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))


async def test_a_drain_takes_back_the_dispatches_that_it_cut(either: Either) -> None:
    done, cut = query("seed/1"), query("seed/2")
    fence = await reserved(either, done, cut)
    await either.journal.receive(fence, receipt(done), contents(b"{}"))

    await either.claims.release(fence)

    found = await rows(either)
    assert (found["seed/1"].dispatches, found["seed/2"].dispatches) == (1, 0)
    assert found["seed/2"].state is EffectState.RESERVED
    later = (await either.claimed("owner-2")).fence
    assert await either.journal.reserve(later, 0, cut) == Again(dispatches=1)


async def test_what_the_database_did_not_answer_keeps_its_dispatches_counted(either: Either) -> None:
    sent = query("seed/1")
    fence = await reserved(either, sent)

    await either.claims.release_unanswered(fence)

    later = (await either.claimed("owner-2")).fence
    assert await either.journal.reserve(later, 0, sent) == Again(dispatches=2)


async def test_a_drain_takes_back_nothing_of_an_earlier_owner(either: Either) -> None:
    await reserved(either, query("seed/1"))
    fence = await either.taken_over("owner-2")

    await either.claims.release(fence)

    assert (await rows(either))["seed/1"].dispatches == 1


async def test_a_key_is_reserved_once_in_a_journal(either: Either) -> None:
    fence = await reserved(either, query("seed/1"))

    with pytest.raises(InvariantBroken):
        await either.journal.commit(write(fence, 3, nudge(), reservations=(query("seed/1"),)))
    with pytest.raises(InvariantBroken):
        await either.journal.commit(write(fence, 3, reservations=(query("seed/2"), query("seed/2"))))


async def test_nothing_is_reserved_before_the_run_has_started(either: Either) -> None:
    await either.opened()
    fence = (await either.claimed()).fence

    with pytest.raises(InvariantBroken):
        await either.journal.reserve(fence, 0, model("extract/1"))
    await either.journal.commit(write(fence, 0, run_started(), reservations=(model("extract/1"),)))


async def test_nothing_is_reserved_while_the_workspace_is_halted(either: Either) -> None:
    fence = await reserved(either, query("seed/1"), query("seed/2"))
    await either.claims.halt()

    with pytest.raises(Halted):
        await either.journal.reserve(fence, 3, query("seed/3"))
    with pytest.raises(Halted):
        await either.journal.commit(write(fence, 3, nudge(), reservations=(query("seed/3"),)))
    await either.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))
    await either.journal.commit(write(fence, 3, nudge(), receipts=(receipt(query("seed/2")),)))

    await either.claims.resume()
    assert await either.journal.reserve(fence, 4, query("seed/3")) == Fresh()


@pytest.mark.parametrize("change", ["update effect set state = 'committed'", "update effect set outcome_digest = 'x'"])
async def test_committed_means_that_there_is_an_outcome(store: Store, change: LiteralString) -> None:
    await reserved(store, query("seed/1"))

    with pytest.raises(psycopg.errors.CheckViolation):
        store.look(change)


async def test_a_receipt_never_writes_the_aggregate(store: Store) -> None:
    fence = await reserved(store, query("seed/1"))
    [before] = store.look("select xmin::text, ctid::text from investigation")

    await store.journal.receive(fence, receipt(query("seed/1")), contents(b"{}"))

    [after] = store.look("select xmin::text, ctid::text from investigation")
    assert after == before
