"""The metrics of a service as signs: what each tells, its course, and which resource was used up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.onset import SUSTAINED_POINTS
from inquest.analysis.siblings import Role, limited_by, rate_window_ms, siblings, without_range
from inquest.domain.value import epoch_ms
from inquest.investigators.analyst.exhibit import Course, Exhibit, courses, strongest
from inquest.investigators.analyst.question import scrape_ms, written_expression
from inquest.investigators.analyst.tools import RANGE_TOOL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inquest.analysis.siblings import Sibling
    from inquest.domain.signals import Point
    from inquest.domain.value import Labels
    from inquest.domain.window import IncidentWindow
    from inquest.ports import LoopView

FULL = 0.95
"""A resource counts as used up from this share of its limit on (engineering judgement)."""


class Sign(NamedTuple):
    """A metric of a service with what it tells and its course."""

    metric: str
    role: Role
    course: Course
    exhibit: Exhibit

    @property
    def onset_ms(self) -> int | None:
        """Give when it left its baseline, None when it did not."""
        return self.course.onset.at_ms if self.course.onset else None

    @property
    def since_ms(self) -> int | None:
        """Give since when it was away until its furthest, None when it did not leave: an earlier bump is of no account."""
        return self.course.onset.extreme_since_ms if self.course.onset else None

    @property
    def is_up(self) -> bool:
        """Say whether it left its baseline upwards."""
        return self.course.onset is not None and self.course.onset.direction == "up"

    @property
    def factor(self) -> float:
        """Give how many times its usual value it became, infinity where the usual one is 0; 1 where it did not move."""
        onset = self.course.onset
        if onset is None:
            return 1.0
        return onset.extreme / onset.before if onset.before else float("inf")


class Saturation(NamedTuple):
    """A resource whose use reached its limit in the incident, first at `at_ms`, and had not before it.

    `limit_value` is the limit then.
    """

    used: Sign
    limit: Sign
    at_ms: int
    limit_value: float


def metrics_of(view: LoopView, shown: Iterable[Exhibit], matchers: Labels) -> tuple[Sibling, ...]:
    """List what to ask about the service that `matchers` select, given the series that were looked up."""
    if not matchers:
        return ()
    series = [
        labels
        for one in shown
        if one.content.kind == "series"
        for labels in one.content.series
        if all(labels.get(name) == value for name, value in matchers.items())
    ]
    return siblings(series, matchers, scrape_ms=scrape_ms(view))


def signs_of(
    view: LoopView, shown: Sequence[Exhibit], window: IncidentWindow, matchers: Labels, service: str
) -> tuple[Sign, ...]:
    """Give the signs of `service`, which `matchers` select, as far as its metrics were asked and have a course.

    A rate that only begins in what was asked is left out: it climbs from nothing, whatever it counts.
    """
    asked = _asked(view, shown, window, matchers, service)
    return tuple(sign for sign, is_climbing in asked if not is_climbing)


def begun_lately(
    view: LoopView, shown: Sequence[Exhibit], window: IncidentWindow, matchers: Labels, service: str
) -> tuple[Sign, ...]:
    """Give what `signs_of` leaves out."""
    return tuple(sign for sign, is_climbing in _asked(view, shown, window, matchers, service) if is_climbing)


def _asked(
    view: LoopView, shown: Sequence[Exhibit], window: IncidentWindow, matchers: Labels, service: str
) -> Iterator[tuple[Sign, bool]]:
    asked = {without_range(sibling.expression): sibling for sibling in metrics_of(view, shown, matchers)}
    for one in shown:
        written = written_expression(view, one.asked)
        sibling = asked.get(without_range(written))
        if sibling is None or one.asked.query.tool != RANGE_TOOL:
            continue
        subject = f"{sibling.metric} of {service}" if service else sibling.metric
        course = strongest(list(courses(one, window, subject)))
        if course is not None:
            sign = Sign(sibling.metric, sibling.role, course, one)
            yield sign, _is_climbing(course, one, rate_window_ms(written))


def _is_climbing(course: Course, exhibit: Exhibit, rate_ms: int) -> bool:
    """Say whether the baseline of a rate is no baseline: the series began in what was asked, not long before it."""
    began = next((at for at, value in (*course.baseline, *course.points) if value is not None), None)
    if began is None or not course.baseline:
        return False
    asked_from = epoch_ms(exhibit.asked.query.time_range.start)
    return began >= asked_from + course.step_ms and course.baseline[-1][0] < began + rate_ms


def saturations(signs: Sequence[Sign]) -> tuple[Saturation, ...]:
    """Give the resources that were used up, first one first.

    The most that is used by one pod and the least that another may use are of different pods where limits are unequal:
    there the use is held to the largest limit, which no pod's own one is above.
    """
    largest = {sign.metric: sign for sign in signs if sign.role is Role.LARGEST_LIMIT}
    used = {sign.metric: sign for sign in signs if sign.role is Role.SATURATION}
    pairs = [
        (used[metric], largest.get(limit.metric, limit))
        for limit in signs
        if limit.role is Role.LIMIT
        for metric in limited_by(limit.metric, used)
    ]
    found = [saturated for pair in pairs if (saturated := _saturated(*pair)) is not None]
    return tuple(sorted(found, key=lambda one: one.at_ms))


def _saturated(used: Sign, limit: Sign) -> Saturation | None:
    """Say whether the use reached the limit for SUSTAINED_POINTS samples in a row, and had not before."""
    at = _first_full(used.course.points, limit.course.points)
    if at is None or _first_full(used.course.baseline, limit.course.baseline) is not None:
        return None
    value = next(value for time, value in limit.course.points if time == at and value is not None)
    return Saturation(used, limit, at, value)


def _first_full(used: Sequence[Point], limit: Sequence[Point]) -> int | None:
    """Give the time of the first of SUSTAINED_POINTS samples in a row at FULL of the limit or more."""
    bound = {at: value for at, value in limit if value is not None and value > 0}
    row: list[int] = []
    for at, value in used:
        full = value is not None and at in bound and value >= FULL * bound[at]
        row = [*row, at] if full else []
        if len(row) == SUSTAINED_POINTS:
            return row[0]
    return None
