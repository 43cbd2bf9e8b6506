"""Exit codes: what a script may rely on."""

from __future__ import annotations

from enum import IntEnum

from inquest.domain.diagnosis import Verdict


class Exit(IntEnum):
    """How a command ended (design 13)."""

    ANSWERED = 0
    """A cause, healthy, or noise."""
    OPEN = 1
    """Inconclusive, or contributing factors only."""
    FAILED = 2
    """The investigation failed, or a check did."""
    USAGE = 3
    """Configuration or usage."""
    DEGRADED = 4
    """Concluded by the analyst in the model's place."""
    CANCELLED = 5


def exit_of(*, status: str, verdict: str, degraded: bool) -> Exit:
    """Give the exit code of an ended investigation. A succeeded one without a verdict was noise."""
    if status == "cancelled":
        return Exit.CANCELLED
    if status != "succeeded":
        return Exit.FAILED
    if degraded:
        return Exit.DEGRADED
    return Exit.ANSWERED if verdict in {"", Verdict.CAUSE_FOUND, Verdict.HEALTHY} else Exit.OPEN
