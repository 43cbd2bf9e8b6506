"""The posts that a real Alertmanager sent, and the rows of public bug reports, through the door."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.window import incident_window
from inquest.sources.alertmanager import parse
from tests.store.door import MORNING, Door, arrival, counts, firing, intake, named, resolved

BUGS = {
    row["id"]: row
    for row in map(json.loads, (Path(__file__).parent.parent / "data/bugs/intake.jsonl").read_text().splitlines())
}
GROUP12 = {"opened": 1, "joined": 11}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("single_firing.json", {"opened": 1}),
        ("bearer_auth_firing.json", {"opened": 1}),
        ("single_resolved.json", {"resolved_only": 1}),
        ("group12_firing.json", GROUP12),
        ("group30_firing.json", {"opened": 1, "joined": 29}),
        ("group30_resolved.json", {"resolved_only": 30}),
        ("group_grows_14_firing.json", {"opened": 1, "joined": 13}),
        ("group_mixed_6firing_8resolved.json", {"opened": 1, "joined": 5, "resolved_only": 8}),
        ("group_14firing_16staleresolved.json", {"opened": 1, "joined": 13, "resolved_only": 16}),
        ("max_alerts10_of30_firing.json", {"opened": 1, "joined": 9}),
        ("max_alerts10_resolved.json", {"resolved_only": 10}),
    ],
)
async def test_each_recorded_post_by_itself_gives_these_counts(door: Door, file: str, expected: dict[str, int]) -> None:
    assert await door.send(file) == expected
    assert door.accounts() == {"accepted": sum(expected.values()), **expected}


async def test_a_group_that_grows_shrinks_and_carries_stale_resolves_is_one_investigation(door: Door) -> None:
    assert await door.send("group12_firing.json") == GROUP12
    assert await door.send("group_grows_14_firing.json") == {"duplicate": 12, "joined": 2}
    assert await door.send("group_mixed_6firing_8resolved.json") == {"duplicate": 6, "resolved_only": 8}
    assert await door.send("group_14firing_16staleresolved.json") == {"duplicate": 14, "resolved_only": 16}

    assert door.row("select count(*) as found from investigation") == {"found": 1}
    assert door.row("select count(*) as found from alert where status = 'firing'") == {"found": 14}
    assert door.accounts() == {"accepted": 70, "opened": 1, "joined": 13, "duplicate": 32, "resolved_only": 24}


async def test_the_whole_day_of_a_group_as_it_was_recorded(door: Door) -> None:
    assert await door.send("group30_firing.json") == {"opened": 1, "joined": 29}
    assert await door.send("group30_resolved.json") == {"resolved_only": 30}
    door.pass_time(timedelta(minutes=6))
    # The rows of the morning are resolved: a new start is a new member, of the same quiet episode.
    assert await door.send("group12_firing.json") == {"joined": 12}
    assert await door.send("group30_resolved.json") == {"resolved_only": 30}
    assert door.row("select count(*) as found from alert where status = 'firing'") == {"found": 12}
    assert await door.send("group_14firing_16staleresolved.json") == {"duplicate": 12, "joined": 2, "resolved_only": 16}
    assert await door.send("group_mixed_6firing_8resolved.json") == {"duplicate": 6, "resolved_only": 8}
    assert door.row("select count(*) as found from alert where status = 'firing'") == {"found": 6}
    assert door.row("select count(*) as found from episode") == {"found": 1}


async def test_a_resolve_that_follows_its_firing_post_quiets_the_episode(door: Door) -> None:
    await door.send("single_firing.json")
    assert await door.send("single_resolved.json") == {"resolved_only": 1}

    assert door.row("select quiet_since is not null as quiet from episode") == {"quiet": True}


async def test_bl_001_year_one_is_no_end_and_nanoseconds_are_read(door: Door) -> None:
    post = parse(BUGS["BL-001"]["input"].encode())
    accepted = await door.take(arrival(*post.alerts))

    row = door.row("select ends_at, starts_at from alert")
    assert row["ends_at"] is None
    assert row["starts_at"].isoformat() == "2026-03-01T10:00:00.123456+00:00"
    (admitted,) = accepted.investigations
    (member,) = (await door.alerts.episode_for(admitted.investigation_id)).members
    received = member.first_seen
    window = incident_window(
        firing_since=member.alert.starts_at, received_at=received, ended_at=member.alert.ends_at, now=received
    )
    assert window.incident.start < window.incident.end
    assert window.incident.length <= timedelta(days=7)


async def test_bl_004_peers_that_post_at_once_open_one_investigation(door: Door) -> None:
    a, b, c = named(["a", "b", "c"])
    first, second = await asyncio.gather(door.post(a, b), door.post(b, a, c))

    assert door.row("select count(*) as found from investigation") == {"found": 1}
    assert door.accounts() == {"accepted": 5, "opened": 1, "joined": 2, "duplicate": 2}
    assert first.get("opened", 0) + second.get("opened", 0) == 1


async def test_bl_008_two_hundred_identical_posts_are_one_investigation_seen_so_often(door: Door) -> None:
    for _ in range(200):
        await door.send("single_firing.json")

    assert door.row("select count(*) as found from investigation") == {"found": 1}
    assert door.column("select occurrences from alert") == [200]
    assert door.row("select count(*) as found from receipt_body") == {"found": 1}
    jobs = door.column("select count(*) from procrastinate.procrastinate_jobs where task_name = 'investigate'")
    assert jobs == [1]


async def test_bl_014_repeats_move_last_seen_and_count(door: Door) -> None:
    for _ in range(2):
        await door.post(firing())
        door.pass_time(timedelta(minutes=5))
    await door.post(firing())

    row = door.row("select occurrences, last_seen - first_seen as span from alert")
    assert row["occurrences"] == 3
    assert timedelta(minutes=10) <= row["span"] < timedelta(minutes=11)
    assert door.row("select count(*) as found from investigation") == {"found": 1}


async def test_bl_015_alerts_without_a_grouping_label_stay_apart(door: Door) -> None:
    one = Alert(fingerprint="", name="alert one", status=AlertStatus.FIRING, labels={"name": "alert one"})
    two = one.but(name="alert two", labels={"name": "alert two"})
    by = intake(group_by=("service",))

    assert await door.post(one, into=by) == await door.post(two, into=by) == {"opened": 1}
    assert len(set(door.column("select fingerprint from alert"))) == 2


async def test_bl_016_whole_fingerprints_count_and_changing_pods_do_not(door: Door) -> None:
    alone = intake(group_by=("absent",))
    first, second = firing(fingerprint="deadbeef00000001"), firing(fingerprint="deadbeef00000002")
    assert await door.post(first, second, into=alone) == {"opened": 2}

    before = firing("Crash", pod="web-5c9f-abcde").but(fingerprint="")
    after = firing("Crash", pod="web-5c9f-zzzzz").but(fingerprint="")
    assert await door.post(before, into=alone) == {"opened": 1}
    assert await door.post(after, into=alone) == {"duplicate": 1}


async def test_bl_017_a_broken_template_is_kept_with_the_byte_where_it_breaks(door: Door) -> None:
    body = b'{"title":"disk "full" on db1","body":"line1\nline2","date":"1767225600000"}'
    post = parse(body)
    accepted = await door.take(arrival(quarantine=post.quarantine))

    assert counts(accepted) == {"quarantined": 1}
    (receipt,) = await door.alerts.receipts("acme")
    assert (receipt.state, receipt.reason) == ("quarantined", f"invalid_json at byte {body.index(b'full')}")
    assert door.rows("select 1 from investigation") == []


async def test_bl_051_nul_and_lone_surrogates_in_every_text_are_stored_visibly(door: Door) -> None:
    hostile = r"a\u0000b\ud800c\u001b[2J\u202e"
    body = json.dumps({
        "version": "4", "groupKey": "HERE", "receiver": "HERE", "externalURL": "HERE",
        "alerts": [{
            "status": "firing", "startsAt": "HERE", "generatorURL": "HERE", "fingerprint": "HERE",
            "labels": {"alertname": "HERE", "HERE": "HERE"}, "annotations": {"HERE": "HERE"},
        }],
    }).replace("HERE", hostile)  # fmt: skip
    post = parse(body.encode())
    assert any("control characters made visible" in warning for warning in post.parse_warnings)

    assert counts(await door.take(arrival(*post.alerts))) == {"opened": 1}
    (name,) = door.column("select name from alert")
    assert name == "a␀b�c␛[2J⟨U+202E⟩"
    assert door.column("select labels ->> 'alertname' from alert") == [name]


async def test_posts_of_another_start_and_resolve_in_any_order_leave_one_firing_row(door: Door) -> None:
    await door.post(firing(at=MORNING))
    await door.post(resolved(at=MORNING, until=MORNING + timedelta(minutes=5)))
    await door.post(firing(at=MORNING + timedelta(minutes=7)))
    await door.post(resolved(at=MORNING, until=MORNING + timedelta(minutes=5)))

    assert door.column("select status from alert order by starts_at") == ["resolved", "firing"]
