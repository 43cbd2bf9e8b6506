"""How the forms word times, counts and kinds: the same in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime, timedelta

_MINUTE, _HOUR = 60, 3_600
USD_MICROS = 1_000_000


class Said(NamedTuple):
    """A word for a reader, and what it means."""

    word: str
    meaning: str


KINDS: dict[str, Said] = {
    "received": Said("Received", "the alert is taken, the investigation has not ended."),
    "progress": Said("In progress", "what is known so far."),
    "question": Said("A question", "the investigation waits for an answer."),
    "report": Said("Report", "the investigation has ended."),
    "members": Said("More alerts", "alerts joined after the investigation ended."),
    "failed": Said("Failed", "the investigation ended without a diagnosis; this is the evidence so far."),
    "cancelled": Said("Cancelled", "the investigation was ended before it had a diagnosis."),
    "noise": Said("No incident", "it was told to be noise, so nothing was asked, and there is no report."),
    "resolved": Said("Resolved", "no alert of this episode fires any more."),
}
CANCELLED_BECAUSE = {
    "asked": "An operator asked for it.",
    "expired": "It was deferred until an hour after its episode had ended.",
}
"""What the reason of a `run_cancelled` means; another release's reason stands as it is."""
STILL_GOING = frozenset({"received", "progress", "question"})
"""Kinds of the revisions that are sent before the investigation has ended."""
VERDICTS: dict[str, Said] = {
    "cause_found": Said("Cause found", "the cause is shown by evidence that code has checked."),
    "contributing_only": Said(
        "Contributing factors only", "what follows is confirmed, but it is not shown to be the cause."
    ),
    "inconclusive": Said("Inconclusive", "the evidence does not show a cause."),
    "healthy": Said("Healthy", "the alert's own signal was seen, and nothing in it or around it has failed."),
}


def moment(at: datetime) -> str:
    """Write a moment to the second, as in `2026-03-01 10:02:15 UTC`."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def duration(length: timedelta) -> str:
    """Write a length of time, as in `1 h 2 min 3 s`."""
    seconds = int(length.total_seconds())
    hours, minutes, rest = seconds // _HOUR, seconds % _HOUR // _MINUTE, seconds % _MINUTE
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


def plural(number: int, noun: str) -> str:
    """Count a noun: `1 time`, `2 times`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def dollars(micros: int) -> str:
    """Write an amount in micro-dollars, as in `0.0123 USD` (a $ begins a formula in some Markdown)."""
    return f"{micros / USD_MICROS:.4f} USD"
