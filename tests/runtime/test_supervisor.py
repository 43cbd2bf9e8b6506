import asyncio
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from inquest.runtime import supervisor
from inquest.runtime.supervisor import Running, keep_going
from tests.waiting import until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_BACKOFF_S", 0.001)
    monkeypatch.setattr(supervisor, "MAX_BACKOFF_S", 0.004)


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
    await running.drain(5)
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
    await running.drain(0.05)
    assert ends == ["quick", "cut"]
    await asyncio.wait(callers)
    assert callers[1].cancelled()
