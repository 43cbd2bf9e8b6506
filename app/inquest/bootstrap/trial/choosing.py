"""Which of the alerts that fire is investigated, and which others there are. Pure."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Self

from pydantic import Field

from inquest.domain.alert import DEFAULT_GROUP_BY, Alert, group_key, severity_rank
from inquest.domain.selector import quote
from inquest.domain.value import Instant, Labels, Value
from inquest.errors import ConfigurationError

_MATCHER = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
MAX_NAMED = 10
"""Alerts that a refusal names; those above are counted."""
MAX_NAME_CHARS = 120
"""Of each of them."""
_LAST = datetime.max.replace(tzinfo=UTC)


class AlertRule(Value):
    """A rule that makes alerts. `interval_s` is how often it is evaluated, 0 where that is not said.

    `for_s`: so long its alerts are pending before they fire.
    """

    name: str
    expression: str
    state: str = ""
    labels: Labels = Field(default_factory=dict)
    annotations: Labels = Field(default_factory=dict)
    interval_s: float = 0.0
    for_s: float = 0.0


class Near(Value):
    """An alert that fired near a moment, and when: the time nearest to it."""

    name: str
    at: Instant


class Standing(Value):
    """What a Prometheus says of its alerts, at one moment.

    `rules` is None where it does not show them; then no alert's expression is known. `is_past`: the moment is another
    than now. `near` are the alerts that fired in the hours around it, nearest first, looked at only when nothing fired
    then. `notes` say what could not be read.
    """

    at: Instant
    firing: tuple[Alert, ...]
    pending: tuple[Alert, ...] = ()
    rules: tuple[AlertRule, ...] | None = None
    near: tuple[Near, ...] = ()
    is_past: bool = False
    notes: tuple[str, ...] = ()

    @property
    def verb(self) -> str:
        """Say "fires" of now, "fired" of then."""
        return "fired" if self.is_past else "fires"


class Group(Value):
    """The series of one alert that belong together, as an intake would group them; most severe first, then oldest."""

    alerts: tuple[Alert, ...]

    @property
    def first(self) -> Alert:
        """Give the one that stands for all of them."""
        return self.alerts[0]

    @property
    def labels(self) -> Labels:
        """Give the labels by which this group is told from others of its name."""
        return {name: self.first.labels[name] for name in DEFAULT_GROUP_BY[1:] if self.first.labels.get(name)}


class Wanted(Value):
    """What --alert names: an alert, and labels that it carries."""

    name: str
    labels: Labels = Field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Self:
        """Read NAME or NAME{label="value"}. Raises ConfigurationError naming --alert."""
        name, brace, inside = text.strip().partition("{")
        if not brace:
            return cls(name=name)
        labels: dict[str, str] = {}
        rest = inside.removesuffix("}")
        while rest.strip():
            found = _MATCHER.match(rest)
            if found is None or not inside.endswith("}"):
                msg = f'--alert: write NAME or NAME{{label="value"}}, not {text[:200]!r}'
                raise ConfigurationError(msg)
            labels[found[1]] = re.sub(r"\\(.)", r"\1", found[2])
            rest = rest[found.end() :]
        return cls(name=name.strip(), labels=labels)

    def takes(self, alert: Alert) -> bool:
        """Say whether `alert` is one of those that are named."""
        return alert.name == self.name and self.labels.items() <= alert.labels.items()


def written(group: Group, among: Sequence[Group]) -> str:
    """Write what --alert names `group` by, with its labels where `among` has others of its name."""
    alone = sum(one.first.name == group.first.name for one in among) == 1
    pairs = ",".join(f"{name}={quote(value)}" for name, value in sorted(group.labels.items()))
    return group.first.name if alone or not pairs else f"{group.first.name}{{{pairs}}}"


def groups_of(alerts: Sequence[Alert]) -> tuple[Group, ...]:
    """Group what fires as an intake would, heartbeats left out: most severe first, then oldest."""
    grouped: dict[str, list[Alert]] = {}
    for alert in sorted((one for one in alerts if not one.is_heartbeat), key=_urgency):
        key = group_key("", alert.labels, DEFAULT_GROUP_BY, alert.fingerprint)
        grouped.setdefault(key, []).append(alert)
    return tuple(Group(alerts=tuple(members)) for members in grouped.values())


def _urgency(alert: Alert) -> tuple[int, datetime, str, str]:
    return (-severity_rank(alert.severity), alert.starts_at or _LAST, alert.name, alert.fingerprint)


def chosen(standing: Standing, wanted: Wanted | None) -> Group | None:
    """Give the group to investigate: the one that is wanted, else the most urgent; None when nothing fires.

    Raises ConfigurationError saying why what is wanted is not there.
    """
    groups = groups_of(standing.firing)
    if wanted is None:
        return groups[0] if groups else None
    found = next((group for group in groups if any(wanted.takes(one) for one in group.alerts)), None)
    if found is None:
        msg = f"--alert: {_why_not(standing, wanted, groups)}"
        raise ConfigurationError(msg)
    return Group(alerts=tuple(one for one in found.alerts if wanted.takes(one)))


def _why_not(standing: Standing, wanted: Wanted, groups: Sequence[Group]) -> str:
    name, verb = wanted.name, standing.verb
    if any(one.name == name and one.is_heartbeat for one in standing.firing):
        return f"{name} is a heartbeat: it says that the sender lives, and is never investigated"
    if any(one.first.name == name for one in groups):
        known = _named([written(one, groups) for one in groups if one.first.name == name], " or ")
        return f"{name} {verb}, but not with these labels: {known}"
    others = _named(list(dict.fromkeys(one.first.name for one in groups)), ", ") or "nothing"
    if any(one.name == name for one in standing.pending):
        pending = "was pending, it did not fire yet" if standing.is_past else "is pending, it does not fire yet"
        return f"{name} {pending}; what {verb}: {others}"
    known_names = [rule.name for rule in standing.rules or ()] + [one.name for one in standing.firing]
    if standing.rules is not None and name not in known_names:
        near = difflib.get_close_matches(name, known_names, n=1)
        return f"there is no rule {name}{f'; did you mean {near[0]}?' if near else ''}; what {verb}: {others}"
    does_not = "did not fire" if standing.is_past else "does not fire"
    then = [f"; near it, {name} fired at {_moment(one.at)} UTC" for one in standing.near if one.name == name]
    return f"{name} {does_not} at {_moment(standing.at)} UTC{''.join(then)}; what {verb}: {others}"


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def _named(names: Sequence[str], between: str) -> str:
    more = [f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else []
    return between.join([*(cut(name) for name in names[:MAX_NAMED]), *more])


def cut(name: str) -> str:
    """Shorten a name that is longer than anybody reads."""
    return name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}…"


def rule_of(alert: Alert, rules: Sequence[AlertRule]) -> AlertRule | None:
    """Give the rule that made `alert`: of its name, and with its labels, as far as they are no templates."""
    named = [rule for rule in rules if rule.name == alert.name]
    fitting = [rule for rule in named if _plain(rule.labels).items() <= alert.labels.items()]
    return max(fitting, key=lambda rule: len(rule.labels), default=None)


def since_firing(alert: Alert, rules: Sequence[AlertRule], at: datetime) -> Alert:
    """Give `alert`, which fires at `at` and became active at its `starts_at`, with the moment since when it fires.

    Prometheus says since when an alert is active: pending, where its rule has a `for`. It fires at the first evaluation
    after that time, and that is what it tells an Alertmanager. Without the rule nothing is changed.
    """
    rule = rule_of(alert, rules)
    if rule is None or alert.starts_at is None or not rule.for_s:
        return alert
    held_s = math.ceil(rule.for_s / rule.interval_s) * rule.interval_s if rule.interval_s else rule.for_s
    left_s = max(0.0, (at - alert.starts_at).total_seconds())
    return alert.but(starts_at=alert.starts_at + timedelta(seconds=min(held_s, left_s)))


def _plain(labels: Labels) -> Labels:
    return {name: value for name, value in labels.items() if "{{" not in value}
