import asyncio
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from inquest.runtime import supervisor
from inquest.runtime.supervisor import Running, cancel_for_good, keep_going
from tests.waiting import until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_BACKOFF_S", 0.001)
    monkeypatch.setattr(supervisor, "MAX_BACKOFF_S", 0.004)
    monkeypatch.setattr(supervisor, "CANCEL_AGAIN_S", 0.01)
    monkeypatch.setattr(supervisor, "ABANDON_AFTER_S", 0.1)


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_returns_or_raises_is_begun_again_after_a_growing_wait() -> None:
    begun: list[int] = []

    async def serve() -> None:
        begun.append(len(begun))
        if len(begun) % 2:
            raise OSError

    with capture_logs() as logs:
        task = asyncio.create_task(keep_going("lane", serve))
        await until(lambda: len(begun) > 4)
        await ended(task)
    assert [line["error"] for line in logs[:3]] == ["OSError", None, "OSError"]
    assert [line["after_s"] for line in logs[:4]] == [0.001, 0.002, 0.004, 0.004]


async def test_what_went_on_steadily_is_begun_again_without_the_waits_of_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "STEADY_S", 0.0)
    begun: list[int] = []

    async def serve() -> None:
        begun.append(len(begun))

    with capture_logs() as logs:
        task = asyncio.create_task(keep_going("lane", serve))
        await until(lambda: len(begun) > 3)
        await ended(task)
    assert {line["after_s"] for line in logs} == {0.001}


async def test_cancelled_it_waits_for_what_it_serves_to_end() -> None:
    began, left = asyncio.Event(), asyncio.Event()

    async def serve() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            left.set()

    task = asyncio.create_task(keep_going("lane", serve))
    await began.wait()
    await ended(task)
    assert left.is_set()
    assert task.cancelled()


async def test_work_outlives_a_caller_that_is_cancelled() -> None:
    running, held, done = Running(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await held.wait()
        done.set()

    caller = asyncio.create_task(running.run(work))
    await asyncio.sleep(0)
    await ended(caller)
    held.set()
    await running.drain(5, cut_s=5)
    assert done.is_set()


async def test_an_error_of_the_work_reaches_its_caller() -> None:
    async def work() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await Running().run(work)


async def test_a_drain_lets_what_ends_in_time_end_and_cuts_the_rest() -> None:
    running, ends = Running(), list[str]()

    async def quick() -> None:
        await asyncio.sleep(0)
        ends.append("quick")

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cut")
            raise

    callers = [asyncio.create_task(running.run(work)) for work in (quick, slow)]
    await asyncio.sleep(0)
    await running.drain(0.05, cut_s=5)
    assert ends == ["quick", "cut"]
    await asyncio.wait(callers)
    assert callers[1].cancelled()


async def stubborn(times: int, ends: list[str]) -> None:
    """Take no notice of the first `times` cancellations, as a driver that says goodbye to a server that hangs."""
    for _ in range(times):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
    try:
        await asyncio.Event().wait()
    finally:
        ends.append("ended")


async def test_what_takes_no_notice_of_being_cut_is_cancelled_again_until_it_ends() -> None:
    running, ends = Running(), list[str]()
    caller = asyncio.create_task(running.run(lambda: stubborn(3, ends)))
    await asyncio.sleep(0)
    await running.drain(0, cut_s=0)
    assert ends == ["ended"]
    await asyncio.wait({caller})


async def test_what_never_ends_is_left_alone_after_a_while() -> None:
    task = asyncio.create_task(stubborn(1_000, []))
    await asyncio.sleep(0)
    with capture_logs() as lines:
        await cancel_for_good([task])
    assert [(line["event"], line["count"]) for line in lines] == [("tasks_abandoned", 1)]
    supervisor.ABANDON_AFTER_S = 60.0
    supervisor.CANCEL_AGAIN_S = 0.0
    await cancel_for_good([task])
    assert task.done()


async def test_a_lane_that_is_cancelled_again_passes_it_on() -> None:
    ends = list[str]()
    lane = asyncio.create_task(keep_going("lane", lambda: stubborn(1, ends)))
    await asyncio.sleep(0.01)
    lane.cancel()
    await asyncio.sleep(0.01)
    assert ends == []
    await cancel_for_good([lane])
    assert ends == ["ended"]
    assert lane.cancelled()
