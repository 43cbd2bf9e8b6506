"""What the evidence shows, worked out by rule before anything is concluded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.metric_names import metric_names
from inquest.analysis.novelty import Novel, novel_templates
from inquest.analysis.onset import SUSTAINED_POINTS
from inquest.analysis.siblings import RATE_WINDOW_MS, Role, limited_by, siblings
from inquest.analysis.suspects import LIKELY, Suspect, suspects
from inquest.domain.value import epoch_ms
from inquest.investigators.analyst.exhibit import Course, Exhibit, courses, exhibits, strongest
from inquest.investigators.analyst.question import (
    alert_expression,
    asks_for_signal,
    service_matchers,
    written_expression,
)
from inquest.investigators.analyst.tools import RANGE_TOOL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inquest.domain.investigation import ServiceGuess
    from inquest.domain.signals import Point
    from inquest.domain.window import IncidentWindow
    from inquest.ports import LoopView

FULL = 0.95
"""A resource counts as used up from this share of its limit on (engineering judgement)."""
LAG_STEPS = 2
"""How many samples later than the symptom a cause may be seen, since both are sampled."""


class Sign(NamedTuple):
    """A sibling metric with what it tells and its course."""

    metric: str
    role: Role
    course: Course
    exhibit: Exhibit


class Saturation(NamedTuple):
    """A resource whose use reached its limit in the incident, first at `at_ms`, and had not before it."""

    used: Sign
    limit: Sign
    at_ms: int


class NovelLines(NamedTuple):
    """A new log template and where its first line is."""

    exhibit: Exhibit
    novel: Novel


class SuspectChange(NamedTuple):
    """A suspect and where its record is."""

    exhibit: Exhibit
    pointer: str
    suspect: Suspect


@dataclass(frozen=True)
class Appraisal:
    """The appraisal of all evidence. None and empty mean "not seen"; what could not be looked at is in `gaps`."""

    window: IncidentWindow
    service: ServiceGuess
    signal: Course | None
    signs: tuple[Sign, ...]
    saturations: tuple[Saturation, ...]
    novel: tuple[NovelLines, ...]
    changes: tuple[SuspectChange, ...]
    changes_answered: tuple[Exhibit, ...]
    logs_answered: tuple[Exhibit, ...]
    gaps: tuple[str, ...]
    is_firing: bool

    @property
    def onset_ms(self) -> int | None:
        """Give when the trouble shows first: in the alert's own signal."""
        return self.signal.onset.at_ms if self.signal and self.signal.onset else None

    @property
    def own_change(self) -> SuspectChange | None:
        """Give the likeliest change of the service itself, None when none is likely."""
        return next((one for one in self.changes if one.suspect.is_own and one.suspect.score >= LIKELY), None)

    def behind(self, found: SuspectChange) -> SuspectChange | None:
        """Give the merge request that `found` brought: of the same revision, merged before it began."""
        change = found.suspect.change
        return next(
            (
                one
                for one in self.changes
                if one.suspect.change.change == "merge_request"
                and one.suspect.change.revision == change.revision != ""
                and one.suspect.change.time <= change.time
            ),
            None,
        )

    def moved(self, *roles: Role) -> tuple[Sign, ...]:
        """Give the signs of `roles` that left their baseline no later than the symptom, furthest first."""
        onset = self.onset_ms
        if onset is None or self.signal is None:
            return ()
        latest = onset + LAG_STEPS * max(self.signal.step_ms, 1)
        found = [s for s in self.signs if s.role in roles and s.course.onset and s.course.onset.at_ms <= latest]
        return tuple(sorted(found, key=lambda sign: (-sign.course.away, sign.metric)))


def appraise(view: LoopView) -> Appraisal | None:
    """Work out what the evidence of `view` shows; None before the facts are known."""
    facts, integrations = view.investigation.facts, view.investigation.integrations
    if facts is None or integrations is None:
        return None
    shown = tuple(exhibits(view))
    signs = _signs(view, shown, facts.window)
    signal = _signal(view, shown, facts.window) or (None if alert_expression(view) else _symptom(signs))
    onset = signal.onset.at_ms if signal and signal.onset else None
    return Appraisal(
        window=facts.window,
        service=integrations.service,
        signal=signal,
        signs=signs,
        saturations=_saturations(signs),
        novel=_novel(shown, facts.window),
        changes=_changes(shown, integrations.service, onset, signal.step_ms if signal else 0),
        changes_answered=tuple(one for one in shown if one.content.kind == "changes"),
        logs_answered=tuple(one for one in shown if one.content.kind == "logs"),
        gaps=_gaps(view),
        is_firing=bool(view.investigation.episode.firing),
    )


def _signal(view: LoopView, shown: Sequence[Exhibit], window: IncidentWindow) -> Course | None:
    """Give the course of the alert's own signal: the closest look that shows an onset, else the closest one."""
    expression = alert_expression(view)
    subject = f"the alert's signal from {', '.join(sorted(metric_names(expression)))}"
    answers = [
        one for one in shown if asks_for_signal(view, one.asked) and one.asked.query.time_range != window.baseline
    ]
    found = [course for one in answers if (course := strongest(list(courses(one, window, subject)))) is not None]
    return min(found, key=lambda course: (course.onset is None, course.step_ms), default=None)


