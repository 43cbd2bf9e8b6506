"""Alerting rules: the part of Prometheus' rule file that a recording needs."""

from __future__ import annotations

import re

from inquest.domain.value import Labels, Value

_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_LABEL = re.compile(r"\$labels\.([A-Za-z_]\w*)")
_VALUE = re.compile(r"\$value(?:\s*\|\s*(humanizePercentage|humanize))?")


class AlertingRule(Value):
    """One alerting rule. `for_ms` is how long its expression must hold, in milliseconds."""

    alert: str
    expr: str
    for_ms: int = 0
    labels: Labels = {}
    annotations: Labels = {}


class RuleGroup(Value):
    """Rules evaluated together each `interval_ms`."""

    name: str
    interval_ms: int
    rules: tuple[AlertingRule, ...]


def unknown_template(text: str) -> str | None:
    """Give the first `{{ ... }}` of an annotation that `expanded` cannot fill in, or None."""
    for inside in _TEMPLATE.findall(text):
        if not _LABEL.fullmatch(inside.strip()) and not _VALUE.fullmatch(inside.strip()):
            return f"{{{{{inside}}}}}"
    return None


def expanded(text: str, labels: Labels, value: float) -> str:
    """Fill in `{{ $labels.x }}`, `{{ $value }}` and `{{ $value | humanizePercentage }}` (or `humanize`)."""

    def fill(template: re.Match[str]) -> str:
        inside = template.group(1).strip()
        if (label := _LABEL.fullmatch(inside)) is not None:
            return labels.get(label.group(1), "")
        if (number := _VALUE.fullmatch(inside)) is None:
            return template.group(0)
        if number.group(1) == "humanizePercentage":
            return f"{value * 100:.4g}%"
        return f"{value:.4g}" if number.group(1) else f"{value:g}"

    return _TEMPLATE.sub(fill, text)
