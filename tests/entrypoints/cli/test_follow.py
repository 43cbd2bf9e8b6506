"""Following: every event once, in order, over outages, and for a bounded time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.domain.event import (
    GENESIS,
    Event,
    EventBody,
    GenerationAdvanced,
    InterruptRaised,
    RunSucceeded,
    StageCommitted,
)
from inquest.domain.investigation import Diagnosed
from inquest.entrypoints.cli import follow as module
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.follow import StillGoing, follow
from inquest.entrypoints.cli.tell import teller
from inquest.errors import NotFound, StoreUnavailable
from tests.builders import NOW

DIGEST = digest_of(b"")


def event(seq: int, body: EventBody) -> Event:
    return Event(
        seq=seq, batch_id="b", generation=1, attempt=1, schema_version=1, body=body, body_digest=DIGEST,
        prev_digest=GENESIS, committed_at=NOW,
    )  # fmt: skip


def moved(seq: int) -> Event:
    return event(seq, GenerationAdvanced(owner_id="w", generation=seq, attempt=1, why="released"))


def ended(seq: int) -> Event:
    return event(seq, RunSucceeded(stop_reason="concluded", projection_digest=DIGEST, signature=None, spend=Spend()))


@dataclass
class Scripted:
    """Something that is followed: each look takes the next row and the events that there are by then."""

    looks: Sequence[tuple[str, int] | Exception]
    events_of: Sequence[Event]
    verdict: str = "cause_found"
    place: int = field(default=-1)

    async def row(self) -> Mapping[str, Any]:
        self.place = min(self.place + 1, len(self.looks) - 1)
        look = self.looks[self.place]
        if isinstance(look, Exception):
            raise look
        return {
            "id": "i", "status": look[0], "verdict": self.verdict, "not_before": None, "defer_reason": "too many",
        }  # fmt: skip

    async def events(self, after: int) -> tuple[Event, ...]:
        look = self.looks[self.place]
        assert not isinstance(look, Exception)
        return tuple(self.events_of[after : look[1]])


@dataclass
class Heard:
    seqs: list[int] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def event(self, event: Event) -> None:
        self.seqs.append(event.seq)

    def note(self, what: str, text: str) -> None:
        self.notes.append((what, text))

    def asks(self, what: str, text: str) -> None:
        self.notes.append((what, text))


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0)


async def test_every_event_is_told_once_and_the_last_too() -> None:
    heard = Heard()
    events = [moved(1), moved(2), moved(3), ended(4)]
    watched = Scripted([("running", 1), ("running", 1), ("running", 3), ("succeeded", 4)], events)

    found = await follow(watched, heard)

    assert heard.seqs == [1, 2, 3, 4]
    assert (found.id, found.exit) == ("i", Exit.ANSWERED)


async def test_an_end_that_is_seen_before_its_last_events_is_looked_at_again() -> None:
    heard = Heard()
    watched = Scripted([("succeeded", 2), ("succeeded", 4)], [moved(1), moved(2), moved(3), ended(4)])

    await follow(watched, heard)

    assert heard.seqs == [1, 2, 3, 4]


async def test_what_it_waits_for_is_said_once_each_time_it_changes() -> None:
    heard = Heard()
    looks = [
        ("deferred", 0),
        ("deferred", 0),
        ("queued", 0),
        ("queued", 0),
        ("running", 1),
        ("waiting", 1),
        ("succeeded", 1),
    ]

    await follow(Scripted(looks, [moved(1)]), heard)

    assert heard.notes == [
        ("deferred", "until None: too many"),
        ("queued", "for a worker"),
        ("waiting", "for an answer"),
    ]


async def test_an_outage_is_said_once_and_waited_for() -> None:
    heard = Heard()
    away = StoreUnavailable("the database does not answer")
    looks: list[tuple[str, int] | Exception] = [("running", 1), away, away, ("running", 1), away, ("succeeded", 1)]

    await follow(Scripted(looks, [moved(1)]), heard)

    assert heard.notes == [("waiting", "the database does not answer")] * 2
    assert heard.seqs == [1]


async def test_one_that_is_deleted_meanwhile_is_not_found() -> None:
    with pytest.raises(NotFound):
        await follow(Scripted([("running", 0), NotFound("investigation i")], []), Heard())


async def test_nobody_waits_for_ever() -> None:
    with pytest.raises(StillGoing, match=r"did not end in 0\.05 s; it goes on"):
        await follow(Scripted([("running", 0)], []), Heard(), patience_s=0.05)


@pytest.mark.parametrize(("degraded", "code"), [("", Exit.ANSWERED), ("the model failed", Exit.DEGRADED)])
async def test_a_degraded_diagnosis_is_an_exit_code_of_its_own(degraded: str, code: Exit) -> None:
    diagnosis = Diagnosis(verdict=Verdict.CAUSE_FOUND, root_cause="-", author="analyst", degraded=degraded)
    events = [event(1, StageCommitted(update=Diagnosed(diagnosis=diagnosis))), ended(2)]

    found = await follow(Scripted([("running", 1), ("succeeded", 2)], events), Heard())

    assert (found.exit, found.shown["degraded"]) == (code, bool(degraded))


async def test_a_question_is_said_even_to_a_reader_who_does_not_follow(capsys: pytest.CaptureFixture[str]) -> None:
    asked = InterruptRaised(
        interrupt_id="i-q1", prompt="Who \x1b[2J deployed?", call_key="turn/1/call/1", remaining_s=1.0
    )
    watched = Scripted([("waiting", 1), ("waiting", 1), ("succeeded", 2)], [event(1, asked), ended(2)])

    await follow(watched, teller(follow=False, as_json=False))

    printed = capsys.readouterr()
    assert printed.out == ""
    first, second = printed.err.splitlines()
    assert first.split()[1:3] == ["question", "Who"]
    assert second.split()[1:] == ["waiting", "for", "an", "answer"]
    assert "\x1b" not in printed.err
