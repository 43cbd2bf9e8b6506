"""Prometheus Alertmanager's webhook, payload version "4" (measured with 0.25.0, read up to 0.34.0).

It sends no delivery id, no signature and no timestamp: an Authorization header is all the proof there is.
"""

from __future__ import annotations

from inquest.domain.alert import Alert, AlertStatus, Post
from inquest.domain.intake import MAX_ALERTS, Auth, bounded_warnings
from inquest.domain.value import Json, Labels
from inquest.sources.shared.credentials import check_authorization
from inquest.sources.shared.json_body import Unreadable, read_json
from inquest.sources.shared.moments import read_rfc3339
from inquest.sources.shared.source import Headers
from inquest.sources.shared.texts import read_fingerprint, read_labels, read_text

SOURCE = "alertmanager"
NO_NAME = "(no alertname)"

_FACTS = {
    "group_key": "groupKey",
    "receiver": "receiver",
    "external_url": "externalURL",
    "status": "status",
    "notification_reason": "notification_reason",
}


def authorize(headers: Headers, keys: Auth) -> None:
    """Check the Authorization header, bearer or basic. Raises Unauthorized."""
    check_authorization(headers, keys)


def verify(headers: Headers, body: bytes, keys: Auth) -> None:
    """Check the Authorization header: Alertmanager proves nothing about the body. Raises Unauthorized."""
    del body
    check_authorization(headers, keys)


def parse(body: bytes) -> Post:
    """Read an inflated body. Total: what is no version 4 post is quarantined with the reason."""
    read = read_json(body)
    if isinstance(read, Unreadable):
        return Post(source=SOURCE, quarantine=read.reason)
    posted = read.value if isinstance(read.value, dict) else {}
    entries = posted.get("alerts")
    if posted.get("version") in ("4", 4) and isinstance(entries, list) and entries:
        return _read_post(posted, entries, list(read.warnings))
    return Post(source=SOURCE, quarantine=_why_not(read.value), parse_warnings=bounded_warnings(read.warnings))


def _why_not(value: Json) -> str:
    """Say why a body is no version 4 post with alerts."""
    match value:
        case {"version": "4" | 4, "alerts": []}:
            return "no_alerts: the list is empty"
        case {"version": "4" | 4, "alerts": _}:
            return "not_v4: alerts is no list"
        case {"version": _, "alerts": _}:
            return "not_v4: another version"
        case dict():
            return f"not_v4: missing {', '.join(key for key in ('version', 'alerts') if key not in value)}"
        case _:
            return "not_v4: the body is no object"


def _read_post(body: dict[str, Json], entries: list[Json], warnings: list[str]) -> Post:
    taken = entries[:MAX_ALERTS]
    if len(entries) > len(taken):
        warnings.append(f"{len(entries) - len(taken)} alerts above {MAX_ALERTS} are quarantined")
    read = [_read_alert(entry, body.get("status"), warnings) for entry in taken]
    alerts = tuple(alert for alert in read if alert is not None)
    sender = {fact: read_text(body[key], warnings, key) for fact, key in _FACTS.items() if body.get(key)}
    truncated = body.get("truncatedAlerts")
    left_out = truncated if isinstance(truncated, int) and not isinstance(truncated, bool) else 0
    return Post(
        source=SOURCE,
        alerts=alerts,
        quarantine=None if alerts else "no_alerts: none of them is understood",
        quarantined_alerts=len(entries) - len(alerts),
        truncated_alerts=max(0, left_out),
        parse_warnings=bounded_warnings(warnings),
        sender=sender,
    )


def _read_alert(entry: Json, post_status: Json, warnings: list[str]) -> Alert | None:
    """Give one alert, None (and a warning) when there is nothing to know it by."""
    if not isinstance(entry, dict):
        warnings.append("an alert is no object: quarantined")
        return None
    labels = read_labels(entry.get("labels"), warnings, "labels")
    fingerprint = read_fingerprint(entry.get("fingerprint"))
    if not labels and not fingerprint:
        warnings.append("an alert has neither labels nor fingerprint: quarantined")
        return None
    status = _read_status(entry.get("status"), post_status, warnings)
    ends_at = read_rfc3339(entry.get("endsAt"), warnings, "endsAt")
    return Alert(
        fingerprint=fingerprint,
        name=_name(labels),
        status=status,
        starts_at=read_rfc3339(entry.get("startsAt"), warnings, "startsAt"),
        # A firing alert's endsAt is when Alertmanager would give it up (resolve_timeout): no end of anything.
        ends_at=ends_at if status is AlertStatus.RESOLVED else None,
        labels=labels,
        annotations=read_labels(entry.get("annotations"), warnings, "annotations"),
        generator_url=read_text(entry.get("generatorURL"), warnings, "generatorURL"),
    )


def _name(labels: Labels) -> str:
    return labels.get("alertname") or NO_NAME


def _read_status(said: Json, post_status: Json, warnings: list[str]) -> AlertStatus:
    """Give the alert's own status, else the post's, else firing: an alert that we misread must not be missed."""
    for status in (said, post_status):
        if isinstance(status, str) and status.strip().lower() in ("firing", "resolved"):
            if status is not said:
                warnings.append("an alert has no status of its own: the post's is taken")
            return AlertStatus(status.strip().lower())
    warnings.append("an alert has no status: taken as firing")
    return AlertStatus.FIRING
