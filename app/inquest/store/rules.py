"""What a write must be, whatever store takes it: pure checks, and what its events set on the aggregate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Literal

from inquest.domain.budget import MAX_CONTENT_BYTES
from inquest.domain.canonical import digest_of
from inquest.domain.effect import EffectKind, ModelFailed, Receipt, Reservation, try_key
from inquest.domain.event import (
    MAX_BATCH_BYTES,
    BatchJoined,
    EventBody,
    InterruptRaised,
    PlanCommitted,
    RunCancelled,
    RunFailed,
    RunStarted,
    RunSucceeded,
    StageCommitted,
    TurnCommitted,
)
from inquest.domain.failure import FailureCode, failure
from inquest.domain.investigation import Delivered, Diagnosed, FactsExtracted
from inquest.domain.observation import Error, Recorded
from inquest.domain.planned import ByInternal
from inquest.domain.value import Instant, Value
from inquest.errors import InvariantBroken
from inquest.ports import Write

INTERRUPT_LIFE = timedelta(days=7)
"""A question that nobody answered expires after this (design 10)."""
OPERATOR = "operator"
"""Who acts from outside, until there is more than one."""
ASKED = "asked"
"""Why an operator's cancel ends a run, in its event and in the revision that it plans."""
CLOSED_BY_CANCEL: Mapping[EffectKind, bytes] = {
    EffectKind.QUERY: Recorded(outcome=Error(error=failure(FailureCode.CANCELLED)), tries=0, exchanges=0).canonical(),
    EffectKind.MODEL: ModelFailed(kind=FailureCode.CANCELLED, message="the turn was cancelled").canonical(),
}
"""The outcomes of effects that a cancel closes: nothing is known of what they may have brought."""
ANSWERED_NOTE = "It was answered, and goes on."
EXPIRED_NOTE = "Nobody answered the question in seven days: it goes on without an answer."
"""What the readers of a question are told in its place."""
_TRY = re.compile(r"/try/(\d+)$")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Lifecycle = Literal["succeeded", "failed", "cancelled", "waiting"]


class Marks(Value):
    """What the events of one write set on the aggregate; None leaves it as it is."""

    max_model_turns: int | None = None
    max_connector_effects: int | None = None
    deadline_at: Instant | None = None
    title: str | None = None
    service: str | None = None
    verdict: str | None = None


class Checked(Value):
    """A write that keeps the rules that need no database.

    `bodies` are the canonical bytes of its events; `references` are the digests that must be stored when it
    has happened; `lifecycle` is the status that it leads to, None while the investigation goes on.
    """

    bodies: tuple[bytes, ...]
    references: tuple[str, ...]
    marks: Marks
    lifecycle: Lifecycle | None


def checked(write: Write) -> Checked:
    """Check `write` by itself. Raises InvariantBroken: only a bug of ours writes what this refuses."""
    bodies = tuple(canonical_body(event) for event in write.events)
    total = sum(len(body) for body in bodies)
    if total > MAX_BATCH_BYTES:
        raise InvariantBroken(f"a batch of events has {total} bytes, {MAX_BATCH_BYTES} are allowed")
    check_contents(write.contents)
    for receipt in write.receipts:
        check_receipt(receipt)
    for reservation in write.reservations:
        check_text("tool_call_id", reservation.tool_call_id)
    for revision in write.revisions:
        check_text("the note of a revision", revision.note)
    for event in write.events:
        if isinstance(event, InterruptRaised):
            check_text("the prompt of an interrupt", event.prompt)
    _check_distinct(receipt.key for receipt in write.receipts)
    _check_distinct(base_key(reservation.key) for reservation in write.reservations)
    lifecycle = _lifecycle(write)
    references = {receipt.outcome_digest for receipt in write.receipts}
    references.update(digest for event in write.events for digest in references_of(event))
    return Checked(bodies=bodies, references=tuple(sorted(references)), marks=marks(write.events), lifecycle=lifecycle)


def canonical_body(event: EventBody) -> bytes:
    """Give the bytes of `event` that are stored and digested. Raises InvariantBroken on a lone surrogate."""
    try:
        return event.canonical()
    except UnicodeEncodeError as error:
        raise InvariantBroken(f"{event.kind} holds text that has no bytes; text passes the sanitiser first") from error


