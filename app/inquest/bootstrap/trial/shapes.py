"""What Prometheus' API answers -> alerts and rules as `choosing` takes them. Pure; raises Drift and Unreadable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from inquest.bootstrap.trial.choosing import AlertRule
from inquest.bootstrap.trial.posting import fingerprint_of
from inquest.connectors.prometheus import shapes as prometheus
from inquest.connectors.shared.reading import MAX_SECONDS, rows, seconds
from inquest.connectors.shared.series import matrix as series_of
from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.signals import Vector
from inquest.domain.value import Json, Labels, from_epoch_ms

NOT_OF_THE_ALERT = frozenset({"__name__", "alertstate"})
"""Labels of the ALERTS series that the alert itself does not carry."""


class Active(NamedTuple):
    """An alert, and whether it is firing or pending."""

    alert: Alert
    state: str


def alerts(data: Json) -> tuple[Active, ...]:
    """Read the answer of /api/v1/alerts."""
    found = prometheus.alerts(data).alerts
    return tuple(_active(one.labels, one.state, one.active_at, one.annotations) for one in found)


def active(series: Labels, began_s: float | None) -> Active:
    """Read one series of ALERTS, with the value of its ALERTS_FOR_STATE: seconds since 1970.

    A value that is no moment since then says as little as none.
    """
    named = dict(identity(series))
    since_ms = round(began_s * 1000) if began_s is not None and 0 <= began_s <= MAX_SECONDS else None
    return _active(named, series.get("alertstate", ""), since_ms, {})


def _active(labels: Labels, state: str, since_ms: int | None, annotations: Labels) -> Active:
    alert = Alert(
        fingerprint=fingerprint_of(labels),
        name=labels.get("alertname", ""),
        status=AlertStatus.FIRING,
        starts_at=None if since_ms is None else from_epoch_ms(since_ms),
        labels=labels,
        annotations=annotations,
    )
    return Active(alert, state)


def identity(series: Labels) -> frozenset[tuple[str, str]]:
    """Give the labels of the alert in a series of ALERTS or ALERTS_FOR_STATE: what the two have in common."""
    return frozenset((name, value) for name, value in series.items() if name not in NOT_OF_THE_ALERT)


def rules(data: Json) -> tuple[AlertRule, ...]:
    """Read the alerting rules of /api/v1/rules, all groups in order."""
    intervals = _intervals(data)
    return tuple(
        AlertRule(
            name=rule.name,
            expression=rule.expression,
            state=rule.state,
            labels=rule.labels,
            annotations=rule.annotations,
            interval_s=intervals.get(rule.group, 0.0),
            for_s=rule.duration_s,
        )
        for rule in prometheus.rules(data).rules
        if rule.rule_type in {"alerting", ""}
    )


def _intervals(data: Json) -> Mapping[str, float]:
    groups = data.get("groups") if isinstance(data, dict) else None
    return {str(group.get("name", "")): seconds(group.get("interval")) for group in rows(groups, "data.groups")}


def vector(data: Json) -> tuple[tuple[Labels, float], ...]:
    """Read the answer of an instant query: each series with its value; one without a finite value is left out."""
    read, _ = prometheus.vector(data, ())
    samples = read.samples if isinstance(read, Vector) else ()
    return tuple((one.labels, one.value) for one in samples if one.value is not None)


def moments(data: Json) -> dict[frozenset[tuple[str, str]], tuple[int, ...]]:
    """Read the answer of a range query over ALERTS: when each alert fired, in epoch milliseconds since 1970."""
    read, _ = series_of(data, 1_000, ())
    return {identity(one.labels): tuple(moment for moment, _ in one.points if moment >= 0) for one in read.series}
