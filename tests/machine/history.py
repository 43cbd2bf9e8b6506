"""The rules of the judge that compare what could be read before a call with what can be read after it."""

from __future__ import annotations

from inquest.domain.effect import EffectRow, EffectState, Receipt
from inquest.domain.event import (
    GENESIS,
    TERMINAL_KINDS,
    Event,
    InterruptAnswered,
    InterruptExpired,
    InterruptRaised,
    PlanCommitted,
    RunFailed,
    RunSucceeded,
    chain_digest,
)
from inquest.domain.investigation import TERMINAL
from inquest.errors import FingerprintMismatch, InquestError, InvariantBroken
from inquest.ports import Again, Chronicle, Fresh, Known, Moved, Spent, Write
from tests.machine import calls, events
from tests.machine.calls import Look

MAX_DISPATCHES = 3


class Broken(AssertionError):
    """A rule does not hold."""

    def __init__(self, rule: str, found: tuple[object, ...]) -> None:
        super().__init__(f"{rule}: {', '.join(map(str, found))}")
        self.rule = rule


def check(holds: bool, rule: str, *found: object) -> None:
    """Raise Broken unless it holds."""
    if not holds:
        raise Broken(rule, found)


def check_kept(before: Look, after: Look) -> None:
    """Check a change by what no call at all may do to what is there, and by what every journal is."""
    check(before.status not in TERMINAL, "nothing happens after the end", before, after)
    old, new = before.chronicle, after.chronicle
    check(new.events[: old.version] == old.events, "what is recorded stays", old.events)
    _check_chained(new.events, old.version, new.version)
    rows = {row.key: row for row in new.effects}
    for row in old.effects:
        if row.state is not EffectState.RESERVED:
            check(rows.get(row.key) == row, "a closed effect never changes", row, rows.get(row.key))
        check(row.key in rows, "no effect is lost", row.key)
    ends = [event.seq for event in new.events if event.body.kind in TERMINAL_KINDS]
    check(ends in ([], [new.version]), "one end, and nothing after it", ends)
    check(bool(ends) == (after.status in TERMINAL), "an end and its status come together", after.status)
    left = [row.key for row in new.effects if row.state is EffectState.RESERVED]
    check(not (ends and left), "nothing runnable is left under an end", left)
    _check_ceilings(after)
    check(before.spend.model_turns <= after.spend.model_turns, "spend never goes back", after.spend)


def _check_chained(recorded: tuple[Event, ...], since: int, version: int) -> None:
    check(len(recorded) == version, "the version is that of the last event", len(recorded), version)
    previous = recorded[since - 1] if since else None
    for seq, event in enumerate(recorded[since:], start=since + 1):
        check(event.seq == seq, "versions have no gap", event.seq, seq)
        check(event.prev_digest == (previous.body_digest if previous else GENESIS), "events are chained", seq)
        digest = chain_digest(event.prev_digest, events.bytes_of(event.body))
        check(event.body_digest == digest, "an event has its digest", seq)
        later = previous is None or event.generation >= previous.generation
        check(later, "generations do not go back", event.generation)
        previous = event


def _check_ceilings(look: Look) -> None:
    plans = [event.body.plan.budget for event in look.chronicle.events if isinstance(event.body, PlanCommitted)]
    rows = look.chronicle.effects
    turns = sum(row.kind == "model" and row.state is not EffectState.ABANDONED for row in rows)
    queries = sum(row.dispatches for row in rows if row.kind == "query")
    for budget in plans:
        check(turns <= budget.max_model_turns, "turns have a ceiling", turns)
        check(queries <= budget.max_connector_effects, "queries have a ceiling", queries)
        check(look.spend.model_turns <= budget.max_model_turns, "spend has a ceiling", look.spend)
    check(all(0 <= row.dispatches <= MAX_DISPATCHES for row in rows), "dispatches have a ceiling", rows)
    check(min(look.spend.model_dump().values()) >= 0, "spend is never negative", look.spend)


def check_write(write: Write, answer: object, before: Look, after: Look) -> None:
    """Check a write that was taken: all of it is there, at the version that it was meant for."""
    check(write.expected_version == before.chronicle.version, "a write goes where it was meant to", write)
    new = after.chronicle.events[before.chronicle.version :]
    check(tuple(event.body for event in new) == write.events, "a write is whole: its events", new)
    check(answer == after.chronicle.version, "a write says the new version", answer)
    marks = {(event.generation, event.attempt) for event in new}
    check(marks <= {(write.fence.generation, write.fence.attempt)}, "an event says who wrote it", marks)
    rows = {row.key: row for row in after.chronicle.effects}
    for receipt in write.receipts:
        check(_is_closed_by(rows.get(receipt.key), receipt), "a write is whole: its receipts", receipt.key)
    for reservation in write.reservations:
        row = rows.get(reservation.key)
        check(row is not None and _is_held(row, write.fence.generation), "a write is whole: its batch", row)
        check(row is not None and row.expected_version == answer, "a batch carries the version it has", row)
    if write.spend is not None:
        check(after.spend == write.spend, "a write is whole: its spend", after.spend)


