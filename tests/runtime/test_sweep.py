"""The rhythm of the sweep and what a failing step costs. The steps themselves: tests/store/test_sweep.py."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from inquest.entrypoints.http.exposition import OF_A_WORKER, exposition
from inquest.errors import InvariantBroken, StoreUnavailable
from inquest.runtime.outage import Outage
from inquest.runtime.sweep import Sweeper
from inquest.telemetry import Metrics, create_metrics

ALL = [
    "investigations",
    "deliveries",
    "broken",
    "expired",
    "deferred",
    "interrupts",
    "episodes",
    "deleted",
    "watchdogs",
    "dead_jobs",
]


class ScriptedSweep:
    """Records the steps that were taken; `failing` ones raise."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.took_expired: list[bool] = []
        self.failing: dict[str, Exception] = {}
        self.ended: dict[str, int] = {}

    def _take(self, step: str) -> int:
        self.taken.append(step)
        if step in self.failing:
            raise self.failing[step]
        return self.ended.get(step, 0)

    async def ring_investigations(self, *, take_expired: bool) -> int:
        self.took_expired.append(take_expired)
        return self._take("investigations")

    async def set_aside_broken(self, *, take_expired: bool) -> int:
        self.took_expired.append(take_expired)
        return self._take("broken")

    async def expire_deferred(self) -> int:
        return self._take("expired")

    async def admit_deferred(self) -> int:
        return self._take("deferred")

    async def expire_interrupts(self) -> int:
        return self._take("interrupts")

    async def settle_episodes(self) -> int:
        return self._take("episodes")

    async def ring_deliveries(self) -> int:
        return self._take("deliveries")

    async def purge_deleted(self) -> int:
        return self._take("deleted")

    async def delete_dead_jobs(self) -> int:
        return self._take("dead_jobs")

    async def silent_watchdogs(self, silence: timedelta) -> Mapping[str, bool]:
        self._take("watchdogs")
        return {"am": True, "grafana": False}


@pytest.fixture
def sweep() -> ScriptedSweep:
    return ScriptedSweep()


@pytest.fixture
def metrics() -> Metrics:
    return create_metrics()


def sweeper(sweep: ScriptedSweep, metrics: Metrics, lease: timedelta = timedelta(minutes=5)) -> Sweeper:
    return Sweeper(sweep, Outage(lease), metrics)


async def test_the_first_sweep_takes_every_step(sweep: ScriptedSweep, metrics: Metrics) -> None:
    await sweeper(sweep, metrics).sweep_once()
    assert sweep.taken == ALL


async def test_a_step_is_not_taken_again_before_it_is_due(sweep: ScriptedSweep, metrics: Metrics) -> None:
    sweeping = sweeper(sweep, metrics)
    await sweeping.sweep_once()
    await sweeping.sweep_once()
    assert sweep.taken == ALL


async def test_a_step_that_fails_costs_its_own_turn_only(sweep: ScriptedSweep, metrics: Metrics) -> None:
    sweep.failing = {"investigations": InvariantBroken("a bug"), "episodes": StoreUnavailable("away")}
    await sweeper(sweep, metrics).sweep_once()
    assert sweep.taken == ALL


async def test_after_the_database_was_away_expired_leases_are_left_alone_for_one_lease(
    sweep: ScriptedSweep, metrics: Metrics
) -> None:
    for lease, expected in ((timedelta(minutes=5), [True, True, False, False]), (timedelta(0), [True] * 4)):
        sweep.took_expired.clear()
        sweep.failing = {"dead_jobs": StoreUnavailable("away")}
        sweeping = sweeper(sweep, metrics, lease)
        sweeping._outage._over_at = 0.0  # it has worked for long
        await sweeping.sweep_once()
        for step in sweeping._steps:
            step.began = float("-inf")
        sweep.failing = {}
        await sweeping.sweep_once()
        assert sweep.took_expired == expected


@pytest.mark.parametrize(("lease", "expected"), [(timedelta(minutes=5), False), (timedelta(0), True)])
async def test_a_worker_that_begins_cannot_know_of_an_outage_and_leaves_expired_leases_alone_for_one_lease(
    sweep: ScriptedSweep, metrics: Metrics, lease: timedelta, expected: bool
) -> None:
    await sweeper(sweep, metrics, lease).sweep_once()
    assert sweep.took_expired == [expected, expected]


async def test_an_intake_whose_watchdog_fell_silent_is_told(sweep: ScriptedSweep, metrics: Metrics) -> None:
    await sweeper(sweep, metrics).sweep_once()
    shown = exposition(metrics, OF_A_WORKER).decode()
    assert 'inquest_watchdog_missing{intake="am"} 1.0' in shown
    assert 'inquest_watchdog_missing{intake="grafana"} 0.0' in shown


async def test_what_a_sweep_ends_is_counted_among_the_investigations_that_ended(
    sweep: ScriptedSweep, metrics: Metrics
) -> None:
    sweep.ended = {"broken": 1, "expired": 2}
    await sweeper(sweep, metrics).sweep_once()
    shown = exposition(metrics, OF_A_WORKER).decode()
    assert 'inquest_investigations_total{status="failed",stop_reason=""} 1.0' in shown
    assert 'inquest_investigations_total{status="cancelled",stop_reason="expired"} 2.0' in shown
