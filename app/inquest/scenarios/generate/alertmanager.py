"""The body that Alertmanager posts for one firing alert, byte for byte in its shape (webhook version 4)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote_plus

from inquest.domain.value import rfc3339
from inquest.scenarios.http import go_json
from inquest.scenarios.promql.operators import as_text

_FNV_OFFSET, _FNV_PRIME, _SEPARATOR = 14695981039346656037, 1099511628211, 255
_GROUP_BY = ("alertname", "cluster", "namespace", "service")


def fingerprint(labels: Mapping[str, str]) -> str:
    """Give Alertmanager's fingerprint: FNV-1a of the sorted labels, 64 bits, 16 hex digits."""
    value = _FNV_OFFSET
    for name, text in sorted(labels.items()):
        for part in (name, text):
            for byte in (*part.encode(), _SEPARATOR):
                value = ((value ^ byte) * _FNV_PRIME) % 2**64
    return f"{value:016x}"


def firing_body(
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    starts_at: datetime,
    expr: str,
    receiver: str,
    domain: str = "shop.example",
) -> bytes:
    """Give the body for one alert that fires since `starts_at`, raised by the rule expression `expr`."""
    sorted_labels, sorted_annotations = dict(sorted(labels.items())), dict(sorted(annotations.items()))
    group_labels = {name: sorted_labels[name] for name in _GROUP_BY if name in sorted_labels}
    alert = {
        "status": "firing",
        "labels": sorted_labels,
        "annotations": sorted_annotations,
        "startsAt": rfc3339(starts_at),
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": f"http://prometheus.{domain}:9090/graph?g0.expr={quote_plus(expr)}&g0.tab=1",
        "fingerprint": fingerprint(labels),
    }
    body = {
        "receiver": receiver,
        "status": "firing",
        "alerts": [alert],
        "groupLabels": group_labels,
        "commonLabels": sorted_labels,
        "commonAnnotations": sorted_annotations,
        "externalURL": f"http://alertmanager.{domain}:9093",
        "version": "4",
        "groupKey": "{}:" + as_text(tuple(sorted(group_labels.items()))),
        "truncatedAlerts": 0,
    }
    return (go_json(body) + "\n").encode()
