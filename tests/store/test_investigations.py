"""Opening, reading and listing investigations, each workspace its own."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from inquest.domain.budget import Spend
from inquest.domain.event import StageCommitted
from inquest.domain.investigation import (
    Facts,
    FactsExtracted,
    Origin,
    Status,
)
from inquest.domain.window import IncidentWindow, Window
from inquest.errors import InvariantBroken, NotFound
from inquest.store.investigations import MAX_PAGE, Filters, Position
from tests.store.builders import EPISODE, NOON, Store, far, opening, run_started, succeeded, write


@pytest.fixture
async def rival(store: Store) -> AsyncIterator[Store]:
    store.add_episode("episode-2", "rival")
    other = Store(store.database.url, store.conninfo, "rival")
    yield other
    await other.database.aclose()


async def test_a_new_one_is_queued_and_its_bell_has_rung(store: Store) -> None:
    origin = Origin(intake="am", source="alertmanager", channel="C1")
    asked = opening(severity_rank=4, origin=origin, title="CheckoutErrors", service="checkout", parent_id="inv-0")

    assert await store.investigations.open(asked)

    row = await store.investigations.get("inv-1")
    assert (row.identity.run_id, row.identity.workspace_id, row.identity.task_id) == ("inv-1", "acme", EPISODE)
    assert (row.status, row.severity_rank, row.origin, row.parent_id) == (Status.QUEUED, 4, origin, "inv-0")
    assert (row.title, row.service, row.version, row.spend, row.started_at) == (
        "CheckoutErrors",
        "checkout",
        0,
        Spend(),
        None,
    )
    assert [job["args"] for job in store.look("select args from procrastinate.procrastinate_jobs")] == [{"id": "inv-1"}]


async def test_a_deferred_one_says_why_and_rings_nobody(store: Store) -> None:
    await store.opened(not_before=far(), defer_reason="max_new_per_hour")

    row = await store.investigations.get("inv-1")

    assert (row.status, row.not_before, row.defer_reason) == (Status.DEFERRED, far(), "max_new_per_hour")
    assert store.look("select * from procrastinate.procrastinate_jobs") == []


async def test_opening_the_same_id_again_changes_nothing(store: Store) -> None:
    await store.opened()

    assert not await store.investigations.open(opening(severity_rank=4))

    assert (await store.investigations.get("inv-1")).severity_rank == 2


async def test_an_episode_of_another_workspace_opens_nothing(store: Store, rival: Store) -> None:
    with pytest.raises(NotFound):
        await rival.investigations.open(opening())
    await store.opened()
    with pytest.raises(NotFound):  # nor does an id that is taken there
        await rival.investigations.open(opening(episode_id="episode-2"))


async def test_another_workspaces_id_is_not_found(store: Store, rival: Store) -> None:
    await store.opened()

    with pytest.raises(NotFound):
        await rival.investigations.get("inv-1")
    assert (await rival.investigations.page(Filters())).rows == ()


async def listed(store: Store, **filters: object) -> list[str]:
    page = await store.investigations.page(Filters().but(**filters))
    return [row.identity.run_id for row in page.rows]


async def test_a_list_is_filtered_by_everything_that_is_given(store: Store) -> None:
    store.add_episode("episode-9")
    await store.opened("inv-1", service="checkout")
    fence = (await store.claimed()).fence
    await store.journal.commit(write(fence, 0, run_started(), succeeded()))
    await store.opened("inv-2", service="search")
    await store.opened("inv-3", service="checkout", episode_id="episode-9")
    second = await store.investigations.get("inv-2")

    assert await listed(store) == ["inv-3", "inv-2", "inv-1"]
    assert await listed(store, statuses=(Status.QUEUED,)) == ["inv-3", "inv-2"]
    assert await listed(store, statuses=()) == []
    assert await listed(store, service="checkout") == ["inv-3", "inv-1"]
    assert await listed(store, service="checkout", statuses=(Status.SUCCEEDED, Status.FAILED)) == ["inv-1"]
    assert await listed(store, episode_id="episode-9") == ["inv-3"]
    assert await listed(store, since=second.created_at) == ["inv-3", "inv-2"]
    assert await listed(store, verdict="healthy") == []


async def test_pages_follow_each_other_without_a_gap_while_new_ones_open(store: Store) -> None:
    for number in range(7):
        await store.opened(f"inv-{number}")
    store.look("update investigation set created_at = %s where investigation_id in ('inv-3', 'inv-4')", NOON)
    found: list[str] = []
    after: Position | None = None

    for number in range(4):
        page = await store.investigations.page(Filters(), after=after, limit=2)
        found += [row.identity.run_id for row in page.rows]
        after = page.next
        await store.opened(f"later-{number}")

    assert found == ["inv-6", "inv-5", "inv-2", "inv-1", "inv-0", "inv-4", "inv-3"]
    assert after is None


@pytest.mark.parametrize("limit", [0, MAX_PAGE + 1])
async def test_a_page_is_bounded(store: Store, limit: int) -> None:
    with pytest.raises(InvariantBroken):
        await store.investigations.page(Filters(), limit=limit)


async def test_a_list_shows_what_the_journal_found_out(store: Store) -> None:
    await store.opened(title="from the alert")
    fence = (await store.claimed()).fence
    window = Window(start=NOON - timedelta(hours=1), end=NOON)
    facts = Facts(
        alert_name="CheckoutErrors", severity="critical", alert_source="alertmanager", service="checkout",
        window=IncidentWindow(anchor=NOON, incident=window, baseline=window),
    )  # fmt: skip
    found = StageCommitted(update=FactsExtracted(facts=facts))

    await store.journal.commit(write(fence, 0, run_started(), found, succeeded(), spend=Spend(model_turns=3)))

    row = await store.investigations.get("inv-1")
    assert (row.title, row.service, row.spend.model_turns, row.status) == (
        "CheckoutErrors",
        "checkout",
        3,
        Status.SUCCEEDED,
    )
    assert row.ended_at is not None
    assert row.started_at is not None
