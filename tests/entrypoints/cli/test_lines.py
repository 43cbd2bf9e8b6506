"""A line of progress for each thing that a journal records; no event's text steers a terminal."""

from __future__ import annotations

from typing import get_args

import pytest

from inquest.domain.budget import Limits, Spend
from inquest.domain.canonical import digest_of
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.domain.event import (
    GENESIS,
    BatchJoined,
    CeilingReached,
    EpisodeChanged,
    Event,
    EventBody,
    Evicted,
    GenerationAdvanced,
    InterruptAnswered,
    InterruptExpired,
    InterruptRaised,
    LoopSteered,
    Nudge,
    PlanCommitted,
    RunCancelled,
    RunFailed,
    RunStarted,
    RunSucceeded,
    SelectionChanged,
    StageCommitted,
    ToolsWithdrawn,
    TurnCommitted,
)
from inquest.domain.investigation import (
    Delivered,
    Diagnosed,
    EvidenceGathered,
    FactsExtracted,
    Gathered,
    IntegrationsResolved,
    ReportSection,
)
from inquest.domain.planned import ByReceipt
from inquest.entrypoints.cli.line import MAX_LINE_CHARS, Line
from inquest.entrypoints.cli.lines import line_of
from tests.builders import NOW, T0, alert, episode, facts, integrations, investigation

DIGEST = digest_of(b"")
HOSTILE = "\x1b]0;owned\x07\x1b[2J\r\nall is well\u202e"


def event(body: EventBody) -> Event:
    return Event(
        seq=1, batch_id="b", generation=1, attempt=1, schema_version=1, body=body, body_digest=DIGEST,
        prev_digest=GENESIS, committed_at=NOW,
    )  # fmt: skip


def started(name: str = "CheckoutErrors") -> RunStarted:
    whole = investigation()
    return RunStarted(
        identity=whole.identity, origin=whole.origin, episode=episode(alert(name), alert("Other")), models=("m-1", "m-2"),
        prompts={}, limits=Limits(), started_at=T0, deadline_at=NOW, release="r",
    )  # fmt: skip


def diagnosed(cause: str) -> StageCommitted:
    return StageCommitted(
        update=Diagnosed(diagnosis=Diagnosis(verdict=Verdict.CAUSE_FOUND, root_cause=cause, author="analyst"))
    )


PLAN = investigation().plan
assert PLAN is not None
TURN = TurnCommitted(turn=3, key="turn/3", request_digest=DIGEST, reply=DIGEST, calls=(), offered=())
LINES: list[tuple[EventBody, tuple[str, str] | None]] = [
    (started(), ("started", "CheckoutErrors (critical), 2 alerts; asked: m-1, m-2")),
    (
        StageCommitted(update=IntegrationsResolved(integrations=integrations())),
        ("sources", "prometheus, loki, gitlab; service checkout (by catalogue)"),
    ),
    (StageCommitted(update=FactsExtracted(facts=facts())), ("facts", "CheckoutErrors since 2026-03-01 10:00:00 UTC")),
    (StageCommitted(update=FactsExtracted(facts=facts(noise="a test"))), ("facts", "noise: a test")),
    (PlanCommitted(plan=PLAN), ("plan", "1 hypotheses, 0 tools first, 0 calls to begin")),
    (TURN, ("turn 3", "asks nothing")),
    (
        BatchJoined(batch="turn/3", results=(ByReceipt(key="turn/3/call/1"), ByReceipt(key="turn/3/call/2"))),
        ("evidence", "turn/3: 2 x receipt"),
    ),
    (EpisodeChanged(joined=(), resolved=("a",), window_end=NOW), ("episode", "0 joined, 1 resolved")),
    (
        StageCommitted(update=EvidenceGathered(gathered=Gathered(stop_reason="concluded", turns=4, conclusion="-"))),
        ("gathered", "concluded after 4 turns"),
    ),
    (
        StageCommitted(update=EvidenceGathered(gathered=Gathered(stop_reason="model_failed", turns=4, conclusion="-"))),
        ("gathered", "the model failed after 4 turns"),
    ),
    (diagnosed("The pool ran dry."), ("diagnosis", "cause_found: The pool ran dry.")),
    (
        StageCommitted(update=Delivered(report=ReportSection(report_digest=DIGEST))),
        ("report", "written, and on its way"),
    ),
    (
        GenerationAdvanced(owner_id="w", generation=2, attempt=1, why="lease_expired"),
        ("take-over", "the last worker went silent: another worker goes on (generation 2, attempt 1)"),
    ),
    (
        GenerationAdvanced(owner_id="w", generation=3, attempt=2, why="stage_error"),
        ("take-over", "the last attempt ended by an error: another worker goes on (generation 3, attempt 2)"),
    ),
    (
        GenerationAdvanced(owner_id="w", generation=3, attempt=2, why="released"),
        ("take-over", "the last worker let go: another worker goes on (generation 3, attempt 2)"),
    ),
    (LoopSteered(steering=Nudge(turn=1, why="stagnant", text="-")), ("steered", "nudged (stagnant)")),
    (LoopSteered(steering=ToolsWithdrawn(turn=1, why="stagnant")), ("steered", "tools withdrawn (stagnant)")),
    (
        LoopSteered(steering=CeilingReached(turn=1, ceiling="max_tokens", used=9, allowed=8)),
        ("steered", "ceiling max_tokens: 9 of 8"),
    ),
    (LoopSteered(steering=SelectionChanged(turn=1, offered=(), why="-")), None),
    (LoopSteered(steering=Evicted(turn=1, keys=())), None),
    (
        InterruptRaised(interrupt_id="i", prompt="Was it you?", call_key="k", remaining_s=1.0),
        ("question", "Was it you?"),
    ),
    (
        InterruptAnswered(interrupt_id="i", answer="no", actor="a", extended_until=NOW),
        ("answer", "it goes on with the answer"),
    ),
    (InterruptExpired(interrupt_id="i", extended_until=NOW), ("answer", "nobody answered: it goes on without")),
    (
        RunSucceeded(stop_reason="concluded", projection_digest=DIGEST, signature=None, spend=Spend()),
        ("ended", "succeeded (concluded)"),
    ),
    (RunFailed(reason="r", projection_digest=DIGEST, signature=None, spend=Spend()), ("ended", "failed: r")),
    (RunCancelled(reason="expired", actor="inquest"), ("ended", "cancelled: expired")),
]


@pytest.mark.parametrize(("body", "said"), LINES, ids=lambda one: getattr(one, "kind", ""))
def test_each_thing_that_a_journal_records_has_its_line(body: EventBody, said: tuple[str, str] | None) -> None:
    line = line_of(event(body))

    assert line == (None if said is None else (NOW, *said))


def test_no_kind_of_event_is_forgotten() -> None:
    union, _ = get_args(EventBody)

    assert {type(body) for body, _ in LINES} == set(get_args(union))


@pytest.mark.parametrize("body", [started(HOSTILE), diagnosed(HOSTILE), diagnosed("x" * 1_000)])
def test_no_text_steers_a_terminal_or_fills_it(body: EventBody) -> None:
    line = line_of(event(body))
    assert line is not None
    shown = line.shown()

    assert shown.isprintable()
    assert "\x1b" not in shown
    assert len(shown) <= MAX_LINE_CHARS + 30
    assert shown.startswith("10:30:00Z  ")


def test_what_is_cut_shows_that_it_is() -> None:
    assert Line(NOW, "x", "y" * 241).shown().endswith("y…")
    assert Line(NOW, "x", "y" * 240).shown().endswith("yy")
