"""What an integration with Loki is told, and where its API is."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Self

from pydantic import Field, field_validator, model_validator

from inquest.domain.observation import Context
from inquest.domain.value import Labels, Value
from inquest.wire.logql import MAX_REACH

MAX_LINES = 5_000
"""Lines of one page: Loki's own max_entries_limit_per_query."""
MAX_POINTS = 250
"""Points of a series that a model can use."""
GUARDED_FROM = timedelta(hours=1)
"""A query over more than this asks the index first how much it would read."""
MAX_SCAN_BYTES = 2 * 1024**3
"""What one query may make Loki read: some seconds of one querier (engineering judgement)."""
STEP_MS = 15_000
TENANT_HEADER = "X-Scope-OrgID"

API = ("loki", "api", "v1")
QUERY_RANGE = (*API, "query_range")
SERIES = (*API, "series")
LABELS = (*API, "labels")
STATS = (*API, "index", "stats")
QUERY_ENDPOINTS = frozenset({QUERY_RANGE, SERIES, STATS})
"""What may be posted to: a long expression does not fit into a URL. Give it to the transport as `post_to`."""

LABEL_NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]{0,254}\Z")
_ORG_ID = re.compile(r"^[A-Za-z0-9!_.*'()-]{1,150}\Z")


class LokiConfig(Value):
    """One integration. `context` is its identity, whose pins an investigation must carry.

    `org_id` is the tenant, "" where Loki has none. `mandatory_matchers` (label: value) go into every
    selector. `explore_url` is a Grafana ("" where there is none) in which `datasource` is this Loki's uid.
    `max_scan_bytes` is what a query over more than an hour may read. `max_reach` is the longest range of a
    count. `tool_prefix` begins every tool's name; the table of seed calls knows "loki".
    """

    name: str
    context: Context
    org_id: str = ""
    mandatory_matchers: Labels = Field(default_factory=dict)
    explore_url: str = ""
    datasource: str = "loki"
    max_scan_bytes: int = Field(default=MAX_SCAN_BYTES, gt=0)
    max_reach: timedelta = MAX_REACH
    step_ms: int = Field(default=STEP_MS, ge=1_000, le=3_600_000)
    tool_prefix: str = Field(default="loki", pattern=r"^[a-z][a-z0-9_]{0,39}$")

    @field_validator("mandatory_matchers")
    @classmethod
    def _selectable(cls, matchers: Labels) -> Labels:
        for name, value in matchers.items():
            if not LABEL_NAME.match(name) or not value:
                msg = f"mandatory_matchers: {name!r} needs a label name and a value"
                raise ValueError(msg)
        return matchers

    @model_validator(mode="after")
    def _one_tenant(self) -> Self:
        if self.org_id and not _ORG_ID.match(self.org_id):
            msg = "org_id: write the id of one tenant; several in one request are not taken"
            raise ValueError(msg)
        if self.org_id and self.context.tenant and self.org_id != self.context.tenant:
            msg = "org_id: is another tenant than the one that is pinned"
            raise ValueError(msg)
        return self

    @property
    def headers(self) -> dict[str, str]:
        """Give the headers that its endpoint sends with every request."""
        return {TENANT_HEADER: self.org_id} if self.org_id else {}
