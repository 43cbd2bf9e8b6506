"""What the evidence shows, worked out by rule before anything is concluded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.metric_names import metric_names
from inquest.analysis.novelty import Novel, novel_templates
from inquest.analysis.siblings import Role
from inquest.analysis.suspects import LIKELY, RUNS, SETTLED_MS, belongs_to
from inquest.domain.value import epoch_ms
from inquest.investigators.analyst.changes import SuspectChange, changes_that_ran, suspect_changes
from inquest.investigators.analyst.dependencies import Dependency, look_at_dependencies
from inquest.investigators.analyst.exhibit import Course, Exhibit, courses, exhibits, strongest
from inquest.investigators.analyst.question import alert_expression, asks_for_signal, service_matchers
from inquest.investigators.analyst.signs import Saturation, Sign, begun_lately, saturations, signs_of
from inquest.investigators.analyst.silence import silence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.analysis.suspects import Suspect
    from inquest.domain.investigation import ServiceGuess
    from inquest.domain.signals import ChangeRecord
    from inquest.domain.window import IncidentWindow
    from inquest.ports import LoopView

LAG_STEPS = 2
"""How many samples later than the symptom a cause may be seen, since both are sampled."""


class NovelLines(NamedTuple):
    """A new log template and where its first line is."""

    exhibit: Exhibit
    novel: Novel


@dataclass(frozen=True)
class Appraisal:
    """The appraisal of all evidence. None and empty mean "not seen"; what could not be looked at is in `gaps`."""

    window: IncidentWindow
    service: ServiceGuess
    signal: Course | None
    measured: frozenset[str]
    """The metrics that the alert is about: what they show is the symptom, not what led to it."""
    signs: tuple[Sign, ...]
    begun_lately: tuple[Sign, ...]
    """Rates that began in what was looked at: there is no telling what is normal of them."""
    saturations: tuple[Saturation, ...]
    dependencies: tuple[Dependency, ...]
    novel: tuple[NovelLines, ...]
    changes: tuple[SuspectChange, ...]
    ran: tuple[ChangeRecord, ...]
    """All that ran in what was asked, suspect or not."""
    changes_answered: tuple[Exhibit, ...]
    gaps: tuple[str, ...]
    is_firing: bool

    @property
    def onset_ms(self) -> int | None:
        """Give when the trouble shows first: in the alert's own signal."""
        return self.signal.onset.at_ms if self.signal and self.signal.onset else None

    @property
    def began_ms(self) -> int:
        """Give since when changes were asked for."""
        return epoch_ms(self.window.incident.start)

    @property
    def own_changes(self) -> tuple[SuspectChange, ...]:
        """Give the likely changes of the service itself, likeliest first."""
        return tuple(one for one in self.changes if one.suspect.is_own and _may_act(one.suspect))

    def ran_of(self, service: str) -> tuple[ChangeRecord, ...]:
        """Give what ran of `service`, in order of time."""
        return tuple(change for change in self.ran if belongs_to(change, service))

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
        latest = self.latest_ms
        if latest is None:
            return ()
        found = [s for s in self.signs if s.role in roles and s.since_ms is not None and s.since_ms <= latest]
        return tuple(sorted(found, key=lambda sign: (-sign.course.away, sign.metric)))

    @property
    def slack_ms(self) -> int:
        """Give how far two moments may be apart because both are seen in samples."""
        return LAG_STEPS * max(self.signal.step_ms, 1) if self.signal else 0

    @property
    def latest_ms(self) -> int | None:
        """Give when the symptom was there at the latest: what moved later did not bring it."""
        return None if self.onset_ms is None else self.onset_ms + self.slack_ms


def _may_act(suspect: Suspect) -> bool:
    return suspect.score >= LIKELY and suspect.change.change in RUNS


def appraise(view: LoopView) -> Appraisal | None:
    """Work out what the evidence of `view` shows; None before the facts are known."""
    facts, integrations = view.investigation.facts, view.investigation.integrations
    if facts is None or integrations is None:
        return None
    shown = tuple(exhibits(view))
    signs = signs_of(view, shown, facts.window, service_matchers(view), facts.service)
    signal = _signal(view, shown, facts.window) or (None if alert_expression(view) else _symptom(signs))
    onset = signal.onset.at_ms if signal and signal.onset else None
    slack_ms = LAG_STEPS * max(signal.step_ms, 1) if signal else 0
    return Appraisal(
        window=facts.window,
        service=integrations.service,
        signal=signal,
        measured=metric_names(alert_expression(view)),
        signs=signs,
        begun_lately=begun_lately(view, shown, facts.window, service_matchers(view), facts.service),
        saturations=tuple(one for one in saturations(signs) if onset is not None and one.at_ms <= onset + slack_ms),
        dependencies=look_at_dependencies(view, shown, facts.window),
        novel=_novel(shown, facts.window, onset),
        changes=suspect_changes(view, shown, onset, slack_ms),
        ran=changes_that_ran(view, shown),
        changes_answered=tuple(one for one in shown if one.content.kind == "changes"),
        gaps=(*_gaps(view), *silence(view, shown, onset)),
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


def _novel(shown: Sequence[Exhibit], window: IncidentWindow, onset_ms: int | None) -> tuple[NovelLines, ...]:
    """Compare each answer over the incident with the same query over the baseline; without one, with nothing.

    What was new long before the trouble is not of it.
    """
    earliest = 0 if onset_ms is None else onset_ms - SETTLED_MS
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
        novel = novel_templates(one.content.lines, baseline)
        found.extend(NovelLines(one, template) for template in novel if template.first_ms >= earliest)
    return tuple(found)


def _same_question(one: Exhibit, other: Exhibit) -> bool:
    return one.asked.query.arguments.get("expression") == other.asked.query.arguments.get("expression")


def _gaps(view: LoopView) -> tuple[str, ...]:
    """Name what could not be looked at: signals nobody is connected for, and queries that failed or were cut."""
    integrations = view.investigation.integrations
    connected = {signal for source in integrations.sources for signal in source.signals} if integrations else set()
    wanted = {"metrics": "no source of metrics", "logs": "no source of logs", "changes": "no source of changes"}
    gaps = [f"{words} is connected" for signal, words in wanted.items() if signal not in connected]
    failed = [asked for asked in view.asked if asked.failure is not None]
    gaps += [f"{one.query.tool} ({one.signal}) failed: {one.failure.message}" for one in failed if one.failure]
    return tuple(dict.fromkeys(gaps))
