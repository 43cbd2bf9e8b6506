"""A whole installation beside the service that it watches, for the length of a `with`; everything is a real process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.servers import (
    ALERT,
    Inquest,
    Prometheus,
    Report,
    Running,
    Shop,
    alertmanager,
    prometheus,
    shop,
)
from tests.loopback import free_port


@dataclass(frozen=True)
class World:
    """Everything that runs. `processes` are our own, the workers among them; there may be one that is both."""

    shop: Shop
    prometheus: Prometheus
    inquest: Inquest
    processes: tuple[Running, ...]
    workers: tuple[Running, ...]

    def newest(self, kind: str, *, alert: str = ALERT) -> Report | None:
        """Give the newest revision of the investigation of `alert` when it is of `kind`."""
        return next((one for one in self._newest() if (one.kind, one.alert) == (kind, alert)), None)

    def investigation(self, alert: str) -> str | None:
        """Give the id of the investigation of `alert`, None while nothing was written of it."""
        return next((one.investigation for one in self._newest() if one.alert == alert), None)

    def _newest(self) -> list[Report]:
        for worker in self.workers:
            worker.must_live()
        found = [self.inquest.newest(folder.name) for folder in self.inquest.reports.glob("*")]
        return [one for one in found if one is not None]


@contextmanager
def world(
    folder: Path,
    *,
    workers: int | None = 1,
    environment: Mapping[str, str] | None = None,
    before_prometheus: Callable[[str], AbstractContextManager[str]] = nullcontext,
    **sections: Mapping[str, object],
) -> Iterator[World]:
    """Start everything, each when what it needs is ready.

    `workers`: so many beside the service; None: `inquest up`, which is both. `before_prometheus` may put a door
    before it, by URL. `sections` and `environment` are those of our own processes.
    """
    inquest, alertmanager_port = Inquest(folder, more_environment=environment or {}), free_port()
    with inquest.leaving_nothing(), ExitStack() as starts:
        the_shop = starts.enter_context(shop(folder))
        metrics = starts.enter_context(prometheus(folder, scrapes=the_shop, alertmanager_port=alertmanager_port))
        inquest.configure(prometheus_url=starts.enter_context(before_prometheus(metrics.url)), **sections)
        if workers is None:
            working = [starts.enter_context(inquest.up())]
            processes = working
        else:
            service = starts.enter_context(inquest.serving())
            working = [starts.enter_context(inquest.working(number)) for number in range(1, workers + 1)]
            processes = [service, *working]
        for worker in working:
            worker.until_says("worker_started")
        starts.enter_context(alertmanager(folder, port=alertmanager_port, posts_to=inquest.intake_url))
        yield World(the_shop, metrics, inquest, processes=tuple(processes), workers=tuple(working))
    assert [one.name for one in processes if not one.has_ended_well()] == []
