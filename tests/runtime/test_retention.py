"""How a worker takes part in retention: one pass an hour, step by step, and what it says of it."""

from __future__ import annotations

from structlog.testing import capture_logs

from inquest.ports import Removed
from inquest.runtime.retention import ASK_EVERY_S, Retaining
from inquest.telemetry import create_metrics


class Scripted:
    """Gives a pass when it is asked the first time, and removes what it was told to, step by step."""

    def __init__(self, *steps: Removed) -> None:
        self.asked = 0
        self.steps = list(steps)

    async def begin(self) -> bool:
        self.asked += 1
        return self.asked == 1

    async def remove(self) -> Removed:
        return self.steps.pop(0)


async def test_a_pass_goes_on_until_nothing_is_left_and_then_says_what_it_removed() -> None:
    store, metrics = Scripted(Removed(receipts=50), Removed(receipts=3, investigations=1), Removed()), create_metrics()
    retaining = Retaining(store, metrics, clock=lambda: 0.0)

    with capture_logs() as logs:
        for _ in range(3):
            await retaining.step()

    assert logs == [
        {"event": "retention_removed", "log_level": "info", "investigations": 1, "receipts": 53, "bodies": 0,
         "episodes": 0, "alerts": 0}
    ]  # fmt: skip
    assert metrics.registry.get_sample_value("inquest_removed_total", {"kind": "receipts"}) == 53
    assert store.steps == []


async def test_a_worker_that_has_no_pass_asks_once_a_minute() -> None:
    now, store = [0.0], Scripted(Removed())
    retaining = Retaining(store, create_metrics(), clock=lambda: now[0])
    await retaining.step()  # begun, and nothing was left

    await retaining.step()
    assert store.asked == 1
    now[0] += ASK_EVERY_S
    await retaining.step()
    assert store.asked == 2
