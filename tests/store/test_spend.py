"""What a day cost: added up by the writes of the journal, never read back from them."""

from datetime import UTC, datetime
from typing import Any

from inquest.domain.budget import Spend
from tests.store.builders import Store, identity, nudge, run_started, write


def days(store: Store) -> list[dict[str, Any]]:
    """Give the rows of all days; the workspace without a name is the whole installation."""
    return store.look("select * from spend_day order by workspace, day")


async def test_totals_of_investigations_become_totals_of_days(store: Store) -> None:
    first = await store.started("inv-1")
    one = Spend(model_turns=1, connector_effects=4, input_tokens=100, output_tokens=10, usd_micros=700)
    await store.journal.commit(write(first, 2, nudge(), spend=one))
    await store.journal.commit(write(first, 3, nudge(), spend=one.but(model_turns=2, usd_micros=900)))
    await store.opened("inv-2")
    second = (await store.claimed("owner-2")).fence
    await store.journal.commit(write(second, 0, run_started(identity("inv-2")), spend=one))

    total = {
        "investigations": 2,
        "model_turns": 3,
        "connector_effects": 8,
        "input_tokens": 200,
        "output_tokens": 20,
        "usd_micros": 1600,
    }
    today = {"day": datetime.now(UTC).date()}
    assert days(store) == [{"workspace": "", **today, **total}, {"workspace": "acme", **today, **total}]


async def test_a_write_without_spend_adds_nothing(store: Store) -> None:
    fence = await store.started()
    spent = Spend(model_turns=1)
    await store.journal.commit(write(fence, 2, nudge(), spend=spent))

    await store.journal.commit(write(fence, 3, nudge()))
    await store.journal.commit(write(fence, 4, nudge(), spend=spent))

    assert (await store.investigations.get("inv-1")).spend == spent
    assert [day["model_turns"] for day in days(store)] == [1, 1]
