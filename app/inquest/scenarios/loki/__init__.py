"""Loki's HTTP API over recorded log lines, single tenant: X-Scope-OrgID is not looked at."""
