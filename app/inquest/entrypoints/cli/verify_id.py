"""verify ID: what the database holds of an investigation, and the folder that was delivered, checked together."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from inquest.bootstrap.home import installation_key
from inquest.bootstrap.paths import at
from inquest.bootstrap.reporting import Reporting
from inquest.bundles.verification import verify_bundle
from inquest.configuration.file import read
from inquest.destinations.verification import VerifyResult, verify_folder
from inquest.destinations.verification import verify as verify_path
from inquest.entrypoints.cli import follow as following
from inquest.entrypoints.cli.checking import told
from inquest.entrypoints.cli.fetching import fetched
from inquest.entrypoints.cli.place import configuration_path
from inquest.entrypoints.cli.replaying import replayed
from inquest.entrypoints.cli.store_access import with_database
from inquest.errors import ConfigurationError, ReplayMismatch
from inquest.settings import Settings
from inquest.store.database import Database

NO_FOLDER = "no delivered folder was found here: the report was written anew from the database, and checked"


def verify_id(settings: Settings, config: Path | None, investigation: str, key: str | None, *, as_json: bool) -> int:
    """Check the journal against its contents and its end, and then every folder that was delivered to this machine.

    Where there is none, the report is written anew and checked. A signature must be of `key`, or else of this
    installation's own key. From the service at INQUEST_URL its bundle is fetched, and that is checked here.
    """
    if settings.url is not None:
        return told(investigation, _at_service(settings, investigation, key), as_json=as_json, folders=[])
    trusted = key or installation_key(settings).public_key
    folders = [root / investigation for root in _roots(settings, config)]
    delivered = [folder for folder in folders if folder.is_dir()]

    async def check(database: Database) -> VerifyResult:
        found_at = await following.find(database, investigation)
        journal = await replayed(database, found_at.workspace, investigation)
        problems = [f"journal: {journal.difference}"] if journal.difference else []
        notes = [f"journal: {journal.events} events"]
        checked = [(str(folder), verify_path(folder, key=trusted)) for folder in delivered]
        if not checked and not problems:
            files = await Reporting(database, signer=installation_key(settings)).folder(
                found_at.workspace, investigation
            )
            checked, notes = [("report", _verified(files, trusted))], [*notes, NO_FOLDER]
        for name, found in checked:
            problems += [f"{name}: {problem}" for problem in found.problems]
            notes += [f"{name}: {note}" for note in found.notes]
        return VerifyResult(ok=not problems, problems=tuple(problems), notes=tuple(notes))

    found = with_database(settings, check)
    return told(investigation, found, as_json=as_json, folders=[str(folder) for folder in delivered])


def _at_service(settings: Settings, investigation: str, key: str | None) -> VerifyResult:
    try:
        with fetched(settings, investigation) as path:
            return verify_bundle(path, key=key)
    except ReplayMismatch as broken:
        return VerifyResult(ok=False, problems=(f"journal: {broken}",))


def _roots(settings: Settings, config: Path | None) -> list[Path]:
    """List the folders that reports are delivered to, as the configuration says; none where there is no file."""
    try:
        path = configuration_path(settings, config)
    except ConfigurationError:
        return []
    base = path.absolute().parent
    workspaces = read(path).workspaces.values()
    return [at(base, one.path) for workspace in workspaces for one in workspace.destinations.values() if one.path]


def _verified(files: Mapping[str, bytes], key: str) -> VerifyResult:
    with tempfile.TemporaryDirectory(prefix="inquest-verify-") as folder:
        for name, raw in files.items():
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(raw)
        return verify_folder(Path(folder), key=key)
