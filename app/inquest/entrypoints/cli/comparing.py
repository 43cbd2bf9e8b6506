"""compare: two investigations side by side, from wherever each of them is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import typer

from inquest.bootstrap.reporting import Reporting
from inquest.bundles.reading import is_bundle, open_bundle
from inquest.bundles.verification import verify_bundle
from inquest.destinations.verification import VerifyResult, read_sheet, sheet_at
from inquest.destinations.verification import verify as verify_path
from inquest.domain.report import Report
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import is_id
from inquest.entrypoints.cli.remote import connected
from inquest.entrypoints.cli.remote_reading import sheet_from
from inquest.entrypoints.cli.side_by_side import side_by_side
from inquest.entrypoints.cli.store_access import with_database
from inquest.errors import BadBundle, ConfigurationError, NotFound
from inquest.settings import Settings
from inquest.stages.comparison import compare as compared
from inquest.store.database import Database


def compare(settings: Callable[[], Settings], a: str, b: str, *, as_json: bool) -> int:
    """Print how two investigations differ. A file is compared only when it verifies.

    `settings` are read only when one of the two is an id.
    """
    named = [what for what in dict.fromkeys((a, b)) if not Path(what).exists()]
    for what in named:
        if not is_id(what):
            msg = f"{what}: no such file or folder, and no investigation's id: see inquest list"
            raise ConfigurationError(msg)
    reports = {what: _from_files(what) for what in (a, b) if what not in named}
    if named:
        reports |= _recorded(settings(), named)
    found = compared(reports[a], reports[b])
    if as_json:
        typer.echo(found.canonical().decode("utf-8"))
    else:
        typer.echo(side_by_side(found))
    return Exit.ANSWERED if found.same_conclusion else Exit.OPEN


def _recorded(settings: Settings, named: list[str]) -> dict[str, Report]:
    if settings.url is not None:
        return asyncio.run(_from_service(settings, named))
    return with_database(settings, lambda database: _from_database(database, named))


async def _from_service(settings: Settings, named: list[str]) -> dict[str, Report]:
    async with connected(settings) as service:
        return {investigation: (await sheet_from(service, investigation)).report for investigation in named}


async def _from_database(database: Database, named: list[str]) -> dict[str, Report]:
    found: dict[str, Report] = {}
    for investigation in named:
        workspace = (await following.find(database, investigation)).workspace
        found[investigation] = _report(investigation, await Reporting(database).form(workspace, investigation, "json"))
    return found


def _from_files(what: str) -> Report:
    """Read the report of a file or folder. Raises BadBundle for one that does not verify."""
    path = Path(what)
    if not is_bundle(path):
        _check(what, verify_path(path))
        sheet = sheet_at(path)
        if sheet is None:
            raise NotFound(f"{what}: it holds no report")
        return sheet.report
    _check(what, verify_bundle(path))
    with open_bundle(path) as bundle:
        return _report(what, bundle.report.get("report.json"))


def _report(what: str, raw: bytes | None) -> Report:
    sheet = read_sheet(raw)
    if sheet is None:
        raise NotFound(f"{what}: there is no report in it: it was noise")
    return sheet.report


def _check(what: str, found: VerifyResult) -> None:
    if not found.ok:
        raise BadBundle(f"{what} does not verify: {found.problems[0]}")
