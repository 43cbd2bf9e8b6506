"""The two processes, assembled: a worker, and the HTTP service that takes alerts in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Literal

from inquest import crash
from inquest.bootstrap.claiming import Claiming, load_models
from inquest.bootstrap.home import Home
from inquest.bootstrap.reporting import Reporting
from inquest.bootstrap.workspace import Workspaces
from inquest.models.litellm_model import LitellmModel
from inquest.ports import Connector, LeaseLine
from inquest.runtime.clock import RandomIds
from inquest.runtime.delivery import DeliveryRunner
from inquest.runtime.supervisor import keep_going
from inquest.runtime.worker import Worker, WorkerOptions, WorkerParts
from inquest.settings import Settings
from inquest.store import lease_line
from inquest.store.claims import PostgresClaims
from inquest.store.database import Database
from inquest.store.deliveries import PostgresDeliveries
from inquest.store.installation import agree_on_key
from inquest.store.lease import ClaimLimits
from inquest.store.queue import ProcrastinateEngine
from inquest.store.retention import PostgresRetention
from inquest.store.sweep import PostgresSweep
from inquest.telemetry import Metrics, create_metrics, log

HEALTH_EVERY_S = 60.0
HEALTH_TIMEOUT_S = 5.0

Health = dict[tuple[str, str], Literal["ok", "failing", "unknown"]]
"""By workspace and integration."""


@dataclass
class Process:
    """What both processes are made of. Close it in the event loop that used it."""

    settings: Settings
    home: Home
    database: Database
    workspaces: Workspaces
    metrics: Metrics
    health: Health = field(default_factory=dict)
    models: Mapping[str, LitellmModel] = field(default_factory=dict)
    """Loaded by `build_worker`."""

    @property
    def reporting(self) -> Reporting:
        """Give the builder of reports."""
        return Reporting(database=self.database, workspaces=self.workspaces, signer=self.home.key)

    async def aclose(self) -> None:
        """Close every connection."""
        for workspace in self.workspaces.values():
            await workspace.aclose()
        for model in self.models.values():
            await model.aclose()
        await self.database.aclose()


async def open_process(settings: Settings, home: Home, workspaces: Workspaces) -> Process:
    """Assemble what a process needs, and agree on the installation key.

    Raises ConfigurationError when its key is another than the installation's, StoreUnavailable.
    """
    process = Process(
        settings=settings,
        home=home,
        database=Database(home.url),
        workspaces=workspaces,
        metrics=create_metrics(),
    )
    try:
        await agree_on_key(process.database, home.key.fingerprint)
        _arm(settings)
    except BaseException:
        await process.aclose()
        raise
    return process


def _arm(settings: Settings) -> None:
    """Arm this process where its environment says that it is to die, and say so: nobody wants that by mistake."""
    if settings.crash_at is not None:
        crash.arm(crash.read(settings.crash_at))
        log().warning("crash_point_armed", at=settings.crash_at, variable="INQUEST_CRASH_AT")


def build_worker(process: Process) -> Worker:
    """Assemble the worker. Imports litellm where a model is configured, so that no claim waits for it."""
    settings = process.settings
    process.models = load_models(process.workspaces)
    lease = timedelta(seconds=settings.lease_s)
    limits = claim_limits(process.workspaces)
    claiming = Claiming(
        database=process.database,
        workspaces=process.workspaces,
        key=process.home.key,
        metrics=process.metrics,
        health=process.health,
        models=process.models,
    )
    sweep = PostgresSweep(process.database, limits)
    ids = RandomIds()
    return Worker(
        WorkerOptions(concurrency=settings.concurrency, lease=lease, drain_grace_s=settings.drain_grace_s),
        WorkerParts(
            claims=PostgresClaims(process.database, limits),
            engine=ProcrastinateEngine(process.home.url, upkeep=partial(_upkeep, sweep)),
            connect_lease=partial(_lease_line, process.home.url, lease),
            sweep=sweep,
            deliveries=DeliveryRunner(
                PostgresDeliveries(process.database),
                {
                    (name, each): destination
                    for name, one in process.workspaces.items()
                    for each, destination in one.destinations.items()
                },
                process.reporting.build,
                metrics=process.metrics,
                ids=ids,
                workspaces=frozenset(process.workspaces),
            ),
            run_investigation=claiming.run,
            conclude_failed=claiming.conclude_failed,
            metrics=process.metrics,
            ids=ids,
            retention=PostgresRetention(
                process.database, {name: one.retention for name, one in process.workspaces.items()}
            ),
        ),
    )


def claim_limits(workspaces: Workspaces) -> ClaimLimits:
    """Give what claims may take: of the workspaces of the file, as much at once and a day as it says."""
    ceilings = {name: one.ceilings.workspace_usd_micros for name, one in workspaces.items()}
    of_all = {one.ceilings.installation_usd_micros for one in workspaces.values()} - {None}
    return ClaimLimits(
        by_workspace={name: one.max_running for name, one in workspaces.items()},
        only=tuple(workspaces),
        usd_micros_a_day={name: micros for name, micros in ceilings.items() if micros is not None},
        installation_usd_micros_a_day=min((micros for micros in of_all if micros is not None), default=None),
    )


def _lease_line(url: str, lease: timedelta) -> LeaseLine:
    return lease_line.connect(url, lease)


async def _upkeep(sweep: PostgresSweep) -> None:
    await sweep.delete_dead_jobs()


@asynccontextmanager
async def watching_health(process: Process) -> AsyncIterator[None]:
    """Watch the health of the sources inside the `async with`."""
    watching = asyncio.ensure_future(keep_going("health", partial(watch_health, process)))
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait({watching})


async def watch_health(process: Process) -> None:
    """Ask every source how it is, once a minute, until cancelled; a failing one is ranked down, not left out."""
    while True:
        await asyncio.gather(
            *(
                _note_health(process, name, connector)
                for name, workspace in process.workspaces.items()
                for connector in workspace.connectors
            )
        )
        await asyncio.sleep(HEALTH_EVERY_S)


async def _note_health(process: Process, workspace: str, connector: Connector) -> None:
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_S):
            found = await connector.health()
    except TimeoutError:
        found = "failing"
    if found == "failing":
        log().warning("source_failing", workspace=workspace, source=connector.name)
    process.health[workspace, connector.name] = found
