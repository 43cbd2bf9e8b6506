"""A member whose severity rises: the same fingerprint posts again, as Datadog's Warn that becomes Triggered."""

from datetime import timedelta

import pytest

from inquest.domain.alert import Alert
from tests.store.door import Door, arrival, counts, firing, intake, resolved

MINUTE = timedelta(minutes=1)
SLACK = intake(destinations=("slack",))
CRITICAL, WARNING, INFO = 4, 2, 1


def member(severity: str, *, name: str = "HighLatency", service: str = "checkout", fingerprint: str = "f1") -> Alert:
    return firing(name, severity=severity, service=service, fingerprint=fingerprint)


def ranks(door: Door, table: str = "alert") -> list[int]:
    if table == "episode":
        return door.column("select severity_rank from episode order by opened_at, episode_id")
    if table == "investigation":
        return door.column("select severity_rank from investigation order by created_at, investigation_id")
    return door.column("select severity_rank from alert order by first_seen, alert_id")


async def test_severity_rises_with_the_member_and_its_occurrences_go_on(door: Door) -> None:
    await door.post(member("warning"))
    assert await door.post(member("critical")) == {"duplicate": 1}

    assert (ranks(door), ranks(door, "episode"), ranks(door, "investigation")) == ([CRITICAL],) * 3
    assert door.row("select occurrences, labels ->> 'severity' as severity, status from alert") == {
        "occurrences": 2,
        "severity": "critical",
        "status": "firing",
    }
    assert door.accounts() == {"accepted": 2, "opened": 1, "duplicate": 1}


async def test_the_risen_one_is_claimed_first(door: Door) -> None:
    await door.post(member("warning"))
    await door.post(firing(service="other", severity="error"))
    await door.post(member("critical"))

    (first, _) = door.rows("select severity_rank, title from investigation order by severity_rank desc, created_at")
    assert (first["severity_rank"], first["title"]) == (CRITICAL, "HighLatency")


async def test_severity_does_not_fall_with_the_member(door: Door) -> None:
    await door.post(member("critical"))
    await door.post(member("info"))
    await door.post(member("critical"))

    assert (ranks(door), ranks(door, "episode")) == ([CRITICAL],) * 2
    assert door.row("select occurrences from alert") == {"occurrences": 3}


async def test_one_that_fires_again_more_severe_raises_it_too(door: Door) -> None:
    await door.post(member("warning"))
    await door.post(resolved(severity="warning", fingerprint="f1"))
    await door.post(member("critical"))

    assert (ranks(door), ranks(door, "episode"), ranks(door, "investigation")) == ([CRITICAL],) * 3


async def test_a_deferred_one_that_rises_takes_the_slot_of_its_severity(door: Door) -> None:
    one_an_hour = intake(max_new_per_hour=1)
    await door.post(member("warning", service="a", fingerprint="fa"), into=one_an_hour)
    await door.post(member("warning", service="b", fingerprint="fb"), into=one_an_hour)
    await door.post(member("critical", service="b", fingerprint="fb"), into=one_an_hour)

    row = door.row("select severity_rank, not_before <= now() as due from investigation where status = 'deferred'")
    assert row == {"severity_rank": CRITICAL, "due": True}


async def test_while_it_runs_a_members_revision_shows_it_and_nothing_opens(door: Door) -> None:
    await door.post(member("warning"), into=SLACK)
    door.rows("update investigation set status = 'running'")
    door.rows("update delivery set state = 'sent'")
    version = door.column("select version from episode")
    await door.post(member("critical"), into=SLACK)

    assert door.column("select kind from delivery order by revision") == ["received", "members"]
    assert ranks(door, "episode") == [CRITICAL]
    assert door.column("select version from episode") == version, "no member joined, stopped or fires again"


@pytest.mark.parametrize(
    ("passed", "again", "expected"),
    [
        (31 * MINUTE, "critical", {"opened": 1}),
        (29 * MINUTE, "critical", {"duplicate": 1}),
        (31 * MINUTE, "info", {"duplicate": 1}),
        (31 * MINUTE, "warning", {"duplicate": 1}),
    ],
)
async def test_after_the_end_and_the_cooldown_a_higher_severity_begins_the_next_episode(
    door: Door, passed: timedelta, again: str, expected: dict[str, int]
) -> None:
    await door.post(member("warning"), into=SLACK)
    door.end_investigation()
    door.pass_time(passed)

    assert await door.post(member(again), into=SLACK) == expected

    door.accounts()
    assert len(ranks(door)) == 1
    assert len(ranks(door, "investigation")) == 1 + expected.get("opened", 0)


async def test_the_next_episode_of_a_risen_member_is_linked_and_holds_it(door: Door) -> None:
    await door.post(member("warning"), member("warning", fingerprint="f2"), into=SLACK)
    door.end_investigation()
    door.pass_time(31 * MINUTE)

    accepted = await door.take(arrival(member("critical"), member("warning", fingerprint="f2"), into=SLACK))

    assert counts(accepted) == {"opened": 1, "duplicate": 1}
    first, second = door.rows("select * from episode order by opened_at")
    assert (second["previous_episode_id"], second["severity_rank"]) == (first["episode_id"], CRITICAL)
    assert first["ended_at"] is not None
    assert first["severity_rank"] == WARNING
    assert door.column("select distinct episode_id from alert") == [second["episode_id"]]
    assert [one.episode_id for one in accepted.investigations if one.status == "queued"] == [second["episode_id"]]


async def test_within_the_cooldown_the_report_is_revised_and_the_severity_is_known_from_then_on(door: Door) -> None:
    await door.post(member("warning"), into=SLACK)
    door.end_investigation()
    door.rows("update delivery set state = 'sent'")
    await door.post(member("critical"), into=SLACK)
    door.pass_time(31 * MINUTE)

    assert await door.post(member("critical"), into=SLACK) == {"duplicate": 1}
    assert door.column("select kind from delivery order by revision") == ["received", "members"]
    assert len(ranks(door, "episode")) == 1


async def test_a_new_and_a_risen_member_of_one_post_open_one_episode(door: Door) -> None:
    await door.post(member("warning"))
    door.end_investigation()
    door.pass_time(31 * MINUTE)

    found = await door.post(member("critical", fingerprint="f2"), member("error"))

    assert found == {"opened": 1, "duplicate": 1}
    assert door.column("select count(distinct episode_id)::int from alert") == [1]
    door.accounts()


async def test_a_changed_group_by_opens_nothing_for_a_risen_member(door: Door) -> None:
    await door.post(member("warning"))
    door.end_investigation()
    door.pass_time(31 * MINUTE)

    assert await door.post(member("critical"), into=intake(group_by=("service",))) == {"duplicate": 1}
    assert (len(ranks(door, "episode")), ranks(door)) == (1, [CRITICAL])
