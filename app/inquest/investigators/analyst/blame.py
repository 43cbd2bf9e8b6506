"""What began it: which change, surge or dependency comes first of what the evidence shows.

Everything that moved is put in order of time. A change is blamed when what it changed strains soon after it: being
earlier alone connects nothing, neither after a long calm nor where changes come so often that something always is.
Of what is left, that is blamed which comes last before the first departure: it is nearest to the cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inquest.analysis.siblings import Role, limited_by
from inquest.analysis.suspects import belongs_to, follows, has_run
from inquest.investigators.analyst.signs import FULL

if TYPE_CHECKING:
    from inquest.investigators.analyst.appraisal import Appraisal
    from inquest.investigators.analyst.changes import SuspectChange
    from inquest.investigators.analyst.dependencies import Dependency, Trouble
    from inquest.investigators.analyst.signs import Saturation, Sign

MAX_SIGNS = 4
NEAR = 0.8
"""Of its limit: below this share a resource has room (engineering judgement)."""
MUCH_MORE = 1.5
"""Of traffic, or of a resource without a known limit: less than so many times the usual is a busy day (engineering
judgement)."""


WITHOUT_MORE = 1.2
"""So many times what a rise of traffic asks for is still no more than that (engineering judgement)."""


class Troubled(NamedTuple):
    """A dependency that got worse no later than the symptom, and the change of its own behind that, if any."""

    dependency: Dependency
    trouble: Trouble
    change: SuspectChange | None


def strain(found: Appraisal) -> tuple[Sign, ...]:
    """Give what changed inside the service no later than the symptom: a resource that ran short, or a limit that fell.

    What the alert itself measures is no other sign than the symptom.
    """
    moved = [sign for sign in found.moved(Role.SATURATION, Role.LIMIT) if sign.metric not in found.measured]
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
        if value is not None and value > 0  # 0 and -1 are how "no limit" is written
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
    ran = found.ran_of(dependency.name)
    before = [
        one
        for one in found.changes
        if belongs_to(one.suspect.change, dependency.name)
        and has_run(one.suspect.change)
        and one.suspect.change.time <= trouble.at_ms + found.slack_ms
        and follows(trouble.at_ms, one.suspect.change, ran, found.began_ms)
    ]
    return max(before, key=lambda one: one.suspect.change.time, default=None)


def surge(found: Appraisal) -> Sign | None:
    """Give the rise of traffic that explains the strain and came no later than it, None when there is none.

    What comes later is what an incident does to its callers: they try again.
    With the same time a request, what is in use rises as the requests do (Little's law): traffic explains a
    resource that was used up when the usual use, so many times as much, fills it, and another when no more of it
    is used than the rise asks for.
    """
    first = first_departure(found)
    if first is None:
        return None
    rose = [sign for sign in found.moved(Role.TRAFFIC) if sign.is_up and sign.factor >= MUCH_MORE]
    # By its first departure: on the way to a limit what is full is further ahead than what fills it.
    risen = [sign for sign in rose if sign.onset_ms is not None and sign.onset_ms <= first + found.slack_ms]
    return next((sign for sign in risen if _explains(sign, found)), None)


def _explains(traffic: Sign, found: Appraisal) -> bool:
    if found.saturations:
        return _fills(traffic, found.saturations[0])
    used = [sign.factor for sign in strain(found) if sign.role is Role.SATURATION]
    return bool(used) and max(used) <= traffic.factor * WITHOUT_MORE


def _fills(traffic: Sign, saturation: Saturation) -> bool:
    onset = saturation.used.course.onset
    return onset is not None and onset.before * traffic.factor >= FULL * saturation.limit_value


def blamed_change(found: Appraisal) -> SuspectChange | None:
    """Give the change of the service itself that began it, None when none did or something else explains more."""
    own = connected_change(found)
    if own is None or surge(found) is not None:
        return None
    at, worse = own.suspect.change.time, troubled(found)
    if worse is not None and worse.trouble.at_ms + found.slack_ms < at:
        return None  # it came into trouble that was there already
    overtaken = worse is not None and worse.change is not None and worse.change.suspect.change.time > at
    return None if overtaken else own


def connected_change(found: Appraisal) -> SuspectChange | None:
    """Give the likeliest change of the service itself that it strained soon after, None when there is none."""
    first = first_departure(found)
    if first is None or not (strain(found) or found.saturations or found.novel):
        return None
    ran = found.ran_of(found.service.service_id)
    before = [one for one in found.own_changes if one.suspect.change.time <= first + found.slack_ms]
    return next((one for one in before if follows(first, one.suspect.change, ran, found.began_ms)), None)


def first_departure(found: Appraisal) -> int | None:
    """Give when the service itself was first seen to be other than usual, None where no symptom is seen."""
    if found.onset_ms is None:
        return None
    return min([found.onset_ms, *(sign.since_ms for sign in strain(found) if sign.since_ms is not None)])
