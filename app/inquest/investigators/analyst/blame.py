"""What began it: which change, surge or dependency comes first of what the evidence shows.

Everything that moved is put in order of time. A change of the service itself is blamed when the service then
strains; but where it was calm for long after it, or something else that explains the strain began later than
it, that is blamed instead: what comes last before the first departure is nearest to the cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.siblings import Role, limited_by
from inquest.analysis.suspects import RUNS, SETTLED_MS, belongs_to
from inquest.investigators.analyst.signs import FULL

if TYPE_CHECKING:
    from inquest.investigators.analyst.appraisal import Appraisal, SuspectChange
    from inquest.investigators.analyst.dependencies import Dependency, Trouble
    from inquest.investigators.analyst.signs import Saturation, Sign

MAX_SIGNS = 4
NEAR = 0.8
"""Of its limit: below this share a resource has room (engineering judgement)."""
MUCH_MORE = 1.5
"""Of traffic, or of a resource without a known limit: less than so many times the usual is a busy day (engineering
judgement)."""


class Troubled(NamedTuple):
    """A dependency that got worse no later than the symptom, and the change of its own behind that, if any."""

    dependency: Dependency
    trouble: Trouble
    change: SuspectChange | None


def strain(found: Appraisal) -> tuple[Sign, ...]:
    """Give what changed inside the service no later than the symptom: a resource that ran short, or a limit that fell."""
    moved = found.moved(Role.SATURATION, Role.LIMIT)
    return tuple(sign for sign in moved if _is_strain(sign, found))[:MAX_SIGNS]


def _is_strain(sign: Sign, found: Appraisal) -> bool:
    """Say whether a resource came near its limit; where none is known, whether much more of it was used."""
    onset = sign.course.onset
    if onset is None:
        return False
    if sign.role is Role.LIMIT:
        return not sign.is_up
    limits = _limits_of(sign, found)
    return sign.is_up and (onset.extreme >= NEAR * min(limits) if limits else sign.factor >= MUCH_MORE)


def _limits_of(used: Sign, found: Appraisal) -> list[float]:
    alike = [sign.metric for sign in found.signs if sign.role is Role.SATURATION]
    return [
        value
        for limit in found.signs
        if limit.role is Role.LIMIT and used.metric in limited_by(limit.metric, alike)
        for _, value in limit.course.points
        if value
    ]


def troubled(found: Appraisal) -> Troubled | None:
    """Give the dependency that got worse first, one with a change behind it before any other."""
    latest = found.latest_ms
    if latest is None:
        return None
    seen = [(one, trouble) for one in found.dependencies if (trouble := one.trouble(latest)) is not None]
    ranked = [Troubled(one, trouble, _change_behind(found, one, trouble)) for one, trouble in seen]
    return min(ranked, key=lambda one: (one.change is None, one.trouble.at_ms), default=None)


def _change_behind(found: Appraisal, dependency: Dependency, trouble: Trouble) -> SuspectChange | None:
    """Give the last change of the dependency before its trouble, and not long before it."""
    before = [
        one
        for one in found.changes
        if belongs_to(one.suspect.change, dependency.name)
        and one.suspect.change.change in RUNS
        and -found.slack_ms <= trouble.at_ms - one.suspect.change.time <= SETTLED_MS
    ]
    return max(before, key=lambda one: one.suspect.change.time, default=None)


def surge(found: Appraisal) -> Sign | None:
    """Give the rise of traffic that explains the strain, None when there is none.

    With the same time a request, what is in use rises as the requests do (Little's law): traffic explains a
    resource that was used up when the usual use, so many times as much, fills it.
    """
    risen = [sign for sign in found.moved(Role.TRAFFIC) if sign.is_up and sign.factor >= MUCH_MORE]
    if not risen:
        return None
    first = risen[0]
    if found.saturations:
        return first if _fills(first, found.saturations[0]) else None
    return first if any(sign.role is Role.SATURATION for sign in strain(found)) else None


def _fills(traffic: Sign, saturation: Saturation) -> bool:
    onset = saturation.used.course.onset
    return onset is not None and onset.before * traffic.factor >= FULL * saturation.limit_value


def blamed_change(found: Appraisal) -> SuspectChange | None:
    """Give the change of the service itself that began it, None when none did or something else explains more."""
    own = found.own_change
    if own is None or not (strain(found) or found.novel):
        return None
    at, worse, more = own.suspect.change.time, troubled(found), surge(found)
    if worse is not None and worse.trouble.at_ms + found.slack_ms < at:
        return None  # it came into trouble that was there already
    if worse is not None and worse.change is not None and worse.change.suspect.change.time > at:
        return None
    departures = [sign.onset_ms for sign in strain(found)] + [found.onset_ms]
    first = min((one for one in departures if one is not None), default=at)
    explained_otherwise = worse is not None or more is not None
    return None if explained_otherwise and first - at > SETTLED_MS else own
