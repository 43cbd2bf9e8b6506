"""What an integration with Prometheus is told, and where its API is."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field, field_validator

from inquest.domain.observation import Context
from inquest.domain.value import Labels, Value
from inquest.wire.promql import MAX_REACH
from inquest.wire.promql.printer import LEGACY_NAME

MAX_POINTS = 250
"""Points of a series that a model can use; Prometheus itself refuses more than 11,000."""
STEP_MS = 15_000

API = ("api", "v1")
QUERY = (*API, "query")
QUERY_RANGE = (*API, "query_range")
SERIES = (*API, "series")
LABELS = (*API, "labels")
QUERY_ENDPOINTS = frozenset({QUERY, QUERY_RANGE, SERIES, LABELS})
"""What may be posted to: a long expression does not fit into a URL. Give it to the transport as `post_to`."""


class PrometheusConfig(Value):
    """One integration. `context` is its identity, whose pins an investigation must carry.

    `mandatory_matchers` (label: value) go into every selector. `url` is where a human opens it. `step_ms`
    is the scrape interval: no range query asks a finer one. `tool_prefix` begins every tool's name; the
    table of seed calls knows "prometheus".
    """

    name: str
    context: Context
    url: str
    mandatory_matchers: Labels = Field(default_factory=dict)
    step_ms: int = Field(default=STEP_MS, ge=1_000, le=3_600_000)
    max_reach: timedelta = MAX_REACH
    tool_prefix: str = Field(default="prometheus", pattern=r"^[a-z][a-z0-9_]{0,39}$")

    @field_validator("mandatory_matchers")
    @classmethod
    def _selectable(cls, matchers: Labels) -> Labels:
        for name, value in matchers.items():
            if not LEGACY_NAME.match(name) or name == "__name__" or not value:
                msg = f"mandatory_matchers: {name!r} needs a label name (not __name__) and a value"
                raise ValueError(msg)
        return matchers
