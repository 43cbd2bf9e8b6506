"""The tools of Loki as a model sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inquest.connectors.loki.config import MAX_LINES, LokiConfig
from inquest.domain.observation import Signal
from inquest.domain.tool import ToolSpec
from inquest.domain.value import Json
from inquest.wire.logql import MAX_EXPRESSION_CHARS
from inquest.wire.tool_schema import text, tool_schema

_SELECTOR_WORDS = 'LogQL stream selector, as in {namespace="shop", app=~"web|api"}.'


def query(config: LokiConfig) -> ToolSpec:
    """Describe the query."""
    return _spec(
        config,
        "query",
        "Read log lines, or count them, over the time range. Lines come in time order, the newest `limit` of them "
        'unless direction is forward. For lines: a stream selector, then |= "text", != "text", |~ "regex", !~ "regex", '
        '| json, | logfmt, label filters such as | status >= 500 and level="error", | line_format "{{.msg}}". '
        "For numbers over time: count_over_time, rate, bytes_over_time or bytes_rate over a query and a range, as in "
        'sum by (pod) (count_over_time({app="web"} |= "error" [5m])); also avg, min, max, count, topk, bottomk. '
        "The selector needs a matcher that does not match everything.",
        {
            "expression": text('LogQL expression, as in {app="web"} |= "timeout".', most=MAX_EXPRESSION_CHARS),
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LINES,
                "description": "Most lines, or series, to give. Default: 500.",
            },
            "direction": {
                "type": "string",
                "enum": ["backward", "forward"],
                "description": "Which lines to give where there are more than the limit: the newest (backward, the "
                "default) or the oldest (forward).",
            },
            "step_seconds": {
                "type": "integer",
                "minimum": 1,
                "maximum": 86_400,
                "description": "For numbers: distance of the points. Default: the finest that gives at most 250 points.",
            },
            "cursor": text("The next_cursor of an earlier answer to the same query: the page after it.", most=4_096),
        },
        required=["expression"],
        signal="logs",
        cost=5,
    )


def labels(config: LokiConfig) -> ToolSpec:
    """Describe the label look-up."""
    return _spec(
        config,
        "labels",
        "List the values that a stream label has in the time range, or, without `label`, the names of the labels. Use "
        "it to find which applications, namespaces or pods have logs before querying them.",
        {
            "label": text("Label whose values are listed. Leave out for label names."),
            "selector": text(f"Only streams of this {_SELECTOR_WORDS}", most=MAX_EXPRESSION_CHARS),
            "search": text("Keep only what holds this text, case ignored."),
        },
        signal="names",
        cost=1,
    )


def volume(config: LokiConfig) -> ToolSpec:
    """Describe the volume."""
    return _spec(
        config,
        "volume",
        "Count the streams, log lines and bytes that a stream selector covers in the time range, without reading "
        "them. Use it before a query over a long time or a wide selector, and to see whether a service logs at all.",
        {"selector": text(_SELECTOR_WORDS, most=MAX_EXPRESSION_CHARS)},
        required=["selector"],
        signal="logs",
        cost=1,
    )


def _spec(
    config: LokiConfig,
    operation: str,
    description: str,
    properties: Mapping[str, Json],
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
