"""The endpoints of Prometheus that an investigation reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from inquest.domain.value import epoch_ms, rfc3339
from inquest.scenarios import bounds
from inquest.scenarios.clock import RecordedClock
from inquest.scenarios.http import Reply, Request, go_json, text
from inquest.scenarios.numbers import scientific
from inquest.scenarios.pack.format import MetricMetadata
from inquest.scenarios.pack.rules import RuleGroup
from inquest.scenarios.prometheus.alerts import ActiveAlert, active_alerts
from inquest.scenarios.prometheus.encode import result_json
from inquest.scenarios.prometheus.parameters import (
    BadParameter,
    optional_time,
    required_duration,
    required_time,
)
from inquest.scenarios.promql.evaluate import evaluate_instant, evaluate_range
from inquest.scenarios.promql.grid import every
from inquest.scenarios.promql.parse import parse, parse_selector
from inquest.scenarios.promql.refusals import ExecutionFailed, ExpressionRefused, ParseFailed, Unsupported
from inquest.scenarios.promql.samples import Samples, Series
from inquest.scenarios.promql.syntax import Expression, Matcher

_JSON = "application/json"
_NOT_FOUND = "404 page not found\n"
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NO_SNIFF = ("x-content-type-options", "nosniff")
_READS = ("GET", "OPTIONS")
_QUERIES = ("GET", "OPTIONS", "POST")
_FIRST_MS, _LAST_MS = -(2**62), 2**62


@dataclass(frozen=True, slots=True)
class _Endpoint:
    methods: tuple[str, ...]
    answer: Callable[[Request], Reply]


class PrometheusApi:
    """Answers requests over recorded `samples`, as of the clock's moment."""

    def __init__(
        self,
        samples: Samples,
        *,
        metadata: Mapping[str, MetricMetadata],
        groups: tuple[RuleGroup, ...],
        anchor: datetime,
        clock: RecordedClock,
    ) -> None:
        self._samples = samples
        self._metadata = metadata
        self._groups = groups
        self._anchor_ms = epoch_ms(anchor)
        self._clock = clock
        self._endpoints = {
            "query": _Endpoint(_QUERIES, self._query),
            "query_range": _Endpoint(_QUERIES, self._query_range),
            "series": _Endpoint(_QUERIES, self._series),
            "labels": _Endpoint(_QUERIES, self._labels),
            "metadata": _Endpoint(_READS, self._describe),
            "rules": _Endpoint(_READS, self._rules),
            "alerts": _Endpoint(_READS, self._alerts),
            "status/buildinfo": _Endpoint(_READS, self._buildinfo),
        }

    def answer(self, request: Request) -> Reply:
        """Answer one request; every refusal is a reply too."""
        endpoint = self._endpoint(request.segments)
        if endpoint is None:
            return text(404, _NOT_FOUND, _NO_SNIFF)
        if request.method == "OPTIONS":
            return Reply(204, _JSON, b"")
        if request.method not in endpoint.methods:
            return text(405, "Method Not Allowed\n", ("allow", ", ".join(endpoint.methods)), _NO_SNIFF)
        try:
            return endpoint.answer(request)
        except (BadParameter, ParseFailed) as refused:
            return _error(400, "bad_data", str(refused))
        except (Unsupported, ExecutionFailed) as refused:
            return _error(422, "execution", str(refused))

    def _endpoint(self, segments: tuple[str, ...]) -> _Endpoint | None:
        match segments:
            case ("-", "ready"):
                return _Endpoint(_READS, lambda _: text(200, "Prometheus Server is Ready.\n"))
            case ("-", "healthy"):
                return _Endpoint(_READS, lambda _: text(200, "Prometheus Server is Healthy.\n"))
            case ("api", "v1", "label", name, "values"):
                return _Endpoint(_READS, lambda request: self._label_values(request, name))
            case ("api", "v1", *rest):
                return self._endpoints.get("/".join(rest))
            case _:
                return None

    def _query(self, request: Request) -> Reply:
        now = self._clock.now_ms()
        at = optional_time("time", request.first("time"), now)
        _check_timeout(request)
        value = evaluate_instant(_parsed(request), self._samples, at, horizon_ms=now)
        return _success_text(result_json(value, at))

    def _query_range(self, request: Request) -> Reply:
        start = required_time("start", request.first("start"))
        end = required_time("end", request.first("end"))
        if end < start:
            raise BadParameter('invalid parameter "end": end timestamp must not be before start time')
        step = required_duration("step", request.first("step"))
        if step <= 0:
            raise BadParameter(
                'invalid parameter "step": zero or negative query resolution step widths are not accepted. '
                "Try a positive integer",
            )
        if (end - start) // step > bounds.MAX_RANGE_POINTS:
            raise BadParameter(
                "exceeded maximum resolution of 11,000 points per timeseries. "
                "Try decreasing the query resolution (?step=XX)",
            )
        _check_timeout(request)
        grid = every(start, end, step)
        matrix = evaluate_range(_parsed(request), self._samples, grid, horizon_ms=self._clock.now_ms())
        return _success_text(result_json(matrix, end))

    def _series(self, request: Request) -> Reply:
        if not request.all("match[]"):
            raise BadParameter("no match[] parameter provided")
        return _success([dict(one.labels) for one in self._matching(request)])

    def _labels(self, request: Request) -> Reply:
        return _success(sorted({name for one in self._matching(request) for name, _ in one.labels}))

    def _label_values(self, request: Request, name: str) -> Reply:
        if not _LABEL_NAME.fullmatch(name):
            raise BadParameter(f'invalid label name: "{name}"')
        found = (dict(one.labels).get(name) for one in self._matching(request))
        return _success(sorted({value for value in found if value is not None}))

    def _matching(self, request: Request) -> list[Series]:
        """Give the series that pass any `match[]` (all without one) and have a sample in the range asked."""
        start = optional_time("start", request.first("start"), _FIRST_MS)
        end = min(optional_time("end", request.first("end"), _LAST_MS), self._clock.now_ms())
        selectors: list[tuple[Matcher, ...]] = [_selector(one) for one in request.all("match[]")] or [()]
        found = {one.labels: one for matchers in selectors for one in self._samples.select(matchers)}
        return [one for _, one in sorted(found.items()) if one.overlaps(start, end)]

    def _describe(self, request: Request) -> Reply:
        limit = request.first("limit")
        if limit and not re.fullmatch(r"[-+]?\d{1,18}", limit):
            raise BadParameter("limit must be a number")
        wanted = request.first("metric")
        described: list[tuple[str, object]] = [
            (name, [{"type": one.type, "help": one.help, "unit": one.unit}])
            for name, one in sorted(self._metadata.items())
            if wanted in ("", name)
        ]
        return _success(dict(described[: int(limit)] if limit and int(limit) >= 0 else described))

    def _alerts(self, _request: Request) -> Reply:
        now = self._clock.now_ms()
        found = [
            _alert_json(alert)
            for group in self._groups
            for rule in group.rules
            for alert in active_alerts(rule, group, self._samples, now_ms=now, anchor_ms=self._anchor_ms)
        ]
        return _success({"alerts": found})

    def _rules(self, request: Request) -> Reply:
        kind = request.first("type").lower()
        if kind not in ("", "alert", "record"):
            raise BadParameter(f'invalid parameter "type": not supported value "{request.first("type")}"')
        if kind == "record":
            return _success({"groups": []})
        return _success({"groups": [self._group_json(group) for group in self._groups]})

    def _group_json(self, group: RuleGroup) -> object:
        now_ms = self._clock.now_ms()
        evaluated = {"evaluationTime": 0.001, "lastEvaluation": rfc3339(self._clock.now())}
        rules: list[object] = []
        for rule in group.rules:
            alerts = active_alerts(rule, group, self._samples, now_ms=now_ms, anchor_ms=self._anchor_ms)
            rules.append(
                {
                    "state": _state(alerts),
                    "name": rule.alert,
                    "query": rule.expr,
                    "duration": rule.for_ms / 1000 if rule.for_ms % 1000 else rule.for_ms // 1000,
                    "keepFiringFor": 0,
                    "labels": dict(sorted(rule.labels.items())),
                    "annotations": dict(sorted(rule.annotations.items())),
                    "alerts": [_alert_json(alert) for alert in alerts],
                    "health": "ok",
                    **evaluated,
                    "type": "alerting",
                }
            )
        interval = group.interval_ms // 1000
        return {"name": group.name, "file": "rules.yml", "rules": rules, "interval": interval, "limit": 0, **evaluated}

    def _buildinfo(self, _request: Request) -> Reply:
        return _success(
            {
                "version": "2.42.0",
                "revision": "recorded",
                "branch": "recorded",
                "buildUser": "",
                "buildDate": "",
                "goVersion": "",
            }
        )


