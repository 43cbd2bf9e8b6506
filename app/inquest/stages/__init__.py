"""The six stages of an investigation, in order: the table of contents of the product."""

from __future__ import annotations

from typing import Literal

StageName = Literal["resolve_integrations", "extract_alert", "plan_actions", "gather_evidence", "diagnose", "deliver"]

STAGES: tuple[StageName, ...] = (
    "resolve_integrations",
    "extract_alert",
    "plan_actions",
    "gather_evidence",
    "diagnose",
    "deliver",
)
