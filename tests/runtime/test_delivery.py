"""Acts of sending over the real store, to destinations in memory that keep their promises."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from inquest.domain.canonical import digest_of
from inquest.domain.delivery import MAX_DELIVERY_ATTEMPTS, Address, DeliveryClaimed, DeliveryFailed
from inquest.domain.report import Report
from inquest.entrypoints.http.exposition import OF_A_WORKER, exposition
from inquest.errors import InvariantBroken
from inquest.ports import Deliveries
from inquest.runtime.clock import RandomIds
from inquest.runtime.delivery import MAX_SENDING_AT_ONE_PLACE, Built, DeliveryOptions, DeliveryRunner
from inquest.store import deliveries as store_deliveries
from inquest.store.deliveries import PostgresDeliveries
from inquest.telemetry import create_metrics
from tests.fakes.destination import MemoryDestination, Trouble
from tests.postgres import NewDatabase
from tests.runtime import toy
from tests.store.builders import Store
from tests.waiting import until

SLACK, FOLDER = "slack", "folder"
LEASE = timedelta(seconds=30)


class House:
    """A store with one investigation, and the destinations "slack" and "folder"."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.slack, self.folder = MemoryDestination(SLACK), MemoryDestination(FOLDER)
        self.metrics = create_metrics()
        self.build: Any = toy.build

    def runner(self, *, deliveries: Deliveries | None = None, send_for_s: float = 30.0) -> DeliveryRunner:
        return DeliveryRunner(
            deliveries or PostgresDeliveries(self.store.database),
            {("acme", SLACK): self.slack, ("acme", FOLDER): self.folder},
            self.build,
            metrics=self.metrics,
            ids=RandomIds(),
            options=DeliveryOptions(claim_lease=LEASE, send_for=timedelta(seconds=send_for_s), find_for_s=5.0),
        )

    async def open(self, name: str = "inv-1", *destinations: str) -> None:
        await self.store.opened(name)
        for destination in destinations or (SLACK,):
            self.store.add_target(name, destination)

    def plan(self, kind: str = "report", name: str = "inv-1") -> None:
        with self.store.connection() as connection:
            revision = f'[{{"kind": "{kind}", "note": ""}}]'
            connection.execute("select plan_deliveries(%s, %s::jsonb)", (name, revision))

    def states(self, target: str = "inv-1-slack") -> list[str]:
        rows = self.store.look("select state from delivery where target_id = %s order by revision", target)
        return [row["state"] for row in rows]

    def target(self, target: str = "inv-1-slack") -> dict[str, Any]:
        (row,) = self.store.look("select * from delivery_target where target_id = %s", target)
        return row

    def let_pass(self) -> None:
        self.store.look("update delivery_target set lease_expires_at = now(), retry_at = null")
        self.store.look("update delivery set send_deadline = now()")


@pytest.fixture
async def house(database: NewDatabase) -> AsyncIterator[House]:
    made = database()
    store = Store(made.url, made.conninfo)
    store.add_episode()
    yield House(store)
    await store.database.aclose()


async def test_revisions_of_one_investigation_are_one_message(house: House) -> None:
    await house.open()
    for kind in ("received", "report", "resolved"):
        house.plan(kind)
        await house.runner().deliver("inv-1-slack")
    assert house.slack.shown() == ["inv-1 resolved r3"]
    assert house.states() == ["sent", "sent", "sent"]
    assert 'inquest_deliveries_total{state="sent",type="memory"} 3.0' in exposition(house.metrics, OF_A_WORKER).decode()


async def test_what_is_sent_is_stored_before_it_is_sent(house: House) -> None:
    stored: list[bytes] = []

    class Looking(MemoryDestination):
        @override
        async def send(self, rendered: bytes, address: Address, **how: Any) -> Any:
            stored.extend((await house.store.content.get([digest_of(rendered)])).values())
            return await super().send(rendered, address, **how)

    house.slack = Looking(SLACK)
    await house.open()
    house.plan()
    await house.runner().deliver("inv-1-slack")
    assert stored == [b"inv-1 report r1"]


# ---- one destination's trouble is its own


async def test_a_destination_that_asks_for_an_hour_frees_its_sender_and_delays_no_other(house: House) -> None:
    house.slack.troubles = [DeliveryFailed(reason="rate limited", retry=True, retry_after_ms=3_600_000)]
    await house.open("inv-1", SLACK, FOLDER)
    house.plan()
    runner = house.runner()
    await runner.deliver("inv-1-slack")
    await runner.deliver("inv-1-folder")
    assert (house.states(), house.states("inv-1-folder")) == (["planned"], ["sent"])
    (wait,) = house.store.look(
        "select retry_at - now() > '59 minutes' as long from delivery_target where retry_at > now()"
    )
    assert wait["long"]


