"""Ten thousand interleavings of owners that die, sleep, send late and twice: no rule of the journal is broken."""

from __future__ import annotations

import pytest

from inquest.store.memory import MemoryJournal
from tests.machine.broken import BREAKS
from tests.machine.memory import broken_by, first_broken, judged, told
from tests.machine.schedule import drawn

SCHEDULES = 10_000
PARTS = 4
ENOUGH = 300
"""So many schedules find any of the rules that can be switched off."""


@pytest.mark.parametrize("part", range(PARTS))
def test_no_interleaving_breaks_a_rule(part: int) -> None:
    broken = first_broken(range(part, SCHEDULES, PARTS))

    assert broken is None, told(broken)


def test_the_schedules_meet_every_answer_that_there_is() -> None:
    """What is not met is not judged."""
    played = [judged(drawn(seed)) for seed in range(ENOUGH)]

    met = {f"{type(call).__name__} {type(answer).__name__}" for play in played for call, answer in play.told}

    assert met >= {
        "Reserve Fresh", "Reserve Again", "Reserve Known", "Reserve Moved", "Reserve Spent", "Reserve FenceLost",
        "Reserve BudgetExhausted", "Reserve FingerprintMismatch", "Reserve Halted",
        "Receive NoneType", "Receive FenceLost", "Receive InvariantBroken",
        "Commit int", "Commit FenceLost", "Commit VersionConflict", "Commit BudgetExhausted", "Commit Halted",
        "Commit InvariantBroken", "Claim Claimed", "Claim NoneType", "Cancel bool", "Cancel WrongStatus",
        "Answer NoneType", "Answer WrongStatus", "Answer NotFound", "ExpireQuestions int",
        "Renew FenceLost", "Drain FenceLost", "Fail datetime", "LetGoUnanswered NoneType",
    }  # fmt: skip


@pytest.mark.parametrize("rule", BREAKS)
def test_the_judge_notices_a_rule_that_is_switched_off(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    BREAKS[rule](monkeypatch)

    assert any(broken_by(drawn(seed), MemoryJournal) for seed in range(ENOUGH))


def test_a_schedule_that_fails_is_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    BREAKS["a stale fence is refused"](monkeypatch)

    broken = first_broken(range(ENOUGH))

    assert broken is not None
    assert len(broken.steps) < len(drawn(broken.seed).steps) / 3
    assert broken_by(broken, MemoryJournal)
