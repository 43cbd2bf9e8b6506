from __future__ import annotations

import json

import pytest

from inquest.scenarios.generate.alertmanager import fingerprint, firing_body
from tests.scenarios.builders import NOW

# As captured from Alertmanager 0.25.0.
SINGLE = {
    "alertname": "CheckoutErrorRateHigh",
    "cluster": "test-eu",
    "instance": "127.0.0.1:19095",
    "job": "checkout",
    "pod": "checkout-7d9f-ok",
    "replica": "a",
    "service": "checkout",
    "severity": "critical",
    "target": "ok",
    "team": "payments",
}
LAGGING = {
    "alertname": "ShardReplicationLag",
    "cluster": "test-eu",
    "instance": "127.0.0.1:19095",
    "job": "checkout",
    "replica": "a",
    "service": "orders-db",
    "severity": "warning",
    "shard": "00",
    "target": "big",
    "team": "data",
}


@pytest.mark.parametrize(("labels", "expected"), [(SINGLE, "03a283e568c6e1c6"), (LAGGING, "14354705ae89dfb7")])
def test_a_fingerprint_is_alertmanagers(labels: dict[str, str], expected: str) -> None:
    assert fingerprint(labels) == expected
    assert fingerprint(dict(reversed(labels.items()))) == expected


def test_a_body_has_the_bytes_that_alertmanager_sends() -> None:
    body = firing_body(
        labels={"service": "checkout", "alertname": "A", "severity": "critical"},
        annotations={"summary": "5% & more"},
        starts_at=NOW,
        expr="errors > 0.05",
        receiver="ok",
    )

    assert body.decode() == (
        '{"receiver":"ok","status":"firing","alerts":[{"status":"firing",'
        '"labels":{"alertname":"A","service":"checkout","severity":"critical"},'
        '"annotations":{"summary":"5% \\u0026 more"},"startsAt":"2026-03-01T12:00:00.000Z",'
        '"endsAt":"0001-01-01T00:00:00Z",'
        '"generatorURL":"http://prometheus.shop.example:9090/graph?g0.expr=errors+%3E+0.05\\u0026g0.tab=1",'
        f'"fingerprint":"{json.loads(body)["alerts"][0]["fingerprint"]}"}}],'
        '"groupLabels":{"alertname":"A","service":"checkout"},'
        '"commonLabels":{"alertname":"A","service":"checkout","severity":"critical"},'
        '"commonAnnotations":{"summary":"5% \\u0026 more"},'
        '"externalURL":"http://alertmanager.shop.example:9093","version":"4",'
        '"groupKey":"{}:{alertname=\\"A\\", service=\\"checkout\\"}","truncatedAlerts":0}\n'
    )
