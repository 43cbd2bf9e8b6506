"""When an episode was over, as its senders say it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from inquest.domain.alert import Alert, AlertStatus
from tests.builders import NOW, alert, episode

OVER = alert("Over", status=AlertStatus.RESOLVED)
LATER = OVER.but(ends_at=NOW + timedelta(minutes=3))


@pytest.mark.parametrize(
    ("alerts", "end"),
    [
        ((OVER,), NOW),
        ((LATER, OVER), NOW + timedelta(minutes=3)),
        ((OVER, alert("Firing")), None),
        ((OVER, OVER.but(ends_at=None)), None),
    ],
    ids=["one", "the last one", "one fires", "one whose end nobody said"],
)
def test_an_episode_ends_with_its_last_member(alerts: tuple[Alert, ...], end: datetime | None) -> None:
    assert episode(*alerts).last_end == end


def test_members_that_are_only_counted_leave_the_end_unknown() -> None:
    assert episode(OVER).but(unlisted_members=1).last_end is None
