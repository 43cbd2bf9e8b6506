"""What a day cost: added up by the writes of the journal, never read back from them."""

from datetime import UTC, date, datetime

from inquest.domain.budget import Spend
from inquest.store.spend import DaySpend, spend_of_day
from tests.store.builders import Store, identity, nudge, run_started, write


async def test_totals_of_investigations_become_totals_of_days(store: Store) -> None:
    first = await store.started("inv-1")
    one = Spend(model_turns=1, connector_effects=4, input_tokens=100, output_tokens=10, usd_micros=700)
    await store.journal.commit(write(first, 2, nudge(), spend=one))
    await store.journal.commit(write(first, 3, nudge(), spend=one.but(model_turns=2, usd_micros=900)))
    await store.opened("inv-2")
    second = (await store.claimed("owner-2")).fence
    await store.journal.commit(write(second, 0, run_started(identity("inv-2")), spend=one))

    total = DaySpend(
        investigations=2, model_turns=3, connector_effects=8, input_tokens=200, output_tokens=20, usd_micros=1600
    )
    assert await spend_of_day(store.database, "acme") == total
    assert await spend_of_day(store.database) == total
    assert await spend_of_day(store.database, "rival") == DaySpend()
    assert await spend_of_day(store.database, "acme", datetime.now(UTC).date()) == total
    assert await spend_of_day(store.database, "acme", date(2020, 1, 1)) == DaySpend()


async def test_a_write_without_spend_adds_nothing(store: Store) -> None:
    fence = await store.started()
    spent = Spend(model_turns=1)
    await store.journal.commit(write(fence, 2, nudge(), spend=spent))

    await store.journal.commit(write(fence, 3, nudge()))
    await store.journal.commit(write(fence, 4, nudge(), spend=spent))

    assert (await store.investigations.get("inv-1")).spend == spent
    assert (await spend_of_day(store.database)).model_turns == 1
