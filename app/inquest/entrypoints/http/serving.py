"""The HTTP application of one process, assembled over its database and configuration."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI

from inquest.bootstrap.claiming import RELEASE
from inquest.bootstrap.processes import Process
from inquest.domain.event import Event
from inquest.domain.intake import NoAuth
from inquest.entrypoints.http.access import check_bind
from inquest.entrypoints.http.alerts import Door
from inquest.entrypoints.http.app import HttpParts, create_app
from inquest.entrypoints.http.investigations import Reader
from inquest.errors import StoreUnavailable
from inquest.runtime.clock import RandomIds
from inquest.settings import operator_token
from inquest.sources import SOURCES
from inquest.store.accept import PostgresIntake
from inquest.store.database import Database
from inquest.store.investigations import PostgresInvestigations
from inquest.store.journal import PostgresJournal


def build_app(process: Process) -> FastAPI:
    """Assemble the application. Raises ConfigurationError when it would be open to others without a token."""
    intakes = {one.name: one for workspace in process.workspaces.values() for one in workspace.intakes}
    token = operator_token(process.settings)
    unlocked = tuple(name for name, one in intakes.items() if isinstance(one.auth, NoAuth))
    check_bind(process.settings.host, token=token, open_intakes=unlocked)
    return create_app(
        HttpParts(
            door=Door(
                intakes=intakes,
                sources=SOURCES,
                intake=PostgresIntake(process.database),
                ids=RandomIds(),
                metrics=process.metrics,
                ceilings={name: one.ceilings for name, one in process.workspaces.items()},
            ),
            readers={
                name: Reader(
                    investigations=PostgresInvestigations(process.database, name),
                    report=partial(process.reporting.form, name),
                    events=partial(_events, PostgresJournal(process.database, name)),
                )
                for name in process.workspaces
            },
            ready=partial(_ready, process.database),
            metrics=process.metrics,
            token=token,
            release=RELEASE,
        )
    )


async def _events(journal: PostgresJournal, investigation_id: str) -> tuple[Event, ...]:
    return (await journal.load(investigation_id)).events


async def _ready(database: Database) -> str | None:
    """Say what is missing for an alert to be accepted: the database, or its schema. None when nothing is."""
    try:
        found = await database.value("select to_regclass('inquest.intake_receipt')::text", {})
    except StoreUnavailable:
        return "the database does not answer"
    return None if found else "the database has no schema; run: inquest migrate"
