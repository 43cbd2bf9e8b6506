"""Which alerts the rules raise at a moment: the rules are evaluated over the recording, nothing is canned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from inquest.domain.value import from_epoch_ms
from inquest.scenarios.pack.rules import AlertingRule, RuleGroup, expanded
from inquest.scenarios.promql.evaluate import evaluate_range
from inquest.scenarios.promql.grid import every
from inquest.scenarios.promql.parse import parse
from inquest.scenarios.promql.samples import NAME, Samples

_LOOK_BACK_MS = 6 * 3600 * 1000  # an alert that began earlier shows this as its beginning


@dataclass(frozen=True, slots=True)
class ActiveAlert:
    """One alert of a rule. `fired_at` is None while it is pending."""

    labels: dict[str, str]
    annotations: dict[str, str]
    active_at: datetime
    fired_at: datetime | None
    value: float


def active_alerts(
    rule: AlertingRule, group: RuleGroup, samples: Samples, *, now_ms: int, anchor_ms: int
) -> list[ActiveAlert]:
    """Give the alerts of `rule` at `now_ms`, ordered by labels.

    The group is evaluated each interval before and after `anchor_ms`, since that is when the recorded
    alert began to fire.
    """
    interval = group.interval_ms
    last = now_ms - (now_ms - anchor_ms) % interval
    grid = every(last - _LOOK_BACK_MS // interval * interval, last, interval)
    found = []
    for labels, points in evaluate_range(parse(rule.expr), samples, grid, horizon_ms=now_ms).series:
        if points[-1][0] != last:
            continue
        active_ms = _since(points, interval)
        fired_ms = active_ms + -(-rule.for_ms // interval) * interval
        own = {name: value for name, value in labels if name != NAME}
        shown = {**own, **rule.labels, "alertname": rule.alert}
        found.append(
            ActiveAlert(
                labels=dict(sorted(shown.items())),
                annotations={
                    name: expanded(text, own, points[-1][1]) for name, text in sorted(rule.annotations.items())
                },
                active_at=from_epoch_ms(active_ms),
                fired_at=from_epoch_ms(fired_ms) if fired_ms <= last else None,
                value=points[-1][1],
            )
        )
    return found


def _since(points: tuple[tuple[int, float], ...], interval: int) -> int:
    """Give the first time of the unbroken run that ends with the last point."""
    since = points[-1][0]
    for at, _ in reversed(points[:-1]):
        if since - at != interval:
            break
        since = at
    return since
