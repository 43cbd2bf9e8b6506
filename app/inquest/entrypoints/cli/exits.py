"""Exit codes: what a script may rely on."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended (design 13)."""

    ANSWERED = 0
    """A cause, healthy, or noise."""
    OPEN = 1
    """Inconclusive, or contributing factors only."""
    FAILED = 2
    """The investigation failed, a check did, or something that is needed did not answer."""
    USAGE = 3
    """Configuration or usage."""
    DEGRADED = 4
    """Concluded by the analyst in the model's place."""
    CANCELLED = 5
    INTERRUPTED = 130
    """Ctrl-C (128 + SIGINT, as shells say it). An investigation in the works is not cancelled by it."""
    TERMINATED = 143
    """SIGTERM or SIGHUP, likewise."""
    PIPE_CLOSED = 141
    """Whoever read the output has gone (128 + SIGPIPE)."""


def exit_of(*, status: str, verdict: str, degraded: bool) -> Exit:
    """Give the exit code of an ended investigation. A succeeded one without a verdict was noise."""
    if status == "cancelled":
        return Exit.CANCELLED
    if status != "succeeded":
        return Exit.FAILED
    if degraded:
        return Exit.DEGRADED
    return Exit.ANSWERED if verdict in _ANSWERS else Exit.OPEN


_ANSWERS = frozenset({"", "cause_found", "healthy"})
"""Verdicts that answer; a test compares them with `domain.diagnosis.Verdict`, which is slow to import."""