def _is_closed_by(row: EffectRow | None, receipt: Receipt) -> bool:
    return (
        row is not None
        and row.state is EffectState.COMMITTED
        and (row.outcome_digest, row.fingerprint) == (receipt.outcome_digest, receipt.fingerprint)
    )


def _is_held(row: EffectRow, generation: int) -> bool:
    return row.state is EffectState.RESERVED and row.generation == generation


def check_reserved(call: calls.Reserve, answer: object, before: Look, after: Look) -> None:
    """Check a reservation that was answered: who may act holds the key, and nobody may act on what is known."""
    check(after.chronicle.events == before.chronicle.events, "a reservation writes no event", answer)
    old, new = ({row.key: row for row in look.chronicle.effects} for look in (before, after))
    base, generation = call.reservation.key, call.fence.generation
    takings = [row for key, row in old.items() if key.partition("/try/")[0] == base]
    latest = max(takings, key=_try_number, default=None)
    known = [row for row in takings if row.state is EffectState.COMMITTED]
    match answer:
        case Known(receipt=receipt):
            check(_is_closed_by(old.get(receipt.key), receipt) and new == old, "what is known is known", answer)
            return
        case Spent():
            tired = latest is not None and latest.dispatches >= MAX_DISPATCHES
            check(tired and new == old, "a third dispatch is the last", latest)
            return
        case Fresh() | Again():
            key = latest.key if latest else base
        case Moved(key=moved):
            key = moved
            other = latest is not None and latest.fingerprint != call.reservation.fingerprint
            told_again = latest is not None and latest.key == moved and new == old
            check(other or told_again, "only another request is moved", latest)
        case _:
            raise Broken("a reservation has one of five answers", (answer,))
    check(not known, "what is committed is not done again", known)
    row = new.get(key)
    check(row is not None and _is_held(row, generation), "who may act has reserved it", key, row)
    check(row is not None and row.fingerprint == call.reservation.fingerprint, "a key has one request", row)
    if not takings:
        check(call.version == before.chronicle.version, "a new key is reserved where it was meant to", call)
    if isinstance(answer, Again) and row is not None:
        counted = latest is not None and row.dispatches == latest.dispatches + 1
        check(counted, "each dispatch is counted", row)


def _try_number(row: EffectRow) -> int:
    return int(row.key.partition("/try/")[2] or 1)


def check_received(receipt: Receipt, before: Look, after: Look) -> None:
    """Check a receipt that was taken: it is there, and touched nothing else."""
    check(after.chronicle.events == before.chronicle.events, "a receipt writes no event", receipt.key)
    new = {row.key: row for row in after.chronicle.effects}
    check(_is_closed_by(new.get(receipt.key), receipt), "a receipt that was taken is there", receipt.key)
    others = [row for row in before.chronicle.effects if row.key != receipt.key]
    check(all(new.get(row.key) == row for row in others), "a receipt touches its own effect", receipt.key)


def check_closed(before: Look, after: Look) -> None:
    """Check that every effect that was under way has an outcome now."""
    rows = {row.key: row for row in after.chronicle.effects}
    open_ = [row.key for row in before.chronicle.effects if row.state is EffectState.RESERVED]
    closed = all(rows[key].state is EffectState.COMMITTED for key in open_)
    check(closed, "a cancel gives each effect an outcome", open_)


def check_stray(call: calls.Owned, answer: InquestError, before: Look) -> None:
    """Check a refusal that no honest owner meets: what it asked contradicts what is recorded."""
    rows = {row.key: row for row in before.chronicle.effects}
    match call, answer:
        case calls.Reserve(reservation=asked), FingerprintMismatch():
            check(asked.key in rows, "only what is reserved holds another request", call)
        case calls.Receive(receipt=receipt), InvariantBroken() | FingerprintMismatch():
            row = rows.get(receipt.key)
            other = row is None or (not _is_closed_by(row, receipt) and row.state is not EffectState.RESERVED)
            check(other or (row is not None and row.fingerprint != receipt.fingerprint), "a receipt is taken", row)
        case calls.Commit(), InvariantBroken():
            pass
        case _:
            raise Broken("every refusal has its reason", (call, answer))


def open_questions(chronicle: Chronicle) -> int:
    """Count the questions that have neither an answer nor an end."""
    bodies = [event.body for event in chronicle.events]
    closed = [body.interrupt_id for body in bodies if isinstance(body, InterruptAnswered | InterruptExpired)]
    check(len(set(closed)) == len(closed), "a question is answered once", closed)
    return len(asked(chronicle)) - len(closed)


def asked(chronicle: Chronicle) -> list[str]:
    """Name the questions that were asked, in order."""
    bodies = [event.body for event in chronicle.events]
    return [body.interrupt_id for body in bodies if isinstance(body, InterruptRaised)]


def check_replayed(look: Look) -> None:
    """Check that what an end says of the run before it is what its events come to, read again from the beginning."""
    bodies = [event.body for event in look.chronicle.events]
    for at, body in enumerate(bodies):
        if isinstance(body, RunSucceeded | RunFailed):
            replayed = events.replayed(bodies[:at])
            check(body.projection_digest == replayed, "a replay comes to the same", body.projection_digest)


def check_over(look: Look) -> None:
    """Check that nothing is stuck: once faults stop, everything ends."""
    check(look.status in TERMINAL, "everything ends", look.status)
