"""The fold of the journal into the aggregate: what each event makes of an `Investigation`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from inquest.domain.alert import AlertStatus
from inquest.domain.episode import Episode, Member
from inquest.domain.event import (
    EpisodeChanged,
    EventBody,
    InterruptAnswered,
    InterruptExpired,
    InterruptRaised,
    PlanCommitted,
    RunStarted,
    StageCommitted,
)
from inquest.domain.investigation import Investigation, Planned, advance
from inquest.domain.question import Question
from inquest.domain.window import IncidentWindow, Window
from inquest.errors import InvariantBroken


def absorb_event(state: Investigation | None, body: EventBody) -> Investigation | None:
    """Give the state after `body`; None until run_started.

    Raises InvariantBroken when a section would be set twice, or an event comes before run_started.
    """
    if isinstance(body, RunStarted):
        return _started(body)
    if state is None:
        _check_before_start(body)
        return None
    return _absorbed(state, body)


def _absorbed(state: Investigation, body: EventBody) -> Investigation:
    match body:
        case PlanCommitted(plan=plan):
            return advance(state, Planned(plan=plan))
        case StageCommitted(update=update):
            return advance(state, update)
        case EpisodeChanged():
            return _changed(state, body)
        case InterruptRaised(interrupt_id=name, prompt=prompt, call_key=key):
            asked = Question(interrupt_id=name, prompt=prompt, call_key=key)
            return state.but(questions=(*state.questions, asked))
        case InterruptAnswered() | InterruptExpired():
            closed = tuple(_closed(question, body) for question in state.questions)
            return state.but(deadline_at=body.extended_until, questions=closed)
        case _:
            return state


def fold(bodies: Iterable[EventBody]) -> Investigation | None:
    """Fold a whole journal; None when nothing was started."""
    state: Investigation | None = None
    for body in bodies:
        state = absorb_event(state, body)
    return state


def deadline(state: Investigation) -> datetime:
    """Give the moment after which nothing is reserved: the plan's, or a later one that an answer extended."""
    return state.deadline_at if state.plan is None else max(state.deadline_at, state.plan.budget.deadline_at)


def _closed(question: Question, body: InterruptAnswered | InterruptExpired) -> Question:
    if question.interrupt_id != body.interrupt_id:
        return question
    if isinstance(body, InterruptExpired):
        return question.but(expired=True)
    return question.but(answer=body.answer, actor=body.actor)


def _started(body: RunStarted) -> Investigation:
    return Investigation(
        identity=body.identity,
        episode=body.episode,
        origin=body.origin,
        models=body.models,
        prompts=body.prompts,
        limits=body.limits,
        started_at=body.started_at,
        deadline_at=body.deadline_at,
    )


def _check_before_start(body: EventBody) -> None:
    if body.kind not in {"generation_advanced", "run_cancelled"}:
        msg = f"{body.kind} comes before run_started"
        raise InvariantBroken(msg)


def _changed(state: Investigation, body: EpisodeChanged) -> Investigation:
    episode = _with_members(state.episode, body)
    if state.facts is None:
        return state.but(episode=episode)
    window = _moved(state.facts.window, body.window_end)
    return state.but(episode=episode, facts=state.facts.but(window=window))


def _with_members(episode: Episode, body: EpisodeChanged) -> Episode:
    stands = {
        **dict.fromkeys(body.resolved, AlertStatus.RESOLVED),
        **dict.fromkeys(body.fired_again, AlertStatus.FIRING),
    }
    kept = [_as(member, stands.get(member.alert_id, member.alert.status)) for member in episode.members]
    known = {member.alert_id for member in kept}
    return episode.but(
        members=(*kept, *(member for member in body.joined if member.alert_id not in known)),
        version=max(episode.version, body.episode_version),
        unlisted_members=episode.unlisted_members + body.unlisted_members,
    )


def _as(member: Member, status: AlertStatus) -> Member:
    ends_at = None if status is AlertStatus.FIRING else member.alert.ends_at
    return member.but(alert=member.alert.but(status=status, ends_at=ends_at))


def _moved(window: IncidentWindow, end: datetime) -> IncidentWindow:
    """Move the end forward, never back. Of a trouble cut to its first day only the last hour moves."""
    if window.last_hour is not None:
        last = window.last_hour
        return window.but(last_hour=Window(start=last.start, end=max(last.end, end)))
    return window.but(incident=Window(start=window.incident.start, end=max(window.incident.end, end)))
