"""Half-open stretches of time, and the two that every investigation has: incident and baseline."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from pydantic import model_validator

from inquest.domain.value import Instant, Value

LOOKBACK = timedelta(minutes=120)
"""How far before the anchor the incident window begins."""
AFTER_RESOLVED = timedelta(minutes=10)
"""How long after the last resolve the window still runs."""
LONGEST = timedelta(days=7)
"""A longer window is cut to the first day around the anchor and the last hour (design 8, stage 2)."""
CUT_AFTER_ANCHOR = timedelta(hours=22)
LAST_HOUR = timedelta(hours=1)


class Window(Value):
    """[start, end) in UTC, start < end."""

    start: Instant
    end: Instant

    @model_validator(mode="after")
    def _runs_forward(self) -> Self:
        if self.start >= self.end:
            msg = "a window's start is before its end"
            raise ValueError(msg)
        return self

    @property
    def length(self) -> timedelta:
        """Give end - start."""
        return self.end - self.start

    def contains(self, other: Window) -> bool:
        """Say whether `other` lies within this window."""
        return self.start <= other.start and other.end <= self.end


class IncidentWindow(Value):
    """What an investigation may look at, fixed by stage 2.

    `incident` is where the trouble is, `baseline` the same length before it. `last_hour` is set only
    when the trouble is over seven days old and `incident` was cut to its first day.
    """

    anchor: Instant
    incident: Window
    baseline: Window
    last_hour: Window | None = None

    def allows(self, asked: Window) -> bool:
        """Say whether a query over `asked` stays between baseline.start and the end of what is looked at."""
        return self.reach.contains(asked)

    @property
    def reach(self) -> Window:
        """Give baseline.start .. the latest end: outside it every query is invalid_query."""
        end = self.incident.end if self.last_hour is None else max(self.incident.end, self.last_hour.end)
        return Window(start=self.baseline.start, end=end)


def incident_window(
    *, firing_since: datetime | None, received_at: datetime, ended_at: datetime | None, now: datetime
) -> IncidentWindow:
    """Fix the window of an incident from the alert's times.

    `firing_since` is the earliest starts_at of a firing member, `ended_at` the last ends_at or None while
    any member fires. A starts_at in the future (a sender's clock) is capped by received_at; a window is
    never empty nor negative.
    """
    anchor = min(firing_since or received_at, received_at)
    start = anchor - LOOKBACK
    end = now if ended_at is None else min(ended_at + AFTER_RESOLVED, now)
    end = max(end, anchor + timedelta(seconds=1))
    last_hour = None
    if end - start > LONGEST:
        last_hour = Window(start=end - LAST_HOUR, end=end)
        end = anchor + CUT_AFTER_ANCHOR
    incident = Window(start=start, end=end)
    baseline = Window(start=start - incident.length, end=start)
    return IncidentWindow(anchor=anchor, incident=incident, baseline=baseline, last_hour=last_hour)


def snap(moment: datetime, step: timedelta) -> datetime:
    """Round `moment` down to a whole multiple of `step` since 1970 UTC."""
    epoch = datetime(1970, 1, 1, tzinfo=moment.tzinfo)
    return epoch + ((moment - epoch) // step) * step
