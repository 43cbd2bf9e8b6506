"""The posts that are sent: Alertmanager's version 4 with five alerts of one group, about 2.2 KB (reliability R1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Literal

ALERTS = 5
SOURCE = "http://prometheus:9090"
STORM_PODS = 25
"""Of each group: they repeat, as a storm's alerts do."""
StormLabels = Literal["pods", "random"]


def new_post(number: int, starts_at: str) -> bytes:
    """Write the post of a group that nobody has seen: its service is named after `number`."""
    return post(f"new-{number:07}", starts_at)


def group_post(number: int, starts_at: str) -> bytes:
    """Write the post of a known group, byte for byte the same every time: what a sender repeats."""
    return post(f"known-{number:03}", starts_at)


def storm_service(group: int) -> str:
    """Name the service of a storm's group."""
    return f"storm-{group:02}"


def storm_post(number: int, groups: int, starts_at: str, labels: StormLabels, *, first: int = 0) -> bytes:
    """Write the post `number` of a storm over `groups`, the first of which is `first`.

    It brings one alert, of a pod that repeats or of one never seen before.
    """
    group, of_group = number % groups, number // groups
    pod = f"{of_group % STORM_PODS}" if labels == "pods" else hashlib.sha256(str(number).encode()).hexdigest()[:12]
    return post(storm_service(first + group), starts_at, pods=(pod,))


def post(service: str, starts_at: str, *, pods: Sequence[str] = tuple(map(str, range(ALERTS)))) -> bytes:
    """Write a firing post of `pods` of `service`, ALERTS of them by default. `starts_at` is RFC 3339."""
    group = {"alertname": "ErrorRatioHigh", "namespace": "shop", "service": service}
    summary = {"summary": "More than a fifth of the requests fail"}
    return json.dumps(
        {
            "version": "4",
            "groupKey": f'{{}}:{{alertname="ErrorRatioHigh", service="{service}"}}',
            "truncatedAlerts": 0,
            "status": "firing",
            "receiver": "inquest",
            "groupLabels": group,
            "commonLabels": {**group, "severity": "critical"},
            "commonAnnotations": summary,
            "externalURL": "http://alertmanager:9093",
            "alerts": [_alert({**group, "severity": "critical", "pod": f"{service}-{pod}"}, starts_at, summary)
                       for pod in pods],
        },
        separators=(",", ":"),
    ).encode()  # fmt: skip


def _alert(labels: dict[str, str], starts_at: str, annotations: dict[str, str]) -> dict[str, object]:
    return {
        "status": "firing",
        "labels": labels,
        "annotations": annotations,
        "startsAt": starts_at,
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": f"{SOURCE}/graph?g0.expr=errors+%3E+0.2&g0.tab=1",
        "fingerprint": hashlib.sha256(json.dumps(labels, sort_keys=True).encode()).hexdigest()[:16],
    }
