"""Ceilings are kept before the act (checklist 37 to 39), over all attempts."""

from datetime import UTC, datetime, timedelta

import pytest

from inquest.domain.budget import MAX_OTHER_MODEL_TURNS, Limits
from inquest.errors import BudgetExhausted
from inquest.ports import Again, Fresh, Known, Moved, Spent
from tests.store.builders import Either, contents, model, nudge, plan_committed, query, receipt, run_started, write


def what(error: pytest.ExceptionInfo[BudgetExhausted]) -> tuple[str, float, float]:
    return error.value.ceiling, error.value.used, error.value.allowed


async def test_the_reservation_over_the_ceiling_of_turns_is_refused(either: Either) -> None:
    fence = await either.started(turns=2)
    await either.journal.reserve(fence, 2, model("turn/1"))
    await either.journal.reserve(fence, 2, model("turn/2"))

    with pytest.raises(BudgetExhausted) as error:
        await either.journal.reserve(fence, 2, model("turn/3"))

    assert what(error) == ("max_model_turns", 2, 2)
    assert len((await either.journal.load("inv-1")).effects) == 2


async def test_a_take_over_does_not_refill_the_turns(either: Either) -> None:
    fence = await either.started(turns=1)
    await either.journal.reserve(fence, 2, model("turn/1"))
    await either.journal.commit(write(fence, 2, nudge()))
    fence = await either.taken_over("owner-2")

    assert await either.journal.reserve(fence, 4, model("turn/1")) == Again(dispatches=2)
    with pytest.raises(BudgetExhausted):
        await either.journal.reserve(fence, 4, model("turn/2"))


async def test_a_turn_that_moved_to_a_try_is_one_turn(either: Either) -> None:
    fence = await either.started(turns=1)
    await either.journal.reserve(fence, 2, model("turn/1"))
    fence = await either.taken_over("owner-2")

    assert await either.journal.reserve(fence, 0, model("turn/1", b"new")) == Moved(key="turn/1/try/2")


async def test_extract_and_diagnose_have_turns_of_their_own(either: Either) -> None:
    fence = await either.started(turns=1)
    await either.journal.reserve(fence, 2, model("turn/1"))
    for number in range(1, MAX_OTHER_MODEL_TURNS + 1):
        assert await either.journal.reserve(fence, 2, model(f"diagnose/{number}")) == Fresh()

    with pytest.raises(BudgetExhausted) as error:
        await either.journal.reserve(fence, 2, model("diagnose/5"))
    assert what(error) == ("max_other_model_turns", 4, 4)


async def test_a_batch_over_the_ceiling_of_effects_is_refused_whole(either: Either) -> None:
    fence = await either.started(effects=2)

    batch = tuple(query(f"seed/{number}") for number in (1, 2, 3))

    with pytest.raises(BudgetExhausted) as error:
        await either.journal.commit(write(fence, 2, nudge(), reservations=batch))

    assert what(error) == ("max_connector_effects", 0, 2)
    assert (await either.journal.load("inv-1")).version == 2
    await either.journal.commit(write(fence, 2, nudge(), reservations=batch[:2]))


async def test_the_ceilings_of_the_plan_hold_in_its_own_transaction(either: Either) -> None:
    await either.opened()
    fence = (await either.claimed()).fence
    await either.journal.commit(write(fence, 0, run_started()))

    plan = plan_committed(effects=1)

    with pytest.raises(BudgetExhausted):
        await either.journal.commit(write(fence, 1, plan, reservations=(query("seed/1"), query("seed/2"))))

    assert (await either.journal.load("inv-1")).version == 1


async def test_repeated_dispatches_and_tries_count_as_effects(either: Either) -> None:
    fence = await either.started(effects=3)
    await either.journal.commit(write(fence, 2, nudge(), reservations=(query("seed/1"),)))
    fence = await either.taken_over("owner-2")
    assert await either.journal.reserve(fence, 0, query("seed/1")) == Again(dispatches=2)
    fence = await either.taken_over("owner-3")
    assert await either.journal.reserve(fence, 0, query("seed/1", b"new")) == Moved(key="seed/1/try/2")

    with pytest.raises(BudgetExhausted) as error:
        await either.journal.reserve(fence, 5, query("seed/2"))
    assert what(error) == ("max_connector_effects", 3, 3)
    fence = await either.taken_over("owner-4")
    with pytest.raises(BudgetExhausted):
        await either.journal.reserve(fence, 0, query("seed/1", b"new"))


async def test_a_dispatch_that_a_drain_cut_is_not_counted(either: Either) -> None:
    fence = await either.started(effects=1)
    await either.journal.commit(write(fence, 2, nudge(), reservations=(query("seed/1"),)))
    await either.claims.release(fence)
    fence = (await either.claimed("owner-2")).fence

    assert await either.journal.reserve(fence, 0, query("seed/1")) == Again(dispatches=1)


async def test_nothing_is_reserved_after_the_deadline(either: Either) -> None:
    passed = datetime.now(UTC) - timedelta(seconds=1)
    fence = await either.started(deadline_at=passed)

    with pytest.raises(BudgetExhausted) as error:
        await either.journal.reserve(fence, 2, query("seed/1"))
    assert error.value.ceiling == "deadline_at"
    assert error.value.used > error.value.allowed
    with pytest.raises(BudgetExhausted):
        await either.journal.commit(write(fence, 2, nudge(), reservations=(query("seed/1"),)))

    await either.journal.commit(write(fence, 2, nudge()))


async def test_what_was_bought_before_the_deadline_is_answered_after_it(either: Either) -> None:
    await either.opened()
    fence = (await either.claimed()).fence
    bought, open_ = query("seed/1"), query("seed/2")
    await either.journal.commit(write(fence, 0, run_started(), reservations=(bought, open_)))
    passed = datetime.now(UTC) - timedelta(seconds=1)
    await either.journal.commit(write(fence, 1, plan_committed(deadline_at=passed)))

    await either.journal.receive(fence, receipt(bought), contents(b"{}"))

    assert await either.journal.reserve(fence, 2, bought) == Known(receipt=receipt(bought))
    assert await either.journal.reserve(fence, 2, open_) == Fresh()
    fence = await either.taken_over("owner-2")
    with pytest.raises(BudgetExhausted):
        await either.journal.reserve(fence, 0, open_)


async def test_a_spent_key_is_spent_whatever_the_ceilings_say(either: Either) -> None:
    fence = await either.started(effects=3)
    await either.journal.commit(write(fence, 2, nudge(), reservations=(query("seed/1"),)))
    for number in (2, 3):
        fence = await either.taken_over(f"owner-{number}")
        await either.journal.reserve(fence, 0, query("seed/1"))
    fence = await either.taken_over("owner-4")

    assert await either.journal.reserve(fence, 0, query("seed/1")) == Spent()


async def test_before_the_plan_the_limits_of_run_started_hold(either: Either) -> None:
    await either.opened()
    fence = (await either.claimed()).fence
    await either.journal.commit(write(fence, 0, run_started(limits=Limits(max_connector_effects=1))))

    await either.journal.reserve(fence, 1, query("seed/1"))
    with pytest.raises(BudgetExhausted):
        await either.journal.reserve(fence, 1, query("seed/2"))
