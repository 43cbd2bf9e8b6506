"""What time alone changes, on Postgres."""

from datetime import timedelta
from typing import Any

import pytest

from inquest.domain.event import GENESIS, InterruptExpired, RunCancelled, chain_digest
from inquest.domain.investigation import Status
from inquest.ports import Standing
from inquest.store.lease import ClaimLimits
from inquest.store.sweep import PostgresSweep
from tests.store.builders import NOON, Store, bells, interrupt_raised, opening, silence, write

LIMITS = ClaimLimits(max_running=2)


@pytest.fixture
def sweep(store: Store) -> PostgresSweep:
    return PostgresSweep(store.database, LIMITS)


async def ring(sweep: PostgresSweep, *, take_expired: bool = True) -> int:
    return await sweep.ring_investigations(take_expired=take_expired)


# ---- investigations


async def test_a_queued_investigation_whose_bell_was_lost_is_rung_for_again(store: Store, sweep: PostgresSweep) -> None:
    await store.opened()
    silence(store)
    assert await ring(sweep) == 1
    assert bells(store) == ["inv-1"]


async def test_a_bell_is_rung_at_most_once_in_five_seconds(store: Store, sweep: PostgresSweep) -> None:
    await store.opened()
    silence(store)
    assert [await ring(sweep), await ring(sweep)] == [1, 0]
    store.look("update investigation set rung_at = rung_at - interval '6 seconds'")
    assert await ring(sweep) == 1


async def test_no_more_are_rung_for_than_there_is_room_for_most_severe_first(
    store: Store, sweep: PostgresSweep
) -> None:
    for name, rank in (("old-warning", 2), ("critical", 4), ("warning", 2), ("error", 3)):
        await store.open(opening(name, severity_rank=rank))
    silence(store)
    assert await ring(sweep) == 2
    assert set(bells(store)) == {"critical", "error"}
    await store.claimed()
    silence(store)
    assert await ring(sweep) == 1
    assert bells(store) == ["error"]


async def test_each_workspace_has_its_own_room(store: Store, sweep: PostgresSweep) -> None:
    store.add_episode("episode-2", workspace="other")
    other = Store(store.database.url, store.conninfo, workspace="other")
    for name in ("a1", "a2", "a3"):
        await store.open(opening(name))
    await other.open(opening("b1", episode_id="episode-2"))
    silence(store)
    assert await ring(sweep) == 3
    assert set(bells(store)) == {"a1", "a2", "b1"}
    await other.database.aclose()


async def test_nothing_is_rung_for_before_its_time_or_in_a_halted_workspace(store: Store, sweep: PostgresSweep) -> None:
    await store.opened()
    claim = await store.claimed()
    await store.claims.fail_attempt(claim.fence)
    silence(store)
    assert await ring(sweep) == 0
    await store.come_due()
    await store.claims.halt("acme")
    assert await ring(sweep) == 0
    await store.claims.resume("acme")
    assert await ring(sweep) == 1


async def test_an_expired_lease_is_rung_for_unless_the_database_was_just_away(
    store: Store, sweep: PostgresSweep
) -> None:
    await store.opened()
    await store.claimed()
    silence(store)
    assert await ring(sweep) == 0
    await store.claims.expire("inv-1")
    assert await ring(sweep, take_expired=False) == 0
    assert await ring(sweep) == 1


async def test_nothing_is_rung_for_that_whoever_sweeps_cannot_run(store: Store) -> None:
    await store.started("running")
    await store.opened("queued")
    assert await store.claims.expire("running")
    silence(store)

    assert await ring(PostgresSweep(store.database, ClaimLimits(only=("rival",)))) == 0
    assert await ring(PostgresSweep(store.database, ClaimLimits(only=("rival", "acme")))) == 2


async def test_what_another_holds_is_left_to_him(store: Store, sweep: PostgresSweep) -> None:
    await store.opened()
    silence(store)
    with store.connection() as other, other.transaction():
        other.execute("select 1 from investigation for update")
        assert await ring(sweep) == 0
    assert await ring(sweep) == 1


# ---- deferred


async def test_a_deferred_one_is_queued_and_rung_for_when_its_time_comes(store: Store, sweep: PostgresSweep) -> None:
    await store.open(opening(not_before=NOON.replace(year=2100), defer_reason="max_new_per_hour"))
    assert await sweep.admit_deferred() == 0
    assert await store.status() is Status.DEFERRED
    await store.come_due()
    assert await sweep.admit_deferred() == 1
    assert await store.status() is Status.QUEUED
    assert bells(store) == ["inv-1"]


async def test_a_deferred_one_whose_episode_ended_over_an_hour_ago_is_cancelled(
    store: Store, sweep: PostgresSweep
) -> None:
    await store.open(opening(not_before=NOON, defer_reason="daily_usd"))
    store.add_target()
    store.look("update episode set ended_at = now() - interval '61 minutes'")
    assert await sweep.expire_deferred() == 1
    assert await store.status() is Status.CANCELLED
    (event,) = (await store.journal.load("inv-1")).events
    assert event.body == RunCancelled(reason="expired", actor="inquest")
    assert (event.seq, event.prev_digest) == (1, GENESIS)
    assert event.body_digest == chain_digest(GENESIS, event.body.canonical())
    assert await store.revisions() == ["cancelled"]
    assert bells(store) == []
    assert bells(store, "deliveries") == ["inv-1-folder"]
    assert await store.claims.claim("owner-1") is None


