"""What is deferred, until when, and which revisions accept plans."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from inquest.domain.alert import SEVERITY_RANKS, Alert
from inquest.domain.delivery import Sent
from inquest.domain.intake import DailyCeilings
from inquest.store.deliveries import PostgresDeliveries
from tests.store.door import Door, arrival, counts, firing, intake, resolved

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
TWO_AN_HOUR = intake(max_new_per_hour=2, destinations=("slack",))
SLACK = intake(destinations=("slack",))


def group(name: str) -> Alert:
    return firing(service=name)


def planned(door: Door) -> list[tuple[str, str]]:
    rows = door.rows(
        "select kind, state from delivery join delivery_target using (target_id) order by target_id, revision"
    )
    return [(row["kind"], row["state"]) for row in rows]


def send_all(door: Door) -> None:
    """Do what the sender does: the newest goes, those before it are superseded."""
    door.rows("""update delivery d set state = case when revision = (
        select max(revision) from delivery n where n.target_id = d.target_id) then 'sent' else 'superseded' end
        where state = 'planned'""")


async def test_the_investigation_over_the_hourly_limit_is_deferred_to_the_slot_that_frees(door: Door) -> None:
    await door.post(group("a"), into=TWO_AN_HOUR)
    door.pass_time(10 * MINUTE)
    await door.post(group("b"), into=TWO_AN_HOUR)
    accepted = await door.take(arrival(group("c"), into=TWO_AN_HOUR))

    assert counts(accepted) == {"deferred": 1}
    (admitted,) = accepted.investigations
    assert (admitted.status, admitted.defer_reason) == ("deferred", "max_new_per_hour")
    first, _, third = door.rows("select created_at, not_before, rung_at from investigation order by created_at")
    assert third["not_before"] == first["created_at"] + HOUR
    assert (third["rung_at"], first["rung_at"]) == (None, first["created_at"])


async def test_a_deferred_one_is_told_to_its_destinations_but_rings_for_no_worker(door: Door) -> None:
    for name in ("a", "b", "c"):
        await door.post(group(name), into=TWO_AN_HOUR)

    notes = door.column("select note from delivery where kind = 'received' order by planned_at")
    assert notes == ["", "", "max_new_per_hour"]
    tasks = door.column("select task_name from procrastinate.procrastinate_jobs order by task_name")
    assert tasks == ["deliver"] * 3 + ["investigate"] * 2


async def test_deferred_ones_are_spread_over_the_hours_to_come(door: Door) -> None:
    await door.post(*(group(str(n)) for n in range(7)), into=TWO_AN_HOUR)

    waits = door.column(
        "select round(extract(epoch from coalesce(not_before, created_at) - created_at) / 3600)::int"
        " from investigation order by admitted_at, investigation_id"
    )
    assert waits == [0, 0, 1, 1, 2, 2, 3]
    assert door.accounts() == {"accepted": 7, "opened": 2, "deferred": 5}


async def test_the_hourly_limit_frees_as_the_hour_passes(door: Door) -> None:
    await door.post(group("a"), group("b"), into=TWO_AN_HOUR)
    door.pass_time(HOUR)

    assert await door.post(group("c"), group("d"), group("e"), into=TWO_AN_HOUR) == {"opened": 2, "deferred": 1}


async def test_one_intakes_flood_does_not_defer_anothers(door: Door) -> None:
    await door.post(group("a"), group("b"), into=TWO_AN_HOUR)

    assert await door.post(group("c"), into=TWO_AN_HOUR.but(name="quiet")) == {"opened": 1}


async def test_what_ended_before_it_began_frees_its_slot(door: Door) -> None:
    await door.post(group("a"), group("b"), group("c"), into=TWO_AN_HOUR)
    door.rows("update investigation set status = 'cancelled' where status = 'deferred'")
    door.pass_time(HOUR)

    assert await door.post(group("d"), group("e"), into=TWO_AN_HOUR) == {"opened": 2}


async def test_a_critical_alert_never_waits_behind_flapping_warnings(door: Door) -> None:
    await door.post(*(group(str(n)) for n in range(4)), into=TWO_AN_HOUR)

    assert await door.post(firing(service="db", severity="critical"), into=TWO_AN_HOUR) == {"opened": 1}


async def test_of_one_post_the_most_severe_take_the_slots(door: Door) -> None:
    flood = [firing(service=str(n), severity="info" if n % 2 else "critical") for n in range(6)]
    await door.post(*flood, into=TWO_AN_HOUR)

    rows = door.rows(
        "select severity_rank as rank, round(extract(epoch from coalesce(not_before, created_at) - created_at) / 3600)"
        "::int as wait from investigation order by severity_rank desc, admitted_at"
    )
    assert [(row["rank"], row["wait"]) for row in rows] == [(4, 0), (4, 0), (4, 1), (1, 1), (1, 2), (1, 2)]


async def test_the_hourly_limit_holds_among_the_critical_and_counts_for_what_is_less_severe(door: Door) -> None:
    await door.post(*(firing(service=str(n), severity="critical") for n in range(2)), into=TWO_AN_HOUR)

    assert await door.post(firing(service="x", severity="critical"), into=TWO_AN_HOUR) == {"deferred": 1}
    assert await door.post(group("y"), into=TWO_AN_HOUR) == {"deferred": 1}


async def test_a_deferred_one_that_becomes_critical_takes_the_slot_of_a_critical_one(door: Door) -> None:
    await door.post(*(group(str(n)) for n in range(6)), into=TWO_AN_HOUR)
    (last,) = door.column("select service from investigation order by admitted_at desc, investigation_id desc limit 1")

    await door.post(firing(service=last, pod="x", severity="critical"), into=TWO_AN_HOUR)

    row = door.row(
        "select severity_rank, not_before <= clock_timestamp() as is_due, not_before = admitted_at as is_its_slot"
        " from investigation where service = %s", last
    )  # fmt: skip
    assert row == {"severity_rank": 4, "is_due": True, "is_its_slot": True}


async def test_a_deferred_one_that_becomes_more_severe_waits_behind_those_as_severe(door: Door) -> None:
    await door.post(group("a"), group("b"), group("c"), into=TWO_AN_HOUR)
    (late,) = door.column("select service from investigation where status = 'deferred'")
    await door.post(*(firing(service=f"db{n}", severity="critical") for n in range(4)), into=TWO_AN_HOUR)
    (before,) = door.column("select not_before from investigation where service = %s", late)

    await door.post(firing(service=late, pod="x", severity="critical"), into=TWO_AN_HOUR)

    assert door.column("select not_before from investigation where service = %s", late) == [before]


def test_the_store_knows_the_highest_severity(door: Door) -> None:
    assert door.column("select highest_severity_rank()") == [max(SEVERITY_RANKS.values())]


async def test_a_deferred_episode_takes_members_and_repeats_as_any_other(door: Door) -> None:
    only = intake(max_new_per_hour=1)
    await door.post(group("a"), into=only)
    assert await door.post(group("b"), into=only) == {"deferred": 1}
    assert await door.post(group("b"), firing(service="b", pod="x"), into=only) == {"duplicate": 1, "joined": 1}


async def test_spent_dollars_defer_to_the_next_utc_day(door: Door) -> None:
    today = datetime.now(UTC).date()
    door.rows(
        "insert into spend_day (workspace, day, usd_micros) values ('acme', %s, 500), ('', %s, 900)", today, today
    )

    below = DailyCeilings(workspace_usd_micros=501, installation_usd_micros=901)
    assert counts(await door.take(arrival(group("a"), ceilings=below))) == {"opened": 1}
    for ceilings in (DailyCeilings(workspace_usd_micros=500), DailyCeilings(installation_usd_micros=900)):
        name = f"over-{ceilings.workspace_usd_micros}"
        accepted = await door.take(arrival(group(name), ceilings=ceilings))
        (admitted,) = accepted.investigations
        assert (admitted.status, admitted.defer_reason) == ("deferred", "daily_usd")
        midnight = datetime.combine(today + timedelta(days=1), datetime.min.time(), UTC)
        assert admitted.not_before == midnight


async def test_no_dollars_a_day_are_spent_before_the_first(door: Door) -> None:
    accepted = await door.take(arrival(group("a"), ceilings=DailyCeilings(workspace_usd_micros=0)))
    assert counts(accepted) == {"deferred": 1}


async def test_yesterdays_dollars_defer_nothing(door: Door) -> None:
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    door.rows("insert into spend_day (workspace, day, usd_micros) values ('acme', %s, 500)", yesterday)

    accepted = await door.take(arrival(group("a"), ceilings=DailyCeilings(workspace_usd_micros=1)))
    assert counts(accepted) == {"opened": 1}


async def test_a_member_that_joins_is_shown_by_the_revision_that_is_still_unsent(door: Door) -> None:
    await door.post(firing(), into=SLACK)
    await door.post(firing(pod="b"), into=SLACK)
    assert planned(door) == [("received", "planned")]


@pytest.mark.parametrize("status", ["queued", "running", "succeeded"])
async def test_a_member_that_comes_while_a_revision_is_being_rendered_has_a_revision_of_its_own(
    door: Door, status: str
) -> None:
    """The sender has read the episode; that it has not yet reserved what it will send helps the member nothing."""
    await door.post(firing(), into=SLACK)
    door.rows("update investigation set status = %s", status)
    sending = PostgresDeliveries(door.database)
    claimed = await sending.claim("sender", door.column("select target_id from delivery_target")[0], lease=HOUR)
    assert claimed is not None

    await door.post(firing(pod="b"), into=SLACK)
    await sending.reserve(claimed, b"rendered without it", send_for=HOUR)
    await sending.end(claimed, Sent(reference="ref"))

    assert planned(door) == [("received", "sent"), ("members", "planned")]
    assert await sending.claim("sender", claimed.fence.target_id, lease=HOUR) is not None


async def test_members_are_revised_at_most_once_a_minute(door: Door) -> None:
    await door.post(firing(), into=SLACK)
    send_all(door)
    await door.post(firing(pod="b"), into=SLACK)
    assert planned(door) == [("received", "sent"), ("members", "planned")]
    send_all(door)
    await door.post(firing(pod="c"), into=SLACK)
    await door.post(firing(pod="d"), into=SLACK)

    assert planned(door)[2:] == [("members", "planned")]
    waits = door.row("select d.not_before - m.planned_at as waits from delivery d join delivery m using (target_id)"
                     " where d.revision = 3 and m.revision = 2")  # fmt: skip
    assert waits == {"waits": MINUTE}
    door.pass_time(2 * MINUTE)
    send_all(door)
    await door.post(firing(pod="e"), into=SLACK)
    assert door.row("select not_before from delivery where revision = 4") == {"not_before": None}


async def test_a_linked_member_is_listed_in_a_revised_report(door: Door) -> None:
    await door.post(firing(), into=SLACK)
    send_all(door)
    door.end_investigation()
    assert await door.post(firing(pod="b"), into=SLACK) == {"linked": 1}
    assert planned(door) == [("received", "sent"), ("members", "planned")]


async def test_the_last_member_to_stop_plans_resolved_once_and_at_once(door: Door) -> None:
    await door.post(firing(), firing(pod="b"), into=SLACK)
    send_all(door)
    await door.post(resolved(), into=SLACK)
    assert planned(door) == [("received", "sent")]
    await door.post(resolved(pod="b"), into=SLACK)
    await door.post(resolved(), resolved(pod="b"), into=SLACK)

    assert planned(door) == [("received", "sent"), ("resolved", "planned")]
    last = door.row("select d.not_before, t.rung_at, d.planned_at from delivery d join delivery_target t using (target_id)"
                    " where d.kind = 'resolved'")  # fmt: skip
    assert (last["not_before"], last["rung_at"]) == (None, last["planned_at"])


async def test_a_quiet_episode_that_fires_again_says_so_before_it_is_called_resolved(door: Door) -> None:
    await door.post(firing(), into=SLACK)
    send_all(door)
    await door.post(resolved(), into=SLACK)
    await door.post(firing(), into=SLACK)

    assert planned(door) == [("received", "sent"), ("resolved", "planned"), ("members", "planned")]


async def test_members_that_fall_silent_plan_resolved_too(door: Door) -> None:
    await door.post(firing(), into=SLACK)
    send_all(door)
    door.pass_time(6 * HOUR)
    door.sweep()

    assert planned(door) == [("received", "sent"), ("resolved", "planned")]
    assert door.row("select extract(epoch from clock_timestamp() - quiet_since)::int / 60 as ago from episode") == {
        "ago": 60
    }


async def test_every_investigation_of_the_episode_hears_of_it_but_one_being_deleted(door: Door) -> None:
    accepted = await door.take(arrival(firing(), into=SLACK))
    door.rows("""with rerun as (insert into investigation (investigation_id, workspace, episode_id, session_id, workflow,
          status, severity_rank, parent_id)
        select unnest(array['again', 'gone']), workspace, episode_id, session_id, workflow,
          unnest(array['queued', 'deleting']), severity_rank, investigation_id from investigation returning investigation_id)
      insert into delivery_target (target_id, investigation_id, workspace, destination)
        select 'target-' || investigation_id, investigation_id, 'acme', 'slack' from rerun""")
    send_all(door)
    await door.post(resolved(), into=SLACK)

    told = door.column("select investigation_id from delivery join delivery_target using (target_id)"
                       " where kind = 'resolved' order by 1")  # fmt: skip
    assert sorted(told) == sorted([accepted.investigations[0].investigation_id, "again"])


async def test_a_rerun_takes_no_slot_and_is_not_the_episodes_investigation(door: Door) -> None:
    only = intake(max_new_per_hour=1)
    await door.post(firing(), into=only)
    door.rows("""insert into investigation (investigation_id, workspace, episode_id, session_id, workflow, status,
          severity_rank, parent_id)
        select 'again', workspace, episode_id, session_id, workflow, 'queued', 2, investigation_id from investigation""")
    door.rows("update investigation set status = 'succeeded', ended_at = clock_timestamp() where parent_id is null")

    assert await door.post(firing(pod="b"), into=only) == {"linked": 1}
    door.pass_time(HOUR)
    assert await door.post(group("other"), into=only) == {"opened": 1}
