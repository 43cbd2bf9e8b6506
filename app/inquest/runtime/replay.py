"""Rebuilding an investigation from its events and contents, and the projection that they come to. Pure.

Needs no store, engine or model: a worker that resumes, `inquest replay` and an exported bundle use the same
functions. What is missing is named; nothing is made up in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.claim import Citation
from inquest.domain.diagnosis import Diagnosis
from inquest.domain.event import (
    GENESIS,
    TERMINAL_KINDS,
    Event,
    EventBody,
    LoopSteered,
    PlanCommitted,
    RunFailed,
    RunSucceeded,
    TurnCommitted,
    chain_digest,
)
from inquest.domain.evidence import EvidenceItem
from inquest.domain.hypothesis import Ledger
from inquest.domain.investigation import Investigation
from inquest.domain.planned import CallPlan, Dispatch, Internal, Refuse, ReplayOf
from inquest.domain.projection import (
    CallDecision,
    Decision,
    EvidenceEntry,
    Projection,
    SteerDecision,
    TurnDecision,
)
from inquest.domain.value import Value
from inquest.errors import ReplayMismatch
from inquest.ports import Chronicle
from inquest.stages.fold import fold
from inquest.stages.gather_evidence.rebuild import fold_loop, record_of
from inquest.stages.gather_evidence.record import Record, wanted
from inquest.stages.gather_evidence.spending import spend_of_models, total
from inquest.stages.gather_evidence.state import LoopState


class Rebuilt(Value):
    """An investigation as its journal tells it.

    `loop` is None before plan_committed. `spend` counts every model effect, of all stages.
    `terminal` is the event that ended it, None while it goes on.
    """

    investigation: Investigation
    loop: LoopState | None
    spend: Spend
    terminal: EventBody | None = None


def contents_wanted(chronicle: Chronicle) -> tuple[str, ...]:
    """List the digests that `rebuild` reads."""
    return wanted(_bodies(chronicle), chronicle.effects)


def rebuild(chronicle: Chronicle, contents: Mapping[str, bytes]) -> Rebuilt:
    """Fold `chronicle`, whose `contents_wanted` are in `contents`.

    Raises ReplayMismatch naming the content or receipt that is missing or does not have its digest, or
    saying that nothing was started.
    """
    bodies = _bodies(chronicle)
    investigation = fold(bodies)
    if investigation is None:
        raise ReplayMismatch("the journal does not begin with run_started")
    for digest in contents_wanted(chronicle):
        if digest in contents and digest_of(contents[digest]) != digest:
            raise ReplayMismatch(f"content {digest} does not have this digest")
    record = record_of(chronicle, contents)
    planned = any(isinstance(body, PlanCommitted) for body in bodies)
    loop = fold_loop(bodies, record) if planned else None
    terminal = bodies[-1] if bodies[-1].kind in TERMINAL_KINDS else None
    return Rebuilt(investigation=investigation, loop=loop, spend=_spend(loop, record), terminal=terminal)


def projection(rebuilt: Rebuilt, events: Sequence[Event]) -> Projection:
    """Give what `rebuilt` came to. `canonical_digest()` of it is what the terminal event holds."""
    investigation, loop = rebuilt.investigation, rebuilt.loop
    gathered = investigation.gathered
    stop_reason = gathered.stop_reason if gathered is not None else ""
    if investigation.facts is not None and investigation.facts.noise is not None:
        stop_reason = "noise"
    return Projection(
        identity=investigation.identity,
        plan=investigation.plan,
        ledger=Ledger() if loop is None else loop.ledger,
        evidence=() if loop is None else tuple(_entry(item) for item in loop.evidence),
        citations=_citations(investigation.diagnosis),
        decisions=tuple(_decisions(event.body for event in events)),
        diagnosis=investigation.diagnosis,
        spend=rebuilt.spend,
        stop_reason=stop_reason,
    )


def replay(chronicle: Chronicle, contents: Mapping[str, bytes]) -> Projection:
    """Rebuild a journal and check it: its hash chain, and the projection against its terminal event.

    Raises ReplayMismatch naming the first broken link, the missing content, or the digests that differ.
    A journal that has not ended is rebuilt without the second check.
    """
    check_chain(chronicle.events)
    rebuilt = rebuild(chronicle, contents)
    found = projection(rebuilt, chronicle.events)
    match rebuilt.terminal:
        case RunSucceeded(projection_digest=recorded) | RunFailed(projection_digest=recorded):
            if found.canonical_digest() != recorded:
                raise ReplayMismatch(
                    f"the projection has digest {found.canonical_digest()}, the terminal event says {recorded}"
                )
        case _:
            pass
    return found


def check_chain(events: Sequence[Event]) -> None:
    """Check that `events` are gapless and chained. Raises ReplayMismatch naming the first that is not."""
    prev = GENESIS
    for number, event in enumerate(events, start=1):
        if event.seq != number:
            raise ReplayMismatch(f"event {number} is missing: {event.seq} follows {number - 1}")
        if event.prev_digest != prev:
            raise ReplayMismatch(f"event {number} does not follow the one before it")
        if event.body_digest != chain_digest(prev, event.body.canonical()):
            raise ReplayMismatch(f"event {number} does not have its digest")
        prev = event.body_digest


def _bodies(chronicle: Chronicle) -> list[EventBody]:
    return [event.body for event in chronicle.events]


def _spend(loop: LoopState | None, record: Record) -> Spend:
    """Add what the other stages asked of a model to what the loop knows."""
    before = spend_of_models(record, "extract/") if loop is None else loop.spend
    return total(before, spend_of_models(record, "diagnose/"))


def _entry(item: EvidenceItem) -> EvidenceEntry:
    seen = item.observation
    return EvidenceEntry(
        name=item.name,
        observation_id=item.observation_id,
        content_digest=seen.digest,
        effect_key=item.effect_key,
        source=seen.source,
        signal=seen.signal,
        tool=seen.tool,
        expression=seen.expression,
        time_range=seen.time_range,
        truncated=seen.truncated,
    )


def _citations(diagnosis: Diagnosis | None) -> tuple[Citation, ...]:
    """Give every citation of the diagnosis once, in the order in which they stand there."""
    if diagnosis is None:
        return ()
    found: list[Citation] = [] if diagnosis.onset is None else [diagnosis.onset.citation]
    for part in (*diagnosis.causal_chain, *diagnosis.validated_claims, *diagnosis.ruled_out):
        found.extend(part.citations)
    return tuple(dict.fromkeys(found))


def _decisions(bodies: Iterator[EventBody]) -> Iterator[Decision]:
    for body in bodies:
        match body:
            case TurnCommitted():
                yield TurnDecision(
                    turn=body.turn,
                    request_digest=body.request_digest,
                    offered=body.offered,
                    calls=tuple(_call(call.name, call.plan) for call in body.calls),
                )
            case LoopSteered(steering=steering):
                yield SteerDecision(steering=steering)
            case _:
                pass


def _call(name: str, plan: CallPlan) -> CallDecision:
    match plan:
        case Dispatch(key=key):
            return CallDecision(name=name, did="dispatch", what=key)
        case ReplayOf(key=key):
            return CallDecision(name=name, did="replay", what=key)
        case Refuse(code=code):
            return CallDecision(name=name, did="refuse", what=code)
        case Internal(tool=tool):
            return CallDecision(name=name, did="internal", what=tool)
