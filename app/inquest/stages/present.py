"""What a source knows of the present alone, and why that is no evidence of an incident that is over. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from inquest.domain.observation import Signal
from inquest.domain.tool import ToolSpec

if TYPE_CHECKING:
    from inquest.domain.investigation import Facts, Investigation

OF_THE_PRESENT: frozenset[Signal] = frozenset({"alerts"})
"""Kinds of signal that a source has of now, whatever time range it is asked about."""
LATE = timedelta(minutes=5)
"""So long behind the window's end, what is now says nothing of the window any more."""


def why_not_now(facts: Facts | None, began_at: datetime) -> str:
    """Say why what is now is no evidence; "" where it is. `began_at`: when the investigation did, so that it stays so."""
    if facts is None or began_at - facts.window.reach.end <= LATE:
        return ""
    return f"it shows what is now, and the window ended at {facts.window.reach.end:%Y-%m-%d %H:%M:%S} UTC"


def fit_to_ask(specs: Mapping[str, ToolSpec], state: Investigation) -> Mapping[str, ToolSpec]:
    """Give the tools whose answers can be evidence of this incident."""
    if not why_not_now(state.facts, state.started_at):
        return specs
    return {name: spec for name, spec in specs.items() if spec.signal not in OF_THE_PRESENT}
