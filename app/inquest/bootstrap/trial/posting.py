"""The posts that an Alertmanager would have sent of an alert group: what an intake understands. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

from inquest.bootstrap.trial.choosing import AlertRule, Group, rule_of
from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.value import Labels, rfc3339

RECEIVER = "inquest-try"
NO_END = "0001-01-01T00:00:00Z"
"""What Alertmanager writes for the end of an alert that has none."""


def posts_of(group: Group, rules: Sequence[AlertRule], url: str) -> tuple[bytes, ...]:
    """Give the bodies to take in: that all of it fires and, where some has ended, that this is resolved.

    A resolved alert alone opens no investigation, so its firing is told first. `url` is the Prometheus.
    """
    alerts = [_alert(one, rule_of(one, rules), url) for one in group.alerts]
    firing = _post(group, [{**one, "status": "firing", "endsAt": NO_END} for one in alerts])
    ended = [one for one in alerts if one["status"] == AlertStatus.RESOLVED]
    return (firing, _post(group, ended, status="resolved")) if ended else (firing,)


def _post(group: Group, alerts: list[dict[str, object]], *, status: str = "firing") -> bytes:
    labels = {"alertname": group.first.name, **group.labels}
    body = {
        "version": "4",
        "status": status,
        "receiver": RECEIVER,
        "groupKey": f"{{}}:{json.dumps(labels, sort_keys=True)}",
        "groupLabels": labels,
        "commonLabels": _common(group.alerts),
        "commonAnnotations": {},
        "externalURL": "",
        "truncatedAlerts": 0,
        "alerts": alerts,
    }
    return json.dumps(body, indent=1).encode()


def _alert(alert: Alert, rule: AlertRule | None, url: str) -> dict[str, object]:
    written = rule.annotations if rule is not None else {}
    plain = {name: value for name, value in written.items() if "{{" not in value}
    return {
        "status": str(alert.status),
        "labels": alert.labels,
        "annotations": {**plain, **alert.annotations},
        "startsAt": _moment(alert.starts_at),
        "endsAt": _moment(alert.ends_at),
        "generatorURL": generator_url(url, rule.expression) if rule is not None else "",
        "fingerprint": alert.fingerprint,
    }


def generator_url(url: str, expression: str) -> str:
    """Write where `expression` is shown, as Prometheus does in its alerts."""
    return f"{url.rstrip('/')}/graph?{urlencode({'g0.expr': expression, 'g0.tab': '1'})}"


def fingerprint_of(labels: Labels) -> str:
    """Name an alert by all of its labels, as Alertmanager does: 16 hex digits."""
    return digest_of(canonical_json(dict(labels)))[len("sha256:") :][:16]


def _common(alerts: Sequence[Alert]) -> Labels:
    first, *rest = alerts
    return {name: value for name, value in first.labels.items() if all(one.labels.get(name) == value for one in rest)}


def _moment(moment: datetime | None) -> str:
    return NO_END if moment is None else rfc3339(moment)
