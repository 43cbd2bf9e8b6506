"""What fires at a Prometheus now, or fired then: a few reads, each bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from inquest.bootstrap.trial import shapes
from inquest.bootstrap.trial.choosing import AlertRule, Group, Near, Standing, since_firing
from inquest.bootstrap.trial.door import Door, SourceUnfit
from inquest.connectors.shared.reading import Drift, Unreadable
from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.selector import selector
from inquest.domain.value import Json, Labels, from_epoch_ms, rfc3339
from inquest.domain.window import LONGEST
from inquest.wire.transport import Pairs, Segments

T = TypeVar("T")

API: Segments = ("api", "v1")
LOKI_LABELS: Segments = ("loki", "api", "v1", "labels")
LOKI_RANGE = timedelta(minutes=5)
NEAR_HOURS = 6
"""How far before and behind the moment that was asked for it is looked what fired, when nothing fired then."""
NEAR_STEP_S = 60
POINTS = 1_000
"""Of each series, when the end of an alert is looked for: so exact is its end, to a thousandth of the time since."""
FIRING = {"alertstate": "firing"}


NOW_QUESTIONS = (
    "GET /api/v1/alerts",
    "GET /api/v1/query: ALERTS{} and ALERTS_FOR_STATE{}, where that shows none",
    "GET /api/v1/rules?type=alert",
)
THEN_QUESTIONS = (
    "GET /api/v1/query: ALERTS{} and ALERTS_FOR_STATE{} at that moment",
    "GET /api/v1/rules?type=alert",
    "GET /api/v1/query_range: ALERTS of the alert since then, to see when it ended; of all around then, where none fired",
)
LOKI_QUESTIONS = ("GET /loki/api/v1/labels",)
"""What is asked to find the alert, in order: what `--dry-run` says of it."""


async def fires_now(door: Door, now: datetime) -> Standing:
    """Read what fires now: the API of alerts, and the ALERTS series where that shows none or nothing.

    Raises SourceSilent, SourceUnfit.
    """
    notes: list[str] = []
    alerts: tuple[shapes.Active, ...] = ()
    refused: SourceUnfit | None = None
    try:
        alerts = await _shaped(door, (*API, "alerts"), (), shapes.alerts)
    except SourceUnfit as error:
        refused = error
    if not alerts:  # none, or a ruler elsewhere that only writes its series here
        alerts = await _from_series(door, now, refused)
    if refused is not None:
        notes.append("its API of alerts cannot be read: what fires is from the ALERTS series")
    rules = await _rules(door, notes)
    return _standing(alerts, rules, now).but(notes=tuple(notes))


async def _from_series(door: Door, now: datetime, refused: SourceUnfit | None) -> tuple[shapes.Active, ...]:
    """Read ALERTS. Raises `refused`, what was said before, when this is refused too: it is the first thing to mend."""
    try:
        return await _alerts_at(door, now, {})
    except SourceUnfit:
        if refused is None:
            raise
        raise refused from None


async def fired_at(door: Door, at: datetime, *, now: datetime) -> Standing:
    """Read what fired at `at`, from the ALERTS series; the rules are today's. Raises SourceSilent, SourceUnfit."""
    notes: list[str] = []
    alerts = await _alerts_at(door, at, {})
    near = () if any(one.state == "firing" for one in alerts) else await _near(door, at, now)
    rules = await _rules(door, notes)
    return _standing(alerts, rules, at).but(near=near, is_past=True, notes=tuple(notes))


def _standing(alerts: Sequence[shapes.Active], rules: tuple[AlertRule, ...] | None, at: datetime) -> Standing:
    firing = tuple(since_firing(one.alert, rules or (), at) for one in alerts if one.state == "firing")
    pending = tuple(one.alert for one in alerts if one.state == "pending")
    return Standing(at=at, firing=firing, pending=pending, rules=rules)


async def _near(door: Door, at: datetime, now: datetime) -> tuple[Near, ...]:
    """Read which alerts fired in the hours around `at`, to the minute; nearest first."""
    around = timedelta(hours=NEAR_HOURS)
    times = [("start", rfc3339(at - around)), ("end", rfc3339(min(at + around, now))), ("step", str(NEAR_STEP_S))]
    asked = f"count by (alertname) (ALERTS{selector(FIRING)})"
    points = await _shaped(door, (*API, "query_range"), [("query", asked), *times], shapes.moments)
    found = [
        Near(name=dict(labels).get("alertname", ""), at=min(map(from_epoch_ms, moments), key=lambda one: abs(one - at)))
        for labels, moments in points.items()
        if moments
    ]
    return tuple(sorted(found, key=lambda one: (abs(one.at - at), one.name)))


async def answers(door: Door, now: datetime) -> None:
    """Ask a Loki for the label names of the last minutes: whether it is one, and lets us in. Raises as `fires_now`."""
    times = [("start", rfc3339(now - LOKI_RANGE)), ("end", rfc3339(now))]
    await door.data(LOKI_LABELS, times)


async def _rules(door: Door, notes: list[str]) -> tuple[AlertRule, ...] | None:
    """Read the rules, None where they are not shown: an alert can be investigated without its expression."""
    try:
        return await _shaped(door, (*API, "rules"), [("type", "alert")], shapes.rules)
    except SourceUnfit:
        notes.append("its rules cannot be read: the alert's own expression is not known")
        return None


async def _alerts_at(door: Door, at: datetime, labels: Labels) -> tuple[shapes.Active, ...]:
    """Read ALERTS at a moment, and since when from ALERTS_FOR_STATE."""
    found = await _instant(door, f"ALERTS{selector(labels)}", at)
    began = {
        shapes.identity(one): value for one, value in await _instant(door, f"ALERTS_FOR_STATE{selector(labels)}", at)
    }
    return tuple(shapes.active(one, began.get(shapes.identity(one))) for one, _ in found)


async def with_ends(door: Door, group: Group, *, at: datetime, now: datetime) -> Group:
    """Give the series of `group`, which fired at `at`, as resolved where their firing has ended since.

    An alert that still fired a week later counts as ended then: a window is cut at that length anyway.
    """
    until = min(now, at + LONGEST)
    step = timedelta(seconds=max(1, math.ceil((until - at).total_seconds() / POINTS)))
    asked = f"ALERTS{selector({**FIRING, 'alertname': group.first.name})}"
    times = [("start", rfc3339(at)), ("end", rfc3339(until)), ("step", str(int(step.total_seconds())))]
    points = await _shaped(door, (*API, "query_range"), [("query", asked), *times], shapes.moments)
    ended = [_ended(one, points.get(shapes.identity(one.labels), ()), at, until, step, now) for one in group.alerts]
    return Group(alerts=tuple(ended))


def _ended(alert: Alert, points: Sequence[int], at: datetime, until: datetime, step: timedelta, now: datetime) -> Alert:
    last = at
    for moment in map(from_epoch_ms, points):
        if moment - last > step:
            break  # it fired again later: another episode
        last = moment
    if until == now and last + step > now:
        return alert
    return alert.but(status=AlertStatus.RESOLVED, ends_at=min(last + step, until))


async def _instant(door: Door, expression: str, at: datetime) -> tuple[tuple[Labels, float], ...]:
    pairs = [("query", expression), ("time", rfc3339(at))]
    return await _shaped(door, (*API, "query"), pairs, shapes.vector)


async def _shaped(door: Door, path: Segments, pairs: Pairs, read: Callable[[Json], T]) -> T:
    data = await door.data(path, pairs)
    try:
        return read(data)
    except (Drift, Unreadable) as error:
        raise door.not_as_documented(path, error) from error
