"""The ALERTS series that Prometheus writes about its own rules."""

from __future__ import annotations

from inquest.scenarios.generate.recorder import Recorder, metric
from inquest.scenarios.pack.rules import RuleGroup
from inquest.scenarios.promql.evaluate import evaluate_range
from inquest.scenarios.promql.grid import Grid
from inquest.scenarios.promql.parse import parse
from inquest.scenarios.promql.samples import NAME, Samples


def record_alerts(recorder: Recorder, samples: Samples, group: RuleGroup, grid: Grid) -> None:
    """Record, at each evaluation of `grid`, which alerts of `group` were pending or firing."""
    for rule in group.rules:
        for labels, points in evaluate_range(parse(rule.expr), samples, grid, horizon_ms=grid.times[-1]).series:
            shown = {name: value for name, value in labels if name != NAME} | rule.labels | {"alertname": rule.alert}
            since, before = points[0][0], points[0][0]
            for at, _ in points:
                since = at if at - before > grid.step_ms else since
                state = "firing" if at - since >= rule.for_ms else "pending"
                recorder.add(metric("ALERTS", shown, alertstate=state), at, 1.0)
                before = at