def _symptom(signs: Sequence[Sign]) -> Course | None:
    """Give what stands in for a signal that no connected source holds, as that of a Datadog monitor.

    It is the errors of the service, else its latency, that went furthest from their baseline; None where they
    stayed at it.
    """
    for role in (Role.ERRORS, Role.LATENCY):
        found = strongest([sign.course for sign in signs if sign.role is role and sign.course.onset is not None])
        if found is not None:
            return found
    return None


def _signs(view: LoopView, shown: Sequence[Exhibit], window: IncidentWindow) -> tuple[Sign, ...]:
    series = [labels for one in shown if one.content.kind == "series" for labels in one.content.series]
    asked = {sibling.expression: sibling for sibling in siblings(series, service_matchers(view))}
    service = view.investigation.facts.service if view.investigation.facts else ""
    found: list[Sign] = []
    for one in shown:
        sibling = asked.get(written_expression(view, one.asked))
        if sibling is None or one.asked.query.tool != RANGE_TOOL:
            continue
        subject = f"{sibling.metric} of {service}" if service else sibling.metric
        course = strongest(list(courses(one, window, subject)))
        if course is not None and not ("rate(" in sibling.expression and _is_climbing(course, one)):
            found.append(Sign(sibling.metric, sibling.role, course, one))
    return tuple(found)


def _is_climbing(course: Course, exhibit: Exhibit) -> bool:
    """Say whether the baseline of a rate is no baseline: the series began in what was asked, not long before it."""
    began = next((at for at, value in (*course.baseline, *course.points) if value is not None), None)
    if began is None or not course.baseline:
        return False
    asked_from = epoch_ms(exhibit.asked.query.time_range.start)
    return began >= asked_from + course.step_ms and course.baseline[-1][0] < began + RATE_WINDOW_MS


def _saturations(signs: Sequence[Sign]) -> tuple[Saturation, ...]:
    used = {sign.metric: sign for sign in signs if sign.role is Role.SATURATION}
    found = []
    for limit in (sign for sign in signs if sign.role is Role.LIMIT):
        metric = limited_by(limit.metric, used)
        saturated = None if metric is None else _saturated(used[metric], limit)
        if saturated is not None:
            found.append(saturated)
    return tuple(sorted(found, key=lambda one: one.at_ms))


def _saturated(used: Sign, limit: Sign) -> Saturation | None:
    """Say whether the use reached the limit for SUSTAINED_POINTS samples in a row, and had not before."""
    at = _first_full(used.course.points, limit.course.points)
    if at is None or _first_full(used.course.baseline, limit.course.baseline) is not None:
        return None
    return Saturation(used, limit, at)


def _first_full(used: Sequence[Point], limit: Sequence[Point]) -> int | None:
    """Give the time of the first of SUSTAINED_POINTS samples in a row at FULL of the limit or more."""
    bound = {at: value for at, value in limit if value}
    row: list[int] = []
    for at, value in used:
        full = value is not None and at in bound and value >= FULL * bound[at]
        row = [*row, at] if full else []
        if len(row) == SUSTAINED_POINTS:
            return row[0]
    return None


def _novel(shown: Sequence[Exhibit], window: IncidentWindow) -> tuple[NovelLines, ...]:
    """Compare each answer over the incident with the same query over the baseline; without one, with nothing."""
    logs = [one for one in shown if one.content.kind == "logs"]
    found: list[NovelLines] = []
    for one in logs:
        if one.asked.query.time_range == window.baseline or one.content.kind != "logs":
            continue
        same = [
            other.content
            for other in logs
            if other.asked.query.time_range == window.baseline and _same_question(one, other)
        ]
        baseline = [line for content in same if content.kind == "logs" for line in content.lines]
        found.extend(NovelLines(one, novel) for novel in novel_templates(one.content.lines, baseline))
    return tuple(found)


def _same_question(one: Exhibit, other: Exhibit) -> bool:
    return one.asked.query.arguments.get("expression") == other.asked.query.arguments.get("expression")


def _changes(
    shown: Iterable[Exhibit], service: ServiceGuess, onset_ms: int | None, step_ms: int
) -> tuple[SuspectChange, ...]:
    if onset_ms is None:
        return ()
    found: list[SuspectChange] = []
    for one in shown:
        if one.content.kind != "changes":
            continue
        places = {change: f"/changes/{number}" for number, change in enumerate(one.content.changes)}
        ranked = suspects(
            one.content.changes,
            onset_ms=onset_ms,
            service=service.service_id,
            depends_on=service.depends_on,
            slack_ms=LAG_STEPS * step_ms,
        )
        found.extend(SuspectChange(one, places[suspect.change], suspect) for suspect in ranked)
    best = sorted(found, key=lambda one: (-one.suspect.score, one.suspect.before_ms))
    return tuple({one.suspect.change.change_id: one for one in reversed(best)}.values())[::-1]


def _gaps(view: LoopView) -> tuple[str, ...]:
    """Name what could not be looked at: signals nobody is connected for, and queries that failed or were cut."""
    integrations = view.investigation.integrations
    connected = {signal for source in integrations.sources for signal in source.signals} if integrations else set()
    wanted = {"metrics": "no source of metrics", "logs": "no source of logs", "changes": "no source of changes"}
    gaps = [f"{words} is connected" for signal, words in wanted.items() if signal not in connected]
    failed = [asked for asked in view.asked if asked.failure is not None]
    gaps += [f"{one.query.tool} ({one.signal}) failed: {one.failure.message}" for one in failed if one.failure]
    return tuple(dict.fromkeys(gaps))
