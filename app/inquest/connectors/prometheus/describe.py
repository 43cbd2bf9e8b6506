"""The tools of Prometheus as a model sees them."""

from __future__ import annotations

from collections.abc import Sequence

from inquest.connectors.prometheus.config import PrometheusConfig
from inquest.domain.observation import Signal
from inquest.domain.tool import ToolSpec
from inquest.domain.value import Json
from inquest.wire.promql.lexical import MAX_EXPRESSION_CHARS
from inquest.wire.tool_schema import text, tool_schema

_EXPRESSION = text(
    'PromQL expression, as in sum by (pod) (rate(http_requests_total{job="web"}[5m])).', most=MAX_EXPRESSION_CHARS
)
_SELECTOR = text(
    'PromQL series selector, as in http_requests_total{job="web"} or {job="web"}.', most=MAX_EXPRESSION_CHARS
)
_SEARCH = text("Keep only what holds this text, case ignored.")


def query(config: PrometheusConfig) -> ToolSpec:
    """Describe the instant query."""
    return _spec(
        config,
        "query",
        "Evaluate a PromQL expression at one moment, the end of the time range. For counts, top lists and the "
        "state at a time. For how a value moved over time use query_range.",
        {"expression": _EXPRESSION},
        required=["expression"],
        signal="metrics",
        cost=2,
    )


def query_range(config: PrometheusConfig) -> ToolSpec:
    """Describe the range query."""
    return _spec(
        config,
        "query_range",
        "Evaluate a PromQL expression over the time range: one series of points for each label set. Use rate() on "
        "counters. Leave a comparison such as > 0.05 away, or the points below it are missing. Aggregate (sum by, "
        "topk) to keep the series few.",
        {
            "expression": _EXPRESSION,
            "step_seconds": {
                "type": "integer",
                "minimum": 1,
                "maximum": 86_400,
                "description": "Distance of the points. Default: the finest that gives at most 250 points.",
            },
        },
        required=["expression"],
        signal="metrics",
        cost=3,
    )


def series(config: PrometheusConfig) -> ToolSpec:
    """Describe the series look-up."""
    return _spec(
        config,
        "series",
        "List the label sets of the series that match a selector and have samples in the time range. For finding "
        "which pods, instances or targets exist before querying them.",
        {"selector": _SELECTOR},
        required=["selector"],
        signal="names",
        cost=3,
    )


def labels(config: PrometheusConfig) -> ToolSpec:
    """Describe the label look-up."""
    return _spec(
        config,
        "labels",
        "List the values of a label in the time range, or, without `label`, the label names. label=__name__ lists "
        "the metric names.",
        {
            "label": text("Label whose values are listed. Leave out for label names."),
            "selector": {**_described(_SELECTOR), "description": "Only series that match this selector."},
            "search": _SEARCH,
        },
        signal="names",
        cost=1,
    )


def metadata(config: PrometheusConfig) -> ToolSpec:
    """Describe the metric search."""
    return _spec(
        config,
        "metadata",
        "Search metrics by name or help text; gives type, help and unit. Use it when a metric's name is not known.",
        {"search": _SEARCH},
        signal="names",
        cost=1,
    )


def rules(config: PrometheusConfig) -> ToolSpec:
    """Describe the rules."""
    return _spec(
        config,
        "rules",
        "List alerting and recording rules with their expressions, durations and states. Use it to learn what an "
        "alert measures and how a recorded metric is made.",
        {"search": text("Keep only rules whose name or expression holds this text, case ignored.")},
        signal="rules",
        cost=2,
    )


def alerts(config: PrometheusConfig) -> ToolSpec:
    """Describe the alerts."""
    return _spec(
        config,
        "alerts",
        "List the alerts that fire or are pending at the source now and began before the end of the time range.",
        {"search": text("Keep only alerts with a label or annotation that holds this text, case ignored.")},
        signal="alerts",
        cost=1,
    )


def _spec(
    config: PrometheusConfig,
    operation: str,
    description: str,
    properties: dict[str, Json],
    *,
    signal: Signal,
    cost: int,
    required: Sequence[str] = (),
) -> ToolSpec:
    return ToolSpec(
        name=f"{config.tool_prefix}_{operation}",
        description=description,
        parameters=tool_schema(properties, required=required),
        source=config.name,
        signal=signal,
        cost=cost,
        step_ms=config.step_ms,
    )


def _described(schema: Json) -> dict[str, Json]:
    return dict(schema) if isinstance(schema, dict) else {}
