"""What `try` says of a Prometheus' alerts: what fires, how to choose another, what there is when nothing fires. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from inquest.bootstrap.trial.choosing import Group, Standing, cut, groups_of, rule_of, written
from inquest.bootstrap.trial.reading import NEAR_HOURS
from inquest.destinations.shared.escape import terminal
from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.value import rfc3339
from inquest.entrypoints.cli.line import typed_as

MAX_LISTED = 20
"""Alerts and rules that are listed; those above are counted."""


def chosen(standing: Standing, group: Group, url: str, *, at: str | None) -> Iterator[tuple[str, str]]:
    """Say what is investigated, and which others there are and how to choose one: a word and its text each."""
    for note in standing.notes:
        yield "note", note
    groups = groups_of(standing.firing)
    yield standing.verb, f"{_described(group, standing)}: this is investigated"
    others = _others(groups, group)
    for other in others[:MAX_LISTED]:
        yield "also", _described(other, standing)
    if len(others) > MAX_LISTED:
        yield "also", f"{len(others) - MAX_LISTED} more"
    if others:
        then = "" if at is None else f" --at {shlex.quote(at)}"
        name = shlex.quote(terminal(written(others[0], groups)))
        yield "choose", f"another: {typed_as()} try --prometheus {url}{then} --alert {name}"


def _others(groups: Sequence[Group], group: Group) -> list[Group]:
    taken = {one.fingerprint for one in group.alerts}
    return [one for one in groups if one.first.fingerprint not in taken]


def _described(group: Group, standing: Standing) -> str:
    """Describe a group; of an alert whose rule is not known it is said since when it is active: pending counts too."""
    first = group.first
    severity = f" ({first.severity})" if first.severity else ""
    word = "since" if rule_of(first, standing.rules or ()) is not None else "active since"
    since = f" {word} {first.starts_at:%Y-%m-%d %H:%M:%S} UTC" if first.starts_at else ""
    ended = [one.ends_at for one in group.alerts if one.ends_at is not None]
    is_over = ended and all(one.status is AlertStatus.RESOLVED for one in group.alerts)
    until = f" until {max(ended):%Y-%m-%d %H:%M:%S} UTC" if is_over else ""
    series = f", {len(group.alerts)} series" if len(group.alerts) > 1 else ""
    return terminal(f"{written(group, groups_of(standing.firing))}{severity}{since}{until}{series}")


def others_as_json(standing: Standing, group: Group | None) -> list[dict[str, Any]]:
    """Give what else fires, each with what --alert names it by."""
    groups = groups_of(standing.firing)
    others = groups if group is None else _others(groups, group)
    return [
        {"alert": written(one, groups), "severity": one.first.severity, "series": len(one.alerts)} for one in others
    ]


# ---- nothing fires -----------------------------------------------------------------------------------------


def nothing(standing: Standing) -> str:
    """Say that nothing fires, or fired then, and what there is: pending alerts, rules, heartbeats, what fired near it."""
    lines = [f"Nothing {standing.verb}{_moment(standing)}: there is nothing to investigate.", *standing.notes]
    lines += _listed("pending", [_line(one) for one in standing.pending])
    lines += _listed("heartbeats", [_line(one) for one in standing.firing])
    near = [f"{cut(one.name)} at {rfc3339(one.at)}" for one in standing.near]
    lines += _listed(f"fired within {NEAR_HOURS} hours of it (choose such a moment by --at)", near)
    if standing.is_past and not near:
        lines.append(f"nothing fired within {NEAR_HOURS} hours of it")
    if standing.rules is not None:
        now = " now" if standing.is_past else ""
        names = [f"{rule.name} {rule.state}{now if rule.state else ''}".rstrip() for rule in standing.rules]
        lines += _listed("alerting rules", names) or ["alerting rules: none"]
    return "\n".join(lines)


def _moment(standing: Standing) -> str:
    return f" at {standing.at:%Y-%m-%d %H:%M:%S} UTC"


def _line(alert: Alert) -> str:
    since = f" since {alert.starts_at:%Y-%m-%d %H:%M:%S} UTC" if alert.starts_at else ""
    return f"{alert.name}{since}"


def _listed(what: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    shown = [f"  {terminal(cut(name))}" for name in names[:MAX_LISTED]]
    more = [f"  and {len(names) - MAX_LISTED} more"] if len(names) > MAX_LISTED else []
    return [f"{what}:", *shown, *more]


def nothing_as_json(standing: Standing) -> dict[str, Any]:
    """Give the same as one object."""
    return {
        "at": rfc3339(standing.at),
        "firing": [],
        "pending": [one.name for one in standing.pending],
        "heartbeats": [one.name for one in standing.firing],
        "near": [{"alert": one.name, "at": rfc3339(one.at)} for one in standing.near],
        "rules": None if standing.rules is None else [one.name for one in standing.rules],
        "notes": list(standing.notes),
    }
