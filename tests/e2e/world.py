"""A whole installation beside the service that it watches, for the length of a `with`; everything is a real process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.servers import (
    Inquest,
    Prometheus,
    Report,
    Running,
    Shop,
    alertmanager,
    free_port,
    prometheus,
    shop,
)


@dataclass(frozen=True)
class World:
    """Everything that runs. There is one investigation in it, once the shop is broken."""

    shop: Shop
    prometheus: Prometheus
    inquest: Inquest
    workers: tuple[Running, ...]

    def newest(self, kind: str) -> Report | None:
        """Give the newest revision of the investigation when it is of `kind`."""
        for worker in self.workers:
            worker.must_live()
        found = [self.inquest.newest(folder.name) for folder in self.inquest.reports.glob("*")]
        return next((one for one in found if one is not None and one.kind == kind), None)


@contextmanager
def world(
    folder: Path,
    *,
    workers: int = 1,
    model: Mapping[str, object] | None = None,
    before_prometheus: Callable[[str], AbstractContextManager[str]] = nullcontext,
) -> Iterator[World]:
    """Start everything, each when what it needs is ready. `before_prometheus` may put a door before it, by URL."""
    inquest, alertmanager_port = Inquest(folder), free_port()
    with inquest.leaving_nothing(), ExitStack() as starts:
        the_shop = starts.enter_context(shop(folder))
        metrics = starts.enter_context(prometheus(folder, scrapes=the_shop, alertmanager_port=alertmanager_port))
        inquest.configure(prometheus_url=starts.enter_context(before_prometheus(metrics.url)), model=model)
        service = starts.enter_context(inquest.serving())
        working = [starts.enter_context(inquest.working(number)) for number in range(1, workers + 1)]
        for worker in working:
            worker.until_says("worker_started")
        starts.enter_context(alertmanager(folder, port=alertmanager_port, posts_to=inquest.intake_url))
        yield World(shop=the_shop, prometheus=metrics, inquest=inquest, workers=tuple(working))
    assert [one.name for one in (service, *working) if not one.has_ended_well()] == []