def check_text(name: str, text: str) -> None:
    """Refuse text that Postgres cannot hold. Raises InvariantBroken naming the field, without the text."""
    if _UNSTORABLE.search(text):
        raise InvariantBroken(f"{name} holds a NUL or a lone surrogate; text passes the sanitiser first")


def check_contents(contents: Mapping[str, bytes]) -> None:
    """Refuse bytes under a digest that is not theirs, or over the cap. Raises InvariantBroken."""
    for digest, stored in contents.items():
        if len(stored) > MAX_CONTENT_BYTES:
            raise InvariantBroken(f"content {digest} has {len(stored)} bytes, {MAX_CONTENT_BYTES} are allowed")
        if digest_of(stored) != digest:
            raise InvariantBroken(f"content {digest} does not have this digest")


def check_receipt(receipt: Receipt) -> None:
    """Refuse provider ids that Postgres cannot hold. Raises InvariantBroken."""
    check_text("provider_request_id", receipt.provider_request_id)
    check_text("provider_response_id", receipt.provider_response_id)


def references_of(event: EventBody) -> Iterator[str]:
    """Give the digests of stored bytes that replay needs because of `event`."""
    match event:
        case RunStarted(prompts=prompts):
            yield from prompts.values()
        case TurnCommitted(reply=reply):
            yield reply
        case BatchJoined(results=results):
            yield from (joined.result for joined in results if isinstance(joined, ByInternal))
        case StageCommitted(update=Delivered(report=report)):
            yield report.report_digest
        case _:
            return


def marks(events: Iterable[EventBody]) -> Marks:
    """Give what `events` set on the aggregate: ceilings and deadline, and the columns of lists."""
    found = Marks()
    for event in events:
        match event:
            case RunStarted(limits=limits, deadline_at=deadline_at):
                turns, effects = limits.max_model_turns, limits.max_connector_effects
                found = found.but(max_model_turns=turns, max_connector_effects=effects, deadline_at=deadline_at)
            case PlanCommitted(plan=plan):
                found = found.but(**plan.budget.model_dump())
            case StageCommitted(update=FactsExtracted(facts=facts)):
                check_text("alert_name", facts.alert_name)
                check_text("service", facts.service)
                found = found.but(title=facts.alert_name, service=facts.service)
            case StageCommitted(update=Diagnosed(diagnosis=diagnosis)):
                found = found.but(verdict=str(diagnosis.verdict))
            case _:
                pass
    return found


def base_key(key: str) -> str:
    """Give `key` without its try."""
    return _TRY.sub("", key)


def try_number(key: str) -> int:
    """Give 1 for a first taking, N for `.../try/N`."""
    found = _TRY.search(key)
    return int(found[1]) if found else 1


def next_try(key: str) -> str:
    """Name the taking after `key`'s."""
    return try_key(base_key(key), try_number(key) + 1)


def is_loop_turn(reservation_key: str) -> bool:
    """Say whether a model effect is one of the loop's turns; the others are extract and diagnose."""
    return reservation_key.startswith("turn/")


def lifecycle_of(event: EventBody) -> Lifecycle | None:
    """Give the status that `event` leads to, None when the investigation goes on."""
    match event:
        case RunSucceeded():
            return "succeeded"
        case RunFailed():
            return "failed"
        case RunCancelled():
            return "cancelled"
        case InterruptRaised():
            return "waiting"
        case _:
            return None


def _lifecycle(write: Write) -> Lifecycle | None:
    for event in write.events[:-1]:
        if lifecycle_of(event) is not None:
            raise InvariantBroken(f"{event.kind} is not the last event of its write")
    ends = lifecycle_of(write.events[-1]) if write.events else None
    if ends is not None and write.reservations:
        raise InvariantBroken(f"nothing can be reserved in the write that leads to {ends}")
    return ends


def _check_distinct(keys: Iterable[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise InvariantBroken(f"{key} occurs twice in one write")
        seen.add(key)


def reservations_by_key(reservations: Iterable[Reservation]) -> list[Reservation]:
    """Order reservations as every store takes them."""
    return sorted(reservations, key=lambda reservation: reservation.key)