async def test_a_destination_that_hangs_takes_few_senders_and_its_others_go_when_it_wakes(house: House) -> None:
    names = [f"inv-{n}" for n in range(5)]
    house.slack.troubles = [Trouble.HANG] * len(names)
    for name in names:
        await house.open(name, SLACK, FOLDER)
        house.plan(name=name)
    runner = house.runner()
    sending = [asyncio.create_task(runner.deliver(f"{name}-slack")) for name in names]
    await until(lambda: house.slack.sending == MAX_SENDING_AT_ONE_PLACE)
    await until(lambda: sum(task.done() for task in sending) == len(names) - MAX_SENDING_AT_ONE_PLACE)
    await runner.deliver("inv-4-folder")
    assert len(house.folder.messages) == len(names), "one bell of the other destination clears it"
    house.slack.let_go.set()
    await asyncio.gather(*sending)
    assert len(house.slack.messages) == len(names)


async def test_a_refusal_for_good_ends_the_revision_and_not_the_target(house: House) -> None:
    house.slack.troubles = [DeliveryFailed(reason="no such channel", retry=False)]
    await house.open()
    house.plan()
    await house.runner().deliver("inv-1-slack")
    house.plan("resolved")
    await house.runner().deliver("inv-1-slack")
    assert house.states() == ["failed", "sent"]


async def test_a_destination_that_is_not_configured_here_waits_for_a_worker_that_knows_it(house: House) -> None:
    await house.open("inv-1", "unknown")
    house.plan()
    await house.runner().deliver("inv-1-unknown")
    assert house.states("inv-1-unknown") == ["planned"]
    assert house.target("inv-1-unknown")["retry_at"] is not None


# ---- lost answers


@pytest.mark.parametrize(("trouble", "found"), [(Trouble.LOSE_ANSWER, True), (Trouble.LOSE_REQUEST, False)])
async def test_a_first_send_without_an_answer_is_looked_up_and_arrives_once(
    house: House, trouble: Trouble, found: bool
) -> None:
    house.slack.troubles = [trouble]
    await house.open()
    house.plan()
    await house.runner().deliver("inv-1-slack")
    assert house.states() == ["reserved"]
    house.plan("resolved")
    await house.runner().deliver("inv-1-slack")
    assert house.slack.looked_for == [], "not before the deadline of the send"
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    assert house.slack.looked_for == ["inv-1/r1"]
    assert house.slack.shown() == ["inv-1 resolved r2"]
    assert house.states() == ["sent" if found else "superseded", "sent"]


async def test_where_nothing_can_be_looked_up_a_first_send_stops_for_a_human(house: House) -> None:
    house.slack.troubles = [Trouble.LOSE_ANSWER]
    house.slack.looks = [DeliveryFailed(reason="no read access", retry=False)]
    await house.open()
    house.plan()
    await house.runner().deliver("inv-1-slack")
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    house.plan("resolved")
    await house.runner().deliver("inv-1-slack")
    assert house.states() == ["unknown_outcome", "planned"]
    assert house.slack.shown() == ["inv-1 report r1"]


async def test_a_destination_that_cannot_be_asked_is_asked_again_later(house: House) -> None:
    house.slack.troubles = [Trouble.LOSE_ANSWER]
    house.slack.looks = [ConnectionResetError()]
    await house.open()
    house.plan()
    await house.runner().deliver("inv-1-slack")
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    assert (house.states(), house.target()["retry_at"] is not None) == (["reserved"], True)
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    assert (house.states(), house.slack.shown()) == (["sent"], ["inv-1 report r1"])


async def test_an_edit_without_an_answer_is_repeated(house: House) -> None:
    house.slack.troubles = [None, Trouble.LOSE_ANSWER]
    await house.open()
    for kind in ("received", "report"):
        house.plan(kind)
        await house.runner().deliver("inv-1-slack")
    assert house.states() == ["sent", "reserved"]
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    assert (house.states(), house.slack.looked_for) == (["sent", "sent"], [])
    assert house.slack.messages["slack-1"].bodies == ["inv-1 received r1", "inv-1 report r2", "inv-1 report r2"]
    assert house.target()["again_at"] is not None


@pytest.mark.parametrize("known", [False, True])
async def test_a_send_that_never_arrives_is_given_up_in_the_end(house: House, known: bool) -> None:
    await house.open()
    if known:
        house.plan("received")
        await house.runner().deliver("inv-1-slack")
    house.slack.troubles = [Trouble.LOSE_REQUEST] * 100
    house.plan()

    for _ in range(2 * MAX_DELIVERY_ATTEMPTS):
        house.let_pass()
        await house.runner().deliver("inv-1-slack")

    assert house.states()[-1] == "failed"
    assert len(house.slack.troubles) == 100 - MAX_DELIVERY_ATTEMPTS


