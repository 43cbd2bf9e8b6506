"""The report of a revision, from the database: it says where the episode stands, not only its listed members."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from inquest.bootstrap.reporting import Reporting
from inquest.destinations.shared import bundle
from inquest.destinations.shared.bundle import evidence_that_fits
from inquest.domain.delivery import DeliveryClaimed, DeliveryFence, RevisionKind
from inquest.store import alerts
from inquest.store.content import PostgresContent
from inquest.store.lease import ClaimLimits
from inquest.store.sweep import SET_ASIDE, PostgresSweep
from tests.incident import incident_shelf
from tests.postgres import NewDatabase
from tests.reports import whole_report
from tests.store.builders import NOON
from tests.store.door import Door, arrival, firing, resolved


@pytest.fixture
async def door(database: NewDatabase) -> AsyncIterator[Door]:
    made = database()
    door = Door(made.url, made.conninfo)
    yield door
    await door.aclose()


def members_revision(investigation_id: str) -> DeliveryClaimed:
    return DeliveryClaimed(
        fence=DeliveryFence(target_id="t", owner_id="owner-1", generation=1),
        investigation_id=investigation_id, episode_id="e", workspace="acme", destination="reports", revision=2,
        kind=RevisionKind.MEMBERS, note="", step="send", attempts=0, reference=None, planned_at=NOON,
    )  # fmt: skip


async def test_of_the_evidence_only_what_fits_a_report_is_read_and_what_is_gone_costs_nothing_else(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = incident_shelf()
    report = whole_report(shelf)
    accepted = await door.take(arrival(firing()))
    kept = evidence_that_fits(report)[1:]
    content = PostgresContent(door.database, "acme")
    await content.put(accepted.investigations[0].investigation_id, {digest: shelf.contents[digest] for digest in kept})
    asked: list[object] = []
    rows = door.database.rows

    async def noted(statement: str, parameters: Mapping[str, object]) -> object:
        asked.append(parameters["digests"])
        return await rows(statement, parameters)

    monkeypatch.setattr(door.database, "rows", noted)
    monkeypatch.setattr(bundle, "MAX_EVIDENCE_FILES", 3)

    read = await Reporting(database=door.database).evidence("acme", report)

    assert asked == [list(evidence_that_fits(report))]
    assert len(evidence_that_fits(report)) == 3
    assert read == {digest: shelf.contents[digest] for digest in kept[:2]}


async def test_an_episode_fires_while_a_member_does_that_is_only_counted(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "MAX_LISTED_MEMBERS", 1)
    accepted = await door.take(arrival(firing(pod="a", severity="critical"), firing(pod="b")))
    (opened,) = accepted.investigations
    await door.post(resolved(pod="a", severity="critical"))

    built = await Reporting(database=door.database).build(members_revision(opened.investigation_id))

    (listed,) = built.report.episode.members
    assert (listed.alert.status, built.report.episode.unlisted_members) == ("resolved", 1)
    assert (built.report.episode_state, built.report.resolved_at) == ("firing", None)

    await door.post(resolved(pod="b"))
    built = await Reporting(database=door.database).build(members_revision(opened.investigation_id))

    assert built.report.episode_state == "resolved"
    assert built.report.resolved_at is not None


@pytest.mark.parametrize("until", [None, datetime(2999, 1, 1, tzinfo=UTC)], ids=["said", "said wrongly"])
async def test_the_trouble_was_over_when_its_sender_says_so_but_no_later_than_it_was_told(
    door: Door, until: datetime | None
) -> None:
    accepted = await door.take(arrival(firing()))
    end = resolved(until=until)
    await door.post(end)

    built = await Reporting(database=door.database).build(members_revision(accepted.investigations[0].investigation_id))

    told = built.report.resolved_at
    assert told is not None
    assert (told == end.ends_at) is (until is None)
    assert told <= datetime.now(UTC) + timedelta(minutes=1)


async def test_a_member_that_joins_after_the_last_look_of_the_run_is_in_its_report(door: Door) -> None:
    """The journal does not know it; the report is rendered when its sender has claimed it, from the episode of then."""
    opened = (await door.take(arrival(firing(pod="a")))).investigations[0].investigation_id
    door.rows("update investigation set status = 'running'")
    assert await door.post(firing(pod="b")) == {"joined": 1}
    door.end_investigation()

    built = await Reporting(database=door.database).build(members_revision(opened).but(kind=RevisionKind.REPORT))

    assert [member.alert.labels["pod"] for member in built.report.episode.members] == ["a", "b"]


@pytest.mark.parametrize("recorded", [0, 3])
async def test_one_that_was_set_aside_has_a_report_that_says_why(door: Door, recorded: int) -> None:
    """Of its journal nothing is there, or the row knows of three events that are not."""
    opened = (await door.take(arrival(firing()))).investigations[0].investigation_id
    door.rows("update investigation set version = %s, attempt = 99, stage_error = true, status = 'queued'", recorded)
    sweep = PostgresSweep(door.database, ClaimLimits())
    assert await sweep.set_aside_broken(take_expired=True) == 1
    failed = members_revision(opened).but(kind=RevisionKind.FAILED, note=SET_ASIDE.reason)

    report = (await Reporting(database=door.database).build(failed)).report

    assert (report.kind, report.note) == ("failed", SET_ASIDE.reason)
    assert await Reporting(database=door.database).form("acme", opened, "md")
