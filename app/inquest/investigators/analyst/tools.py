"""The tools that the analyst knows by name. Where one is not connected, its step is left out."""

from __future__ import annotations

RANGE_TOOL = "prometheus_query_range"
RULES_TOOL = "prometheus_rules"
SERIES_TOOL = "prometheus_series"
DEPLOYMENTS_TOOL = "gitlab_deployments"
MERGES_TOOL = "gitlab_merge_requests"
EVERY_PROJECT = "*"
LINES_TOOL = "loki_query"
JUDGE_TOOL = "judge"
