"""The HTTP application of one process, assembled over its database and configuration."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI

from inquest.bootstrap.exporting import Exporting
from inquest.bootstrap.observing import RELEASE
from inquest.bootstrap.processes import Process
from inquest.bootstrap.workspace import Workspaces
from inquest.domain.intake import IntakeConfig, NoAuth
from inquest.entrypoints.http.access import check_bind
from inquest.entrypoints.http.alerts import Door
from inquest.entrypoints.http.app import HttpParts, create_app
from inquest.entrypoints.http.health import Health
from inquest.entrypoints.http.readers import Reader
from inquest.entrypoints.http.standing import Probe, StandingMetrics
from inquest.entrypoints.http.streams import Streams
from inquest.runtime.clock import RandomIds
from inquest.runtime.presence import Presence
from inquest.settings import Settings, operator_token
from inquest.sources import SOURCES
from inquest.store.accept import PostgresIntake
from inquest.store.actions import PostgresActions
from inquest.store.event_pages import PostgresEvents, PostgresVersions
from inquest.store.halts import PostgresHalts
from inquest.store.investigations import PostgresInvestigations


def check_exposure(settings: Settings, workspaces: Workspaces) -> None:
    """Refuse to be open to others without a token. Raises ConfigurationError naming what to set."""
    unlocked = tuple(name for name, one in _intakes(workspaces).items() if isinstance(one.auth, NoAuth))
    check_bind(settings.host, token=operator_token(settings), open_intakes=unlocked)


def build_app(process: Process) -> FastAPI:
    """Assemble the application. Raises ConfigurationError when it would be open to others without a token."""
    check_exposure(process.settings, process.workspaces)
    database = process.database
    return create_app(
        HttpParts(
            door=Door(
                intakes=_intakes(process.workspaces),
                sources=SOURCES,
                intake=PostgresIntake(database),
                ids=RandomIds(),
                metrics=process.metrics,
                ceilings={name: one.ceilings for name, one in process.workspaces.items()},
                redactors={name: one.redactor for name, one in process.workspaces.items()},
                presence=Presence(database.answers),
            ),
            readers={
                name: Reader(
                    investigations=PostgresInvestigations(database, name),
                    events=PostgresEvents(database, name),
                    actions=PostgresActions(database, name),
                    report=partial(process.reporting.form, name),
                    ceilings=workspace.ceilings,
                    workspace=name,
                    exporting=Exporting(database, process.home.key),
                    redactor=workspace.redactor,
                )
                for name, workspace in process.workspaces.items()
            },
            streams=Streams(PostgresVersions(database).of),
            halts=PostgresHalts(database),
            health=Health(
                missing=Probe(database).missing,
                exposition=StandingMetrics(database, process.metrics, process.workspaces).exposition,
            ),
            token=operator_token(process.settings),
            release=RELEASE,
        )
    )


def _intakes(workspaces: Workspaces) -> dict[str, IntakeConfig]:
    return {one.name: one for workspace in workspaces.values() for one in workspace.intakes}
