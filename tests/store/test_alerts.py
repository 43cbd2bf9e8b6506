"""Episodes as an investigation reads them, and what changed in them since it looked."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inquest.domain.alert import AlertStatus
from inquest.domain.event import MAX_BATCH_BYTES, EpisodeChanged
from inquest.errors import NotFound
from inquest.store import alerts
from inquest.store.alerts import MAX_LISTED_BYTES, MAX_LISTED_MEMBERS
from tests.store.door import MORNING, Door, arrival, firing, intake, named, resolved

MINUTE = timedelta(minutes=1)


async def opened(door: Door, *alerts: object) -> str:
    accepted = await door.take(arrival(*alerts))  # type: ignore[arg-type]
    return accepted.investigations[0].investigation_id


async def test_an_episode_is_read_with_its_members_in_the_order_they_joined(door: Door) -> None:
    investigation_id = await opened(door, firing(pod="b"), firing(pod="a", severity="critical"))
    await door.post(firing(pod="c"), firing(pod="b", at=MORNING - MINUTE))
    await door.post(resolved(pod="b"))

    episode = await door.alerts.episode_for(investigation_id)
    assert (episode.intake, episode.source, episode.sender) == ("am", "alertmanager", {"group_key": "{}"})
    assert [member.alert.labels["pod"] for member in episode.members] == ["a", "b", "c"]
    b = episode.members[1]
    assert (b.alert.status, b.alert.starts_at, b.alert.ends_at, b.occurrences) == (
        AlertStatus.RESOLVED, MORNING - MINUTE, MORNING + 10 * MINUTE, 2,
    )  # fmt: skip
    assert b.alert.annotations == {"summary": "HighLatency of checkout"}
    assert episode.unlisted_members == 0


async def test_a_member_whose_sender_gave_no_start_has_none(door: Door) -> None:
    investigation_id = await opened(door, firing(at=None))

    (member,) = (await door.alerts.episode_for(investigation_id)).members
    assert member.alert.starts_at is None


async def test_members_beyond_the_bound_are_counted(door: Door) -> None:
    members = named([str(n) for n in range(MAX_LISTED_MEMBERS + 5)])
    investigation_id = await opened(door, *members)

    episode = await door.alerts.episode_for(investigation_id)
    assert (len(episode.members), episode.unlisted_members) == (MAX_LISTED_MEMBERS, 5)


async def test_members_beyond_the_bytes_are_counted_but_one_is_always_listed(door: Door) -> None:
    vast = [firing(pod=pod).but(annotations={"log": "x" * MAX_LISTED_BYTES}) for pod in "ab"]
    investigation_id = await opened(door, *vast)

    episode = await door.alerts.episode_for(investigation_id)
    assert (len(episode.members), episode.unlisted_members) == (1, 1)


async def test_what_joined_stopped_and_fired_again_since_a_version_is_exactly_that(door: Door) -> None:
    investigation_id = await opened(door, firing(pod="a"), firing(pod="b"))
    first = await door.alerts.episode_for(investigation_id)
    ids = {member.alert.labels["pod"]: member.alert_id for member in first.members}

    unchanged = await door.alerts.changes(first.episode_id, since=first.version)
    assert (unchanged.version, unchanged.joined, unchanged.resolved) == (first.version, (), ())
    await door.post(firing(pod="a"))
    assert (await door.alerts.changes(first.episode_id, since=first.version)).version == first.version

    await door.post(firing(pod="c"), resolved(pod="a"))
    second = await door.alerts.changes(first.episode_id, since=first.version)
    assert [member.alert.labels["pod"] for member in second.joined] == ["c"]
    assert second.resolved == (ids["a"],)
    await door.post(firing(pod="a"))
    third = await door.alerts.changes(first.episode_id, since=second.version)
    assert (third.joined, third.resolved, third.fired_again) == ((), (), (ids["a"],))
    assert (await door.alerts.changes(first.episode_id, since=third.version)).version == third.version


async def test_of_those_that_stopped_or_fire_again_the_first_are_listed_and_the_rest_counted(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "MAX_LISTED_CHANGES", 3)
    pods = "abcde"
    investigation_id = await opened(door, *(firing(pod=pod, severity="info") for pod in pods))
    await door.post(firing(pod="z", severity="critical"))
    first = await door.alerts.episode_for(investigation_id)
    ids = [member.alert_id for member in first.members]
    quiet = [*(resolved(pod=pod, severity="info") for pod in pods), resolved(pod="z", severity="critical")]
    await door.post(*quiet)

    stopped = await door.alerts.changes(first.episode_id, since=first.version)
    assert (stopped.resolved, stopped.unlisted_resolved) == (tuple(ids[:3]), 3)
    await door.post(*(firing(pod=pod, severity="info") for pod in pods))
    again = await door.alerts.changes(first.episode_id, since=stopped.version)
    assert (again.resolved, again.unlisted_resolved) == ((), 0)
    assert (again.fired_again, again.unlisted_fired_again) == (tuple(ids[:3]), 2)


async def test_what_a_look_at_an_episode_lists_fits_one_batch_of_events() -> None:
    ids = tuple(f"{n:032x}" for n in range(alerts.MAX_LISTED_CHANGES))
    change = EpisodeChanged(resolved=ids, fired_again=ids, window_end=MORNING)

    assert len(change.canonical()) + MAX_LISTED_BYTES < MAX_BATCH_BYTES * 3 / 4


async def test_a_member_gone_silent_is_a_change(door: Door) -> None:
    investigation_id = await opened(door, firing(pod="a"))
    first = await door.alerts.episode_for(investigation_id)
    door.pass_time(timedelta(hours=6))
    door.sweep()

    changes = await door.alerts.changes(first.episode_id, since=first.version)
    assert changes.resolved == (first.members[0].alert_id,)


async def test_the_standing_of_an_episode_goes_from_firing_to_quiet_to_ended(door: Door) -> None:
    investigation_id = await opened(door, firing())
    episode_id = (await door.alerts.episode_for(investigation_id)).episode_id
    assert (await door.alerts.standing(episode_id)).firing
    await door.post(resolved())
    quiet = await door.alerts.standing(episode_id)
    assert (quiet.firing, quiet.quiet_since is None, quiet.ended_at) == (False, False, None)
    door.pass_time(16 * MINUTE)
    door.sweep()
    assert (await door.alerts.standing(episode_id)).ended_at is not None


async def test_firing_alerts_are_listed_most_severe_first_without_heartbeats(door: Door) -> None:
    await door.post(firing("A"), firing("B", severity="critical"), firing("Watchdog", severity="none"), resolved("C"))

    assert [row.name for row in await door.alerts.firing("acme")] == ["B", "A"]
    assert await door.alerts.firing("other") == ()


async def test_what_is_not_there_is_not_found(door: Door) -> None:
    for look in (door.alerts.episode_for("nothing"), door.alerts.standing("nothing")):
        with pytest.raises(NotFound):
            await look
    with pytest.raises(NotFound):
        await door.alerts.changes("nothing", since=0)


async def test_a_list_gives_a_bounded_page(door: Door) -> None:
    await door.post(*named([str(n) for n in range(210)]), into=intake())

    assert len(await door.alerts.firing("acme", most=10_000)) == 200
    assert await door.alerts.firing("acme", most=-1) == ()
