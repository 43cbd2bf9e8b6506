"""A deployment of checkout exhausts its database connections.

A merge request raises worker concurrency from 16 to 64 and lowers the pool from 40 to 20 connections a pod.
Some minutes after the deployment all 20 are in use, requests wait for one and time out after 5 seconds:
checkout answers 503, and the front end, which calls it, 502 a while later. Two things look like causes and
are none: a deployment of payments 40 minutes before, and a search reindex that takes CPU.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from inquest.domain.diagnosis import Verdict
from inquest.domain.value import from_epoch_ms
from inquest.errors import InvariantBroken
from inquest.scenarios.generate.alert_series import record_alerts
from inquest.scenarios.generate.alertmanager import firing_body
from inquest.scenarios.generate.changes import changes, culprit_number
from inquest.scenarios.generate.fleet import fleet
from inquest.scenarios.generate.log_lines import record_logs
from inquest.scenarios.generate.metrics import METADATA, record_metrics
from inquest.scenarios.generate.noise import noise
from inquest.scenarios.generate.recorder import Recorder
from inquest.scenarios.generate.release import NEW_POOL_SIZE, NEW_WORKERS, OLD_POOL_SIZE, OLD_WORKERS
from inquest.scenarios.generate.timeline import MINUTE, SCRAPE_MS, SECOND, Timeline, timeline
from inquest.scenarios.generate.traffic import traffic
from inquest.scenarios.pack.format import VERSION, Clock, Header, RedHerring, Scenario, Truth
from inquest.scenarios.pack.rules import AlertingRule, RuleGroup
from inquest.scenarios.prometheus.alerts import ActiveAlert, active_alerts
from inquest.scenarios.promql.grid import every
from inquest.scenarios.promql.samples import Samples

NAME_OF_PACK = "checkout_pool"
_NOTIFIED_AFTER = timedelta(seconds=90)  # group_wait, the way here, and somebody to look
_EXTERNAL_LABELS = {"cluster": "shop-eu-1"}


def _error_ratio(service: str) -> str:
    selector = f'namespace="shop",service="{service}"'
    errors = f'sum by (namespace, service) (rate(http_requests_total{{{selector},status=~"5.."}}[5m]))'
    return f"{errors} / sum by (namespace, service) (rate(http_requests_total{{{selector}}}[5m]))"


_CHECKOUT_RULE = AlertingRule(
    alert="CheckoutErrorRatioHigh",
    expr=f"{_error_ratio('checkout')} > 0.05",
    for_ms=5 * MINUTE,
    labels={"severity": "critical", "team": "orders"},
    annotations={
        "summary": "{{ $labels.service }} answers {{ $value | humanizePercentage }} of its requests with errors",
        "description": "The share of 5xx answers of {{ $labels.service }} in namespace {{ $labels.namespace }} "
        "has been above 5% for 5 minutes.",
        "runbook_url": "https://runbooks.shop.example/checkout/error-ratio",
    },
)
_FRONTEND_RULE = AlertingRule(
    alert="FrontendErrorRatioHigh",
    expr=f"{_error_ratio('frontend')} > 0.03",
    for_ms=5 * MINUTE,
    labels={"severity": "warning", "team": "web"},
    annotations={
        "summary": "{{ $labels.service }} answers {{ $value | humanizePercentage }} of its requests with errors",
    },
)
GROUP = RuleGroup(name="shop-slo", interval_ms=SCRAPE_MS, rules=(_CHECKOUT_RULE, _FRONTEND_RULE))


def generate(seed: int = 0) -> Scenario:
    """Make the recording of variation `seed`. The same seed gives the same recording."""
    times = timeline(seed)
    pods, load = fleet(seed, times), traffic(seed, times)
    recorder = Recorder()
    record_metrics(recorder, pods, load, seed=seed, times=times)
    samples = Samples(recorder.series(times.end))
    phase_ms = noise(seed, "rules").randrange(SCRAPE_MS)
    alert, fired_at = _first_firing(samples, times, phase_ms)
    record_alerts(recorder, samples, GROUP, every(_evaluation(times.start, phase_ms), times.end, SCRAPE_MS))
    return Scenario(
        header=_header(seed, times, fired_at),
        alert=firing_body(
            labels={**alert.labels, **_EXTERNAL_LABELS},
            annotations=alert.annotations,
            starts_at=fired_at,
            expr=_CHECKOUT_RULE.expr,
            receiver="inquest",
        ),
        groups=(GROUP,),
        series=tuple(recorder.series(times.end)),
        metadata=METADATA,
        streams=tuple(record_logs(pods, load, seed=seed, times=times)),
        changes=changes(seed, times),
    )


def _evaluation(at_or_before: int, phase_ms: int) -> int:
    """Give a moment at which the rules are evaluated: once each interval, `phase_ms` into it."""
    return at_or_before - at_or_before % SCRAPE_MS + phase_ms


def _first_firing(samples: Samples, times: Timeline, phase_ms: int) -> tuple[ActiveAlert, datetime]:
    """Give the checkout alert as of the evaluation that made it fire, and when. Raises InvariantBroken."""
    for now in range(_evaluation(times.onset, phase_ms), times.end, SCRAPE_MS):
        for alert in active_alerts(_CHECKOUT_RULE, GROUP, samples, now_ms=now, anchor_ms=now):
            if alert.fired_at is not None:
                return alert, alert.fired_at
    raise InvariantBroken(f"the recording raises no {_CHECKOUT_RULE.alert}")


def _header(seed: int, times: Timeline, fired_at: datetime) -> Header:
    return Header(
        version=VERSION,
        name=NAME_OF_PACK,
        title="A deployment exhausts checkout's database connections",
        summary="Checkout answers 503 and times out some minutes after a deployment; the front end suffers with it.",
        clock=Clock(anchor=fired_at, ends_at=fired_at + _NOTIFIED_AFTER),
        scrape_interval_seconds=SCRAPE_MS // SECOND,
        truth=_truth(seed, times),
    )


def _truth(seed: int, times: Timeline) -> Truth:
    return Truth(
        verdict=Verdict.CAUSE_FOUND,
        root_cause=(
            f"The deployment of checkout raised worker concurrency from {OLD_WORKERS} to {NEW_WORKERS} and lowered the "
            f"database connection pool from {OLD_POOL_SIZE} to {NEW_POOL_SIZE} connections a pod. All connections are "
            "in use, requests time out waiting for one after 5 seconds and are answered with 503."
        ),
        category="change.deployment",
        also_accepted=("change.*", "configuration.*", "resource.connection_pool_exhausted"),
        affected_object="deployment/shop/checkout",
        onset=from_epoch_ms(times.onset),
        culprit_change=f"shop/checkout!{culprit_number(seed)}",
        victims=("deployment/shop/frontend",),
        red_herrings=(
            RedHerring(
                what="deployment of payments",
                why_not="Its errors, latency and logs are as before; it only adds a field to a log line.",
                at=from_epoch_ms(times.payments_deployed_at),
            ),
            RedHerring(
                what="CPU of search",
                why_not="A reindex on its own pods; search answers as before and checkout does not call it.",
                at=from_epoch_ms(times.reindex_from),
            ),
        ),
    )
