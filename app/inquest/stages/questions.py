"""Asking a human: whether it is allowed, and what is recorded of it. Pure, but for `ask`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from inquest.domain.budget import MAX_QUESTION_CHARS
from inquest.domain.delivery import RevisionKind
from inquest.domain.event import InterruptRaised
from inquest.errors import WaitsForAnswer
from inquest.ports import Revision
from inquest.stages.fold import deadline

if TYPE_CHECKING:
    from datetime import datetime

    from inquest.domain.investigation import Investigation
    from inquest.domain.question import Question
    from inquest.ports import Acts

CUT = "…"


def questions_left(state: Investigation) -> int:
    """Count the questions that may still be asked."""
    return max(state.limits.max_questions - len(state.questions), 0)


def question_at(state: Investigation, call_key: str) -> Question | None:
    """Find what was asked at one place."""
    return next((one for one in state.questions if one.call_key == call_key), None)


def next_name(state: Investigation) -> str:
    """Name the next question: by its number, so that whoever asks again after a death asks the same one."""
    return f"{state.identity.run_id}-q{len(state.questions) + 1}"


def raised(state: Investigation, prompt: str, *, call_key: str, now: datetime) -> InterruptRaised:
    """Word the event that asks. It ends its owner's lease, and must be the last of its write."""
    return InterruptRaised(
        interrupt_id=next_name(state),
        prompt=worded(prompt),
        call_key=call_key,
        remaining_s=max((deadline(state) - now).total_seconds(), 0.0),
    )


def worded(prompt: str) -> str:
    """Write a prompt as one bounded line without control characters: a model may have written it."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in prompt).split())
    return line if len(line) <= MAX_QUESTION_CHARS else line[: MAX_QUESTION_CHARS - len(CUT)] + CUT


def revision_of(event: InterruptRaised) -> Revision:
    """Give the revision that tells the question to whoever reads the reports."""
    return Revision(kind=RevisionKind.QUESTION, note=event.prompt)


async def ask(acts: Acts, state: Investigation, prompt: str, *, call_key: str) -> NoReturn:
    """Record the question and let go. Raises WaitsForAnswer, always; and what `Acts.append` raises."""
    event = raised(state, prompt, call_key=call_key, now=acts.clock.now())
    await acts.append(event, revisions=(revision_of(event),))
    raise WaitsForAnswer(event.interrupt_id)
