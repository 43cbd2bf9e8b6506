"""Notifications as Datadog makes them of the shipped template, from the values of its variables."""

from __future__ import annotations

import json
import re

from inquest.domain.alert import Alert
from inquest.resources import config_dir
from inquest.sources.datadog import parse

TEMPLATE = (config_dir() / "datadog-webhook.json").read_text("utf-8")
VARIABLE = re.compile(r"\$([A-Z_]+)")

TRIGGERED = {
    "ALERT_CYCLE_KEY": "7716548234011230001",
    "ALERT_ID": "148275309",
    "ALERT_SCOPE": "env:prod,service:checkout",
    "ALERT_TRANSITION": "Triggered",
    "ALERT_TITLE": "[Triggered on {env:prod,service:checkout}] Checkout error rate",
    "ALERT_PRIORITY": "P1",
    "ALERT_TYPE": "error",
    "ALERT_STATUS": "trace.http.request.errors over env:prod,service:checkout was > 0.05 at least once during the last 5m",
    "ALERT_METRIC": "trace.http.request.errors",
    "ALERT_QUERY": "sum(last_5m):sum:trace.http.request.errors{env:prod} by {env,service}.as_rate() > 0.05",
    "AGGREG_KEY": "9bd4ac313a4d1e8fae2482df7b77628",
    "ID": "7716548234011234567",
    "EVENT_TYPE": "query_alert_monitor",
    "EVENT_TITLE": "[P1] [Triggered on {env:prod,service:checkout}] Checkout error rate",
    "TEXT_ONLY_MSG": "Checkout answers with errors.\nRunbook: see the wiki @webhook-inquest",
    "TAGS": "env:prod,kube_cluster_name:eu-1,kube_namespace:shop,monitor,service:checkout,team:payments",
    "LINK": "https://app.datadoghq.com/monitors/148275309?group=env%3Aprod%2Cservice%3Acheckout",
    "SNAPSHOT": "https://p.datadoghq.com/snapshot/view/x.png",
    "DATE": "1767225600000",
    "ORG_ID": "421337",
    "ORG_NAME": "Shop",
}
"""$HOSTNAME is not there: the monitor is not about a host, and Datadog leaves the variable as it stands."""

RENOTIFY = {
    **TRIGGERED, "ALERT_TRANSITION": "Renotify", "ID": "7716548234011400000", "DATE": "1767229200000",
    "ALERT_TITLE": "[Re-Triggered on {env:prod,service:checkout}] Checkout error rate",
}  # fmt: skip
RECOVERED = {
    **TRIGGERED, "ALERT_TRANSITION": "Recovered", "ALERT_TYPE": "success", "ID": "7716548234011500000",
    "ALERT_TITLE": "[Recovered on {env:prod,service:checkout}] Checkout error rate", "DATE": "1767230400000",
    "EVENT_TITLE": "[P1] [Recovered on {env:prod,service:checkout}] Checkout error rate",
    "TEXT_ONLY_MSG": "Checkout is well again.",
}  # fmt: skip


def filled(values: dict[str, str], *, escaped: bool = True) -> bytes:
    """Fill the template. A variable without a value stays as it stands; not `escaped`, values go in as they are."""

    def value(found: re.Match[str]) -> str:
        text = values.get(found[1], found[0])
        return json.dumps(text)[1:-1] if escaped else text

    return VARIABLE.sub(value, TEMPLATE).encode("utf-8", "surrogatepass")


def alert_of(body: bytes) -> Alert:
    (alert,) = parse(body).alerts
    return alert


def alert(**variables: str) -> Alert:
    """Give the alert of a triggered notification with other values; "" is no value."""
    return alert_of(filled({**TRIGGERED, **variables}))


def warnings(**variables: str) -> tuple[str, ...]:
    return parse(filled({**TRIGGERED, **variables})).parse_warnings
