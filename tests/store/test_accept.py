"""What one post does to the rows: design 6, rule by rule."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inquest.domain.alert import AlertStatus
from tests.store.door import MORNING, Door, arrival, firing, intake, named, resolved

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def investigations(door: Door) -> list[str]:
    return [
        str(status) for status in door.column("select status from investigation order by created_at, investigation_id")
    ]


async def test_the_first_firing_member_opens_and_the_others_join(door: Door) -> None:
    accepted = await door.take(arrival(firing(pod="a"), firing(pod="b")))

    assert [str(word) for word in accepted.outcomes or ()] == ["opened", "joined"]
    (admitted,) = accepted.investigations
    row = door.row("select * from investigation")
    assert (row["investigation_id"], row["status"], row["title"]) == (
        admitted.investigation_id,
        "queued",
        "HighLatency",
    )
    assert (row["service"], row["session_id"], row["workflow"]) == ("checkout", "intake:am", "investigate/1")
    assert row["origin"] == {"intake": "am", "source": "alertmanager"}
    assert door.column("select occurrences from alert") == [1, 1]


async def test_an_opened_investigation_rings_and_plans_received_for_every_destination(door: Door) -> None:
    await door.post(firing(), into=intake(destinations=("slack", "folder")))

    assert sorted(door.column("select destination from delivery_target")) == ["folder", "slack"]
    planned = door.rows("select kind, state, revision from delivery")
    assert planned == [{"kind": "received", "state": "planned", "revision": 1}] * 2
    rung = door.rows(
        "select queue_name, task_name, args ->> 'id' as id, lock, queueing_lock from procrastinate.procrastinate_jobs"
    )
    assert {(job["queue_name"], job["task_name"], job["lock"], job["queueing_lock"]) for job in rung} == {
        ("investigations", "investigate", None, None),
        ("deliveries", "deliver", None, None),
    }
    waiting = door.column("select investigation_id from investigation union all select target_id from delivery_target")
    assert sorted(job["id"] for job in rung) == sorted(waiting)


async def test_a_firing_post_of_a_row_that_fires_is_that_row_with_the_earlier_start(door: Door) -> None:
    await door.post(firing(at=MORNING))
    assert await door.post(firing(at=MORNING + 3 * MINUTE)) == {"duplicate": 1}
    assert await door.post(firing(at=MORNING - 3 * MINUTE)) == {"duplicate": 1}

    row = door.row("select occurrences, starts_at from alert")
    assert row == {"occurrences": 3, "starts_at": MORNING - 3 * MINUTE}


async def test_the_earlier_start_is_not_taken_from_a_row_of_its_own(door: Door) -> None:
    await door.post(firing(at=MORNING))
    await door.post(resolved(at=MORNING))
    await door.post(firing(at=MORNING + HOUR))
    assert await door.post(firing(at=MORNING)) == {"duplicate": 1}

    rows = door.rows("select status, starts_at from alert order by starts_at")
    assert rows == [
        {"status": "resolved", "starts_at": MORNING},
        {"status": "firing", "starts_at": MORNING + HOUR},
    ]


async def test_an_alert_without_a_start_begins_when_it_came_and_is_found_again(door: Door) -> None:
    assert await door.post(firing(at=None)) == {"opened": 1}
    assert await door.post(firing(at=None)) == {"duplicate": 1}
    assert await door.post(resolved(at=None)) == {"resolved_only": 1}
    assert await door.post(resolved(at=None)) == {"resolved_only": 1}

    assert door.row("select status, occurrences from alert") == {"status": "resolved", "occurrences": 2}


async def test_a_start_of_our_own_clock_is_not_held_against_the_senders_end(door: Door) -> None:
    await door.post(firing(at=None))
    await door.post(resolved(at=MORNING, until=MORNING + MINUTE))

    assert door.row("select status from alert") == {"status": "resolved"}


async def test_firing_again_with_the_same_start_is_a_duplicate_while_the_episode_lives(door: Door) -> None:
    await door.post(firing())
    await door.post(resolved())
    door.pass_time(10 * MINUTE)
    assert await door.post(firing()) == {"duplicate": 1}

    assert door.row("select status, occurrences, ends_at from alert") == {
        "status": "firing", "occurrences": 2, "ends_at": None,
    }  # fmt: skip
    assert door.row("select quiet_since, ended_at from episode") == {"quiet_since": None, "ended_at": None}
    assert investigations(door) == ["queued"]


async def test_firing_again_with_the_same_start_after_the_episode_opens_the_next(door: Door) -> None:
    await door.post(firing())
    await door.post(resolved())
    door.pass_time(16 * MINUTE)
    assert await door.post(firing()) == {"opened": 1}

    first, second = door.rows("select * from episode order by opened_at")
    assert first["ended_at"] is not None
    assert second["previous_episode_id"] == first["episode_id"]
    assert investigations(door) == ["queued", "queued"]


async def test_firing_again_with_a_new_start_joins_the_quiet_episode(door: Door) -> None:
    await door.post(firing())
    await door.post(resolved())
    door.pass_time(10 * MINUTE)

    assert await door.post(firing(at=MORNING + HOUR)) == {"joined": 1}
    assert len(door.rows("select 1 from episode")) == 1


async def test_an_episode_ends_after_quiet_for_even_when_no_sweep_ran(door: Door) -> None:
    await door.post(firing())
    await door.post(resolved())
    quiet = door.row("select quiet_since from episode")["quiet_since"]
    assert quiet is not None
    door.pass_time(2 * HOUR)
    await door.post(firing(at=MORNING + 3 * HOUR))

    ended = door.row("select ended_at, quiet_since from episode order by opened_at limit 1")
    assert ended["ended_at"] - ended["quiet_since"] == 15 * MINUTE


async def test_resolved_members_never_open_anything(door: Door) -> None:
    assert await door.post(resolved(), resolved(pod="b")) == {"resolved_only": 2}

    assert door.rows("select 1 from episode") == door.rows("select 1 from investigation") == []
    assert door.column("select occurrences from alert") == [0, 0]


async def test_a_resolve_of_an_earlier_stretch_leaves_what_fires_since(door: Door) -> None:
    await door.post(firing(at=MORNING + HOUR))
    await door.post(resolved(at=MORNING, until=MORNING + 10 * MINUTE))

    assert door.row("select status from alert where starts_at = %s", MORNING + HOUR) == {"status": "firing"}


async def test_a_resolve_with_a_peers_start_ends_the_row_and_leaves_no_other(door: Door) -> None:
    await door.post(firing(at=MORNING))
    await door.post(resolved(at=MORNING + 4 * MINUTE, until=MORNING + 9 * MINUTE))
    await door.post(resolved(at=MORNING + 5 * MINUTE, until=MORNING + 9 * MINUTE))

    row = door.row("select status, starts_at, ends_at from alert")
    assert row == {"status": "resolved", "starts_at": MORNING, "ends_at": MORNING + 9 * MINUTE}


async def test_a_post_is_a_snapshot_one_firing_member_keeps_its_fingerprint_firing(door: Door) -> None:
    """Pods that share a fingerprint, because pod is not part of the identity."""
    one, other = firing(fingerprint="same"), firing(fingerprint="same", at=MORNING + MINUTE)
    assert await door.post(one, other) == {"opened": 1, "duplicate": 1}
    assert await door.post(resolved(fingerprint="same"), other) == {"resolved_only": 1, "duplicate": 1}

    row = door.row("select status, starts_at, occurrences from alert")
    assert row == {"status": "firing", "starts_at": MORNING, "occurrences": 3}


async def test_members_join_while_the_investigation_runs_and_are_linked_after_it(door: Door) -> None:
    await door.post(firing(pod="a"))
    assert await door.post(firing(pod="a"), firing(pod="b")) == {"duplicate": 1, "joined": 1}
    door.end_investigation()
    assert await door.post(firing(pod="c")) == {"linked": 1}

    assert len(set(door.column("select episode_id from alert"))) == 1
    assert investigations(door) == ["succeeded"]


@pytest.mark.parametrize(
    ("waited", "alert", "word"),
    [
        (29 * MINUTE, firing("Another"), "linked"),
        (31 * MINUTE, firing("Another"), "opened"),
        (31 * MINUTE, firing(pod="b"), "linked"),
        (31 * MINUTE, firing(pod="b", severity="critical"), "opened"),
        (31 * MINUTE, firing(pod="b", severity="info"), "linked"),
    ],
)
async def test_only_after_the_cooldown_and_only_for_news_the_next_episode_begins(
    door: Door, waited: timedelta, alert: object, word: str
) -> None:
    by = intake(group_by=("service",))
    await door.post(firing(pod="a"), into=by)
    door.end_investigation()
    door.pass_time(waited)

    assert await door.post(alert, into=by) == {word: 1}  # type: ignore[arg-type]


async def test_the_next_episode_is_linked_and_takes_what_still_fires_with_it(door: Door) -> None:
    by = intake(group_by=("service",))
    first = await door.take(arrival(firing(pod="a"), firing(pod="gone"), into=by))
    await door.post(resolved(pod="gone"), into=by)
    door.end_investigation()
    door.pass_time(31 * MINUTE)
    second = await door.take(arrival(firing("Another"), into=by))

    old, new = door.rows("select * from episode order by opened_at")
    assert old["ended_at"] is not None
    assert new["previous_episode_id"] == old["episode_id"]
    episode = await door.alerts.episode_for(second.investigations[0].investigation_id)
    assert episode.previous_investigation_id == first.investigations[0].investigation_id
    assert sorted(member.alert.name for member in episode.members) == ["Another", "HighLatency"]
    assert await door.post(firing(pod="a"), into=by) == {"duplicate": 1}
    standing = await door.alerts.standing(old["episode_id"])
    assert standing.next_investigation_id == second.investigations[0].investigation_id


async def test_the_next_episode_is_as_severe_as_what_goes_on_in_it(door: Door) -> None:
    by = intake(group_by=("service",))
    await door.post(firing(severity="critical"), into=by)
    door.end_investigation()
    door.pass_time(31 * MINUTE)
    assert await door.post(firing("Another"), into=by) == {"opened": 1}

    assert door.column("select severity_rank from investigation order by created_at") == [4, 4]


async def test_a_member_silent_for_stale_after_no_longer_fires(door: Door) -> None:
    await door.post(firing())
    door.pass_time(5 * HOUR + MINUTE)
    assert door.sweep() == 1

    assert door.row("select status, stale, ends_at from alert") == {
        "status": "resolved",
        "stale": True,
        "ends_at": None,
    }
    assert door.row("select quiet_since is not null as quiet, ended_at from episode") == {
        "quiet": True,
        "ended_at": None,
    }
    door.pass_time(15 * MINUTE)
    assert door.sweep() == 1
    assert door.row("select ended_at - quiet_since as quiet_for from episode")["quiet_for"] == 15 * MINUTE
    assert door.sweep() == 0


async def test_a_repeat_keeps_a_member_firing_however_long(door: Door) -> None:
    await door.post(firing())
    for _ in range(4):
        door.pass_time(4 * HOUR)
        assert await door.post(firing()) == {"duplicate": 1}
        door.sweep()

    assert door.row("select status from alert") == {"status": "firing"}


async def test_one_silent_member_among_others_stops_alone(door: Door) -> None:
    await door.post(firing(pod="a"), firing(pod="b"))
    door.pass_time(3 * HOUR)
    await door.post(firing(pod="b"))
    door.pass_time(3 * HOUR)
    door.sweep()

    rows = door.rows("select labels ->> 'pod' as pod, status from alert order by 1")
    assert rows == [{"pod": "a", "status": "resolved"}, {"pod": "b", "status": "firing"}]
    assert door.row("select quiet_since from episode") == {"quiet_since": None}


async def test_the_sweep_leaves_alone_what_time_has_not_changed(door: Door) -> None:
    await door.post(firing())
    door.pass_time(4 * HOUR)

    assert door.sweep() == 0


async def test_heartbeats_are_recorded_and_never_investigated(door: Door) -> None:
    watchdog = firing("Watchdog", severity="none")
    assert await door.post(watchdog, firing("InfoInhibitor"), firing("Odd", severity="None")) == {"heartbeat": 3}
    assert await door.post(watchdog) == {"heartbeat": 1}

    assert investigations(door) == []
    rows = await door.alerts.heartbeats("acme")
    assert [(row.name, row.occurrences, row.status) for row in rows] == [
        ("InfoInhibitor", 1, AlertStatus.FIRING), ("Odd", 1, AlertStatus.FIRING), ("Watchdog", 2, AlertStatus.FIRING),
    ]  # fmt: skip
    assert await door.post(resolved("Watchdog", severity="none")) == {"heartbeat": 1}
    assert await door.post(firing("Watchdog", severity="none", at=MORNING + HOUR)) == {"heartbeat": 1}


async def test_a_changed_group_by_leaves_a_firing_row_in_its_episode(door: Door) -> None:
    await door.post(firing())
    by = intake(group_by=("alertname",))
    assert await door.post(firing(), into=by) == {"duplicate": 1}
    assert await door.post(resolved(), into=by) == {"resolved_only": 1}

    assert door.row("select quiet_since is not null as quiet from episode") == {"quiet": True}


async def test_groups_of_one_post_are_taken_apart(door: Door) -> None:
    assert await door.post(firing(service="a"), firing(service="b"), firing(service="b", pod="x")) == {
        "opened": 2,
        "joined": 1,
    }
    assert len(door.rows("select 1 from investigation")) == 2


async def test_another_workspace_shares_nothing(door: Door) -> None:
    await door.post(firing())
    assert await door.post(firing(), into=intake(workspace="other")) == {"opened": 1}
    assert door.accounts("acme") == door.accounts("other") == {"accepted": 1, "opened": 1}


async def test_a_queued_investigation_rises_with_its_worst_member(door: Door) -> None:
    by = intake(group_by=("service",))
    await door.post(firing(), into=by)
    await door.post(firing(pod="b", severity="critical"), into=by)

    assert door.row("select i.severity_rank, e.severity_rank as of_episode from investigation i join episode e using (episode_id)") == {
        "severity_rank": 4, "of_episode": 4,
    }  # fmt: skip


async def test_a_post_of_many_groups_is_taken_whole(door: Door) -> None:
    alerts = named([f"{n:03}" for n in range(300)])
    by = intake(group_by=("shard",), max_new_per_hour=1_000)
    assert await door.post(*alerts, into=by) == {"opened": 300}
    assert await door.post(*alerts, into=by) == {"duplicate": 300}
    assert door.accounts() == {"accepted": 600, "opened": 300, "duplicate": 300}
