"""The two processes, assembled: a worker, and the HTTP service that takes alerts in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Literal

from inquest.bootstrap.claiming import RELEASE, Claiming, load_models
from inquest.bootstrap.home import Home
from inquest.bootstrap.reporting import Reporting
from inquest.bootstrap.workspace import Workspace, build_workspaces
from inquest.configuration.sections import Configuration
from inquest.ports import Connector, LeaseLine
from inquest.runtime.clock import RandomIds, SystemClock
from inquest.runtime.delivery import DeliveryRunner
from inquest.runtime.worker import Worker, WorkerOptions, WorkerParts
from inquest.settings import Settings
from inquest.store import lease_line
from inquest.store.claims import PostgresClaims
from inquest.store.database import Database
from inquest.store.deliveries import PostgresDeliveries
from inquest.store.installation import agree_on_key
from inquest.store.lease import ClaimLimits
from inquest.store.queue import ProcrastinateEngine
from inquest.store.sweep import PostgresSweep
from inquest.telemetry import Metrics, configure_logging, configure_sentry, create_metrics, log

HEALTH_EVERY_S = 60.0
HEALTH_TIMEOUT_S = 5.0

Health = dict[str, Literal["ok", "failing", "unknown"]]


@dataclass
class Process:
    """What both processes are made of. Close it in the event loop that used it."""

    settings: Settings
    home: Home
    database: Database
    workspaces: Mapping[str, Workspace]
    metrics: Metrics
    health: Health = field(default_factory=dict)

    @property
    def reporting(self) -> Reporting:
        """Give the builder of reports."""
        return Reporting(database=self.database, workspaces=self.workspaces, signer=self.home.key)

    async def aclose(self) -> None:
        """Close every connection."""
        for workspace in self.workspaces.values():
            await workspace.aclose()
        await self.database.aclose()


async def open_process(settings: Settings, home: Home, configuration: Configuration, base: Path) -> Process:
    """Assemble what a process needs, and agree on the installation key.

    Raises ConfigurationError naming the field, StoreUnavailable.
    """
    database = Database(home.url)
    await agree_on_key(database, home.key.fingerprint)
    workspaces = build_workspaces(configuration, key=home.key, clock=SystemClock(), base=base)
    return Process(settings=settings, home=home, database=database, workspaces=workspaces, metrics=create_metrics())


def configure_telemetry(settings: Settings) -> None:
    """Set logs and error reports up for this process."""
    configure_logging(fmt=settings.log_format, level=settings.log_level)
    dsn = settings.sentry_dsn.get_secret_value() if settings.sentry_dsn else None
    configure_sentry(dsn, release=RELEASE)


def build_worker(process: Process) -> Worker:
    """Assemble the worker. Imports litellm where a model is configured, so that no claim waits for it."""
    settings = process.settings
    lease = timedelta(seconds=settings.lease_s)
    limits = ClaimLimits(by_workspace={name: one.max_running for name, one in process.workspaces.items()})
    claiming = Claiming(
        database=process.database,
        workspaces=process.workspaces,
        key=process.home.key,
        metrics=process.metrics,
        health=process.health,
        models=load_models(process.workspaces),
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
            ),
            run_investigation=claiming.run,
            conclude_failed=claiming.conclude_failed,
            metrics=process.metrics,
            ids=ids,
        ),
    )


def _lease_line(url: str, lease: timedelta) -> LeaseLine:
    return lease_line.connect(url, lease)


async def _upkeep(sweep: PostgresSweep) -> None:
    await sweep.delete_dead_jobs()


async def watch_health(process: Process) -> None:
    """Ask every source how it is, once a minute, until cancelled; a failing one is ranked down, not left out."""
    connectors = [one for workspace in process.workspaces.values() for one in workspace.connectors]
    while True:
        for connector in connectors:
            process.health[connector.name] = await _asked(connector)
        await asyncio.sleep(HEALTH_EVERY_S)


async def _asked(connector: Connector) -> Literal["ok", "failing"]:
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_S):
            found = await connector.health()
    except TimeoutError:
        found = "failing"
    if found == "failing":
        log().warning("source_failing", source=connector.name)
    return found