async def test_a_send_that_takes_too_long_is_an_answer_that_was_lost(house: House) -> None:
    house.slack.troubles = [Trouble.HANG]
    await house.open()
    house.plan()
    await house.runner(send_for_s=0.2).deliver("inv-1-slack")
    assert (house.states(), house.slack.shown()) == (["reserved"], [])


async def test_nothing_is_sent_when_the_reservation_took_all_the_time(house: House) -> None:
    class Slow(PostgresDeliveries):
        @override
        async def reserve(self, claimed: DeliveryClaimed, rendered: bytes, *, send_for: timedelta) -> None:
            await super().reserve(claimed, rendered, send_for=send_for)
            await asyncio.sleep(send_for.total_seconds())

    await house.open()
    house.plan()
    await house.runner(deliveries=Slow(house.store.database), send_for_s=0.1).deliver("inv-1-slack")
    assert house.slack.messages == {}
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    assert house.slack.shown() == ["inv-1 report r1"]


async def test_an_answer_that_says_it_may_have_arrived_is_looked_up_like_a_lost_one(house: House) -> None:
    house.slack.troubles = [DeliveryFailed(reason="Slack broke (HTTP 500)", retry=True, uncertain=True)]
    await house.open()
    house.plan()
    await house.runner().deliver("inv-1-slack")
    assert house.states() == ["reserved"]
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    assert (house.slack.looked_for, house.slack.shown()) == (["inv-1/r1"], ["inv-1 report r1"])


# ---- messages of a thread


async def test_a_message_that_says_nothing_of_a_revision_sends_nothing(house: House) -> None:
    house.slack.silent_on = frozenset({"received"})
    await house.open()
    for kind in ("received", "report"):
        house.plan(kind)
        await house.runner().deliver("inv-1-slack")
    assert house.states() == ["superseded", "sent"]
    assert house.slack.shown() == ["inv-1 report r2"]


# ---- a report that cannot be made


async def test_a_report_that_cannot_be_made_is_a_try_and_the_error_is_seen(house: House) -> None:
    async def broken(_claimed: DeliveryClaimed) -> Built:
        raise KeyError("a bug in building")

    await house.open()
    house.plan()
    house.build = broken
    with pytest.raises(KeyError):
        await house.runner().deliver("inv-1-slack")
    (row,) = house.store.look("select state, attempts, outcome from delivery")
    assert row == {"state": "planned", "attempts": 1, "outcome": "the report could not be made"}
    house.build = toy.build
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    assert house.states() == ["sent"]


async def test_a_report_that_cannot_be_stored_is_a_try_too(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_deliveries, "MAX_RENDERED_BYTES", 5)
    await house.open()
    house.plan()

    with pytest.raises(InvariantBroken):
        await house.runner().deliver("inv-1-slack")

    (row,) = house.store.look("select state, attempts, outcome from delivery")
    assert row == {"state": "planned", "attempts": 1, "outcome": "the report could not be made"}
    assert house.target()["retry_at"] is not None


# ---- leaving


async def test_a_sender_that_is_cut_lets_go_and_what_it_began_is_looked_up(house: House) -> None:
    house.slack.troubles = [Trouble.HANG]
    await house.open()
    house.plan()
    task = asyncio.create_task(house.runner().deliver("inv-1-slack"))
    await until(lambda: house.slack.sending)
    task.cancel()
    await asyncio.wait({task})
    assert (house.states(), house.target()["owner_id"]) == (["reserved"], None)
    house.let_pass()
    await house.runner().deliver("inv-1-slack")
    assert (house.slack.looked_for, house.slack.shown()) == (["inv-1/r1"], ["inv-1 report r1"])


async def test_a_runner_that_drains_begins_nothing(house: House) -> None:
    await house.open()
    house.plan()
    runner = house.runner()
    runner.drain()
    await runner.deliver("inv-1-slack")
    assert house.states() == ["planned"]


async def test_the_report_is_of_the_revision_that_is_sent(house: House) -> None:
    built: list[Report] = []

    async def build(claimed: DeliveryClaimed) -> Built:
        made = await toy.build(claimed)
        built.append(made.report)
        return made

    house.build = build
    await house.open()
    house.plan("received")
    house.plan("report")
    await house.runner().deliver("inv-1-slack")
    assert [(report.revision, report.kind) for report in built] == [(2, "report")]
    assert house.states() == ["superseded", "sent"]


# ---- what an operator is told


async def test_the_log_says_why_nothing_arrived_and_no_reason_where_it_did(house: House) -> None:
    await house.open()
    house.slack.troubles = [DeliveryFailed(reason="Slack refuses it: not_in_channel", retry=False), None]
    with capture_logs() as logs:
        for kind in ("received", "report"):
            house.plan(kind)
            await house.runner().deliver("inv-1-slack")
    ended = [(one["state"], one.get("reason")) for one in logs if one["event"] == "delivery_ended"]
    assert ended == [("given_up", "Slack refuses it: not_in_channel"), ("sent", None)]
