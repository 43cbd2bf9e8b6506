"""Any sequence of posts, however mixed, leaves rows that add up; and so do posts that come at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime, timedelta
from typing import LiteralString

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inquest.domain.alert import Alert, AlertStatus
from tests.store.builders import eventually
from tests.store.door import MORNING, Door, arrival, firing, intake, named, resolved

MINUTE = timedelta(minutes=1)
STALE_AFTER = intake().stale_after
BY_SERVICE = intake(group_by=("service",), max_new_per_hour=2, destinations=("slack",))

# Every one must give no row.
INVARIANTS: dict[str, LiteralString] = {
    "two episodes of a group live": """
        select group_key from episode where ended_at is null group by workspace, group_key having count(*) > 1""",
    "a firing member outside of a living episode": """
        select alert_id from alert a left join episode e using (episode_id)
        where a.status = 'firing' and not a.heartbeat and (e.episode_id is null or e.ended_at is not null)""",
    "a group that points elsewhere than to its latest episode": """
        select g.group_key from alert_group g where g.episode_id is distinct from (
          select e.episode_id from episode e where e.workspace = g.workspace and e.group_key = g.group_key
          order by e.opened_at desc limit 1)""",
    "an episode without exactly one investigation": """
        select e.episode_id from episode e left join investigation i using (episode_id)
        group by e.episode_id having count(i.investigation_id) <> 1""",
    "an episode that is quiet while a member fires, or is not while none does": """
        select e.episode_id from episode e where ended_at is null and (quiet_since is null) <> exists (
          select 1 from alert a where a.episode_id = e.episode_id and a.status = 'firing')""",
    "a heartbeat in an episode": "select alert_id from alert where heartbeat and episode_id is not null",
    "a member newer than its episode": """
        select alert_id from alert a join episode e using (episode_id)
        where greatest(a.joined_version, a.changed_version) > e.version or a.joined_version < 1""",
    "an episode less severe than a member": """
        select alert_id from alert a join episode e using (episode_id) where a.severity_rank > e.severity_rank""",
    "a queued or deferred one without its reason or bell": """
        select investigation_id from investigation
        where (status = 'deferred') <> (not_before is not null and defer_reason <> '')
          and status in ('queued', 'deferred')""",
    "a target without its received revision": """
        select target_id from delivery_target t where not exists (
          select 1 from delivery d where d.target_id = t.target_id and d.revision = 1 and d.kind = 'received')""",
    "a revision out of number": """
        select target_id from delivery join delivery_target t using (target_id)
        group by target_id, t.next_revision having max(revision) <> t.next_revision - 1 or count(*) <> max(revision)""",
}

EMPTIED: tuple[LiteralString, ...] = (
    "delete from delivery", "delete from delivery_target", "delete from alert", "delete from investigation",
    "delete from episode", "delete from alert_group", "delete from intake_receipt", "delete from receipt_body",
)  # fmt: skip


def _alert(fires: bool, name: str, service: str, pod: str, severity: str, minutes: int | None) -> Alert:
    at = None if minutes is None else MORNING + minutes * MINUTE
    labels = {"service": service, "pod": pod, "severity": severity}
    if pod == "rising":  # one fingerprint whatever the severity, as Datadog's
        labels["fingerprint"] = f"{name}/{service}"
    if fires:
        return firing(name, at, **labels)
    return resolved(name, at, MORNING + timedelta(hours=2), **labels)


alerts = st.builds(
    _alert,
    st.booleans() | st.just(True),
    st.sampled_from(["HighLatency", "Errors", "Watchdog"]),
    st.sampled_from(["checkout", "orders"]),
    st.sampled_from(["a", "rising"]),
    st.sampled_from(["warning", "critical"]),
    st.sampled_from([None, 0, 5, 90]),
)
posts = st.tuples(
    st.just("post"), st.lists(alerts, max_size=6), st.integers(0, 2), st.sampled_from([None, None, None, "d-1", "d-2"])
)
steps = st.lists(
    posts
    | st.tuples(st.just("wait"), st.sampled_from([MINUTE, 14 * MINUTE, 31 * MINUTE, STALE_AFTER + MINUTE]))
    | st.tuples(st.sampled_from(["end", "sweep", "again"])),
    min_size=1,
    max_size=14,
)


class Oracle:
    """What a reader of design 6 would expect, kept by hand: members brought, and who fires."""

    def __init__(self) -> None:
        self.now = MORNING
        self.brought = 0
        self.last_firing_post: dict[str, datetime] = {}
        self.delivered: set[str] = set()
        self.ignored = 0

    def post(self, members: list[Alert], quarantined: int, delivery_id: str | None) -> None:
        count = max(len(members) + quarantined, 1)
        self.brought += count
        if delivery_id in self.delivered:
            self.ignored += count
            return
        if delivery_id:
            self.delivered.add(delivery_id)
        fire = {alert.fingerprint for alert in members if alert.status is AlertStatus.FIRING}
        for alert in members:
            if alert.is_heartbeat:
                continue
            if alert.fingerprint in fire:
                self.last_firing_post[alert.fingerprint] = self.now
            else:
                self.last_firing_post.pop(alert.fingerprint, None)

    def firing(self) -> set[str]:
        return {name for name, at in self.last_firing_post.items() if self.now - at < STALE_AFTER}


async def play(door: Door, played: list[tuple[object, ...]]) -> Oracle:
    oracle = Oracle()
    last: tuple[object, ...] = ("post", [firing()], 0, None)
    for step in played:
        match last if step == ("again",) else step:
            case "post", list(members), int(quarantined), delivery_id:
                last = step if step[0] == "post" else last
                key = None if delivery_id is None else str(delivery_id)
                await door.take(arrival(*members, quarantined=quarantined, delivery_id=key, into=BY_SERVICE))
                oracle.post(members, quarantined, key)
            case "wait", timedelta() as by:
                door.pass_time(by)
                oracle.now += by
            case ("end",):
                door.end_investigation()
            case ("sweep",):
                door.sweep()
            case unknown:
                raise AssertionError(unknown)
    while door.sweep():
        pass
    return oracle


def check(door: Door, oracle: Oracle) -> None:
    for broken, query in INVARIANTS.items():
        assert door.rows(query) == [], broken
    accounts = Counter(door.accounts())
    assert accounts["accepted"] == oracle.brought
    fires = door.column("select fingerprint from alert where status = 'firing' and not heartbeat")
    assert sorted(fires) == sorted(oracle.firing())
    # To the row: each post of a firing member is one occurrence of one row.
    (seen,) = door.column("select coalesce(sum(occurrences), 0)::int from alert where not heartbeat")
    told = sum(accounts[word] for word in ("opened", "deferred", "joined", "linked", "duplicate"))
    assert seen == told - oracle.ignored
    (opened,) = door.column("select count(*) from investigation")
    assert opened == accounts["opened"] + accounts["deferred"]


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(played=steps)
async def test_any_sequence_of_posts_adds_up_to_the_row(door: Door, played: list[tuple[object, ...]]) -> None:
    for table in EMPTIED:
        door.rows(table)
    check(door, await play(door, played))


async def test_peers_that_post_the_same_group_at_once_open_one_investigation(door: Door) -> None:
    members = named([str(n) for n in range(6)])
    for round_ in range(10):
        by = BY_SERVICE.but(workspace=f"w{round_}")
        posts = [members[n:] + members[:n] for n in range(6)] + [members[:2], members[3:]]
        answers = await asyncio.gather(*(door.take(arrival(*post, into=by)) for post in posts))

        assert len({admitted for answer in answers for admitted in answer.investigations}) == 1
        assert door.accounts(f"w{round_}") == {"accepted": 41, "opened": 1, "joined": 5, "duplicate": 35}
    for broken, query in INVARIANTS.items():
        assert door.rows(query) == [], broken


async def test_peers_that_wake_a_group_at_once_open_its_next_episode_once(door: Door) -> None:
    await door.post(firing())
    await door.post(resolved())
    door.pass_time(20 * MINUTE)
    door.sweep()
    waiting = (
        "select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    )
    with psycopg.connect(door.conninfo) as other:
        other.execute("select 1 from inquest.alert_group for update")
        peers = [asyncio.create_task(door.post(firing(pod=pod))) for pod in "ab"]

        async def both_wait() -> bool | None:
            return door.column(waiting) == [2] or None

        await eventually(both_wait)
    first, second = await asyncio.gather(*peers)

    assert sorted([*first, *second]) == ["joined", "opened"]


async def test_posts_that_hold_several_groups_in_any_order_do_not_deadlock(door: Door) -> None:
    many = intake(max_new_per_hour=10_000)
    groups = [firing(service=f"s{n}") for n in range(12)]
    posts = [groups[n:] + groups[:n] for n in range(12)] + [groups[n::-1] + groups[:n:-1] for n in range(12)]
    for _ in range(3):
        await asyncio.gather(*(door.take(arrival(*post, into=many)) for post in posts))

    assert door.accounts() == {"accepted": 864, "opened": 12, "duplicate": 852}


async def test_fires_and_resolves_at_once_leave_one_episode_that_adds_up(door: Door) -> None:
    fires, resolves = [firing(pod=pod) for pod in "abc"], [resolved(pod=pod) for pod in "abc"]
    await asyncio.gather(*(door.take(arrival(*post, into=BY_SERVICE)) for post in [fires, resolves] * 6))

    assert door.row("select count(*) as found from episode") == {"found": 1}
    for broken, query in INVARIANTS.items():
        assert door.rows(query) == [], broken
    assert door.accounts()["accepted"] == 36


async def test_one_fingerprint_in_two_groups_at_once_is_one_row_that_fires(door: Door) -> None:
    """Only a broken or hostile sender does this: the groups' locks do not keep these apart."""
    one, other = firing(fingerprint="same", service="a"), firing(fingerprint="same", service="b")
    await asyncio.gather(
        *(door.take(arrival(alert, into=BY_SERVICE)) for alert in [one, other] * 4), return_exceptions=True
    )

    assert len(door.rows("select 1 from alert where status = 'firing'")) == 1


@pytest.mark.parametrize("swept", [True, False])
async def test_a_sweep_beside_posts_takes_nothing_from_them(door: Door, swept: bool) -> None:
    await door.post(firing())
    await door.post(resolved())
    door.pass_time(20 * MINUTE)

    async def sweep() -> None:
        if swept:
            await asyncio.to_thread(door.sweep)

    await asyncio.gather(sweep(), door.post(firing(at=MORNING + timedelta(hours=2))), sweep())
    assert door.column("select ended_at is null from episode order by opened_at") == [False, True]