async def test_a_deferred_one_of_an_episode_that_just_ended_still_runs(store: Store, sweep: PostgresSweep) -> None:
    await store.open(opening(not_before=NOON, defer_reason="daily_usd"))
    store.look("update episode set ended_at = now() - interval '59 minutes'")
    assert await sweep.expire_deferred() == 0
    await sweep.admit_deferred()
    assert await store.status() is Status.QUEUED


# ---- interrupts


async def test_an_unanswered_interrupt_lets_the_investigation_go_on_with_the_time_that_was_left(
    store: Store, sweep: PostgresSweep
) -> None:
    fence = await store.started()
    await store.journal.commit(write(fence, 2, interrupt_raised()))
    assert await sweep.expire_interrupts() == 0
    store.look("update interrupt set expires_at = now()")
    silence(store)
    assert [await sweep.expire_interrupts(), await sweep.expire_interrupts()] == [1, 0]
    assert await store.status() is Status.QUEUED
    event = (await store.journal.load("inv-1")).events[-1]
    assert isinstance(event.body, InterruptExpired)
    (row,) = store.look("select deadline_at, deadline_at - now() < '300 s' as left from investigation")
    assert (event.body.extended_until, row["left"]) == (row["deadline_at"], True)
    assert bells(store) == ["inv-1"]
    claim = await store.claims.claim("owner-2")
    assert claim is not None
    assert (claim.fence.attempt, claim.version) == (1, 5)


# ---- episodes


async def test_a_quiet_episode_ends_after_its_quiet_time(store: Store, sweep: PostgresSweep) -> None:
    store.look("update alert_group set episode_id = group_key")
    store.look("update episode set quiet_since = now() - interval '16 minutes', next_stale_at = now() + '1 h'")
    assert await sweep.settle_episodes() == 1
    (row,) = store.look("select ended_at is not null as ended from episode")
    assert row["ended"]


# ---- deliveries


async def test_a_due_target_whose_bell_was_lost_is_rung_for_once_in_five_seconds(
    store: Store, sweep: PostgresSweep
) -> None:
    await store.opened()
    store.add_target()
    assert await sweep.ring_deliveries() == 0
    store.look("""select plan_deliveries('inv-1', '[{"kind": "received", "note": ""}]')""")
    silence(store)
    assert [await sweep.ring_deliveries(), await sweep.ring_deliveries()] == [1, 0]
    assert bells(store, "deliveries") == ["inv-1-folder"]


async def test_a_target_that_waits_is_not_rung_for(store: Store, sweep: PostgresSweep) -> None:
    await store.opened()
    store.add_target()
    store.look("""select plan_deliveries('inv-1', '[{"kind": "received", "note": ""}]')""")
    silence(store)
    store.look("update delivery_target set retry_at = now() + interval '1 minute'")
    assert await sweep.ring_deliveries() == 0


# ---- the engine's rows


def add_job(store: Store, status: str, heartbeat: str | None) -> int:
    """Put a job there whose worker wrote its heartbeat `heartbeat` ago; None: it has no worker."""
    worker: Any = None
    if heartbeat is not None:
        (row,) = store.look(
            "insert into procrastinate.procrastinate_workers (last_heartbeat) values (now() - %s::interval)"
            " returning id",
            heartbeat,
        )
        worker = row["id"]
    (row,) = store.look(
        "insert into procrastinate.procrastinate_jobs (queue_name, task_name, status, worker_id)"
        " values ('investigations', 'investigate', %s::procrastinate.procrastinate_job_status, %s) returning id",
        status,
        worker,
    )
    job: int = row["id"]
    return job


async def test_rows_of_dead_workers_and_rows_that_are_done_are_deleted_and_no_others(
    store: Store, sweep: PostgresSweep
) -> None:
    kept = {add_job(store, "doing", "20 s"), add_job(store, "todo", None)}
    for status, heartbeat in (("doing", "31 s"), ("doing", None), ("aborted", None), ("failed", None)):
        add_job(store, status, heartbeat)
    assert await sweep.delete_dead_jobs() == 4
    left = store.look("select id from procrastinate.procrastinate_jobs")
    assert {row["id"] for row in left} == kept


# ---- what is counted


async def test_standings_count_what_runs_and_waits(store: Store, sweep: PostgresSweep) -> None:
    for name in ("inv-1", "inv-2", "inv-3"):
        await store.open(opening(name))
    await store.claimed()
    store.look("update investigation set created_at = now() - interval '90 seconds'")
    (standing,) = await sweep.standings()
    assert standing.oldest_queued_s >= 90
    assert standing.but(oldest_queued_s=0.0) == Standing(workspace="acme", running=1, queued=2, oldest_queued_s=0.0)


async def test_a_watchdog_that_fell_silent_is_missing_by_intake(store: Store, sweep: PostgresSweep) -> None:
    for intake, name, ago in (
        ("loud", "Watchdog", "1 min"),
        ("quiet", "Watchdog", "6 h"),
        ("never", "InfoInhibitor", "6 h"),
    ):
        store.look(
            "insert into alert (alert_id, workspace, intake, fingerprint, starts_at, name, status, severity_rank,"
            " body, last_seen, heartbeat) values (%s, 'acme', %s, 'f', now() - interval '1 day', %s, 'firing', 1,"
            " '', now() - %s::interval, true)",
            intake,
            intake,
            name,
            ago,
        )
    assert await sweep.silent_watchdogs(timedelta(hours=5)) == {"loud": False, "quiet": True}