def _parsed(request: Request) -> Expression:
    try:
        return parse(request.first("query"))
    except ParseFailed as refused:
        raise BadParameter(f'invalid parameter "query": {refused}') from refused


def _selector(match: str) -> tuple[Matcher, ...]:
    try:
        return parse_selector(match)
    except ExpressionRefused as refused:
        reason = str(refused)
        if "at least one non-empty matcher" in reason:
            reason = "match[] must contain at least one non-empty matcher"
        raise BadParameter(f'invalid parameter "match[]": {reason}') from refused


def _check_timeout(request: Request) -> None:
    """Refuse an unreadable `timeout`. A readable one is not needed: MAX_SAMPLES bounds the work."""
    if timeout := request.first("timeout"):
        required_duration("timeout", timeout)


def _state(alerts: list[ActiveAlert]) -> str:
    if any(alert.fired_at is not None for alert in alerts):
        return "firing"
    return "pending" if alerts else "inactive"


def _alert_json(alert: ActiveAlert) -> object:
    return {
        "labels": dict(alert.labels),
        "annotations": dict(alert.annotations),
        "state": "pending" if alert.fired_at is None else "firing",
        "activeAt": rfc3339(alert.active_at),
        "value": scientific(alert.value),
    }


def _success(value: object) -> Reply:
    return _success_text(go_json(value))


def _success_text(encoded: str) -> Reply:
    return Reply(200, _JSON, f'{{"status":"success","data":{encoded}}}'.encode())


def _error(status: int, kind: str, message: str) -> Reply:
    return Reply(status, _JSON, go_json({"status": "error", "errorType": kind, "error": message}).encode())
