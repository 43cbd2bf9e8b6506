"""The investigation of `try`: what was found to fire, in this process, in a folder of its own.

It runs what `investigate` runs in this process, the six stages on the embedded Postgres, and not the library's
in-memory host: that one begins at stage 4 and delivers nothing, so its journal would have no plan of the pipeline's
own, and its folder no signed report to verify. A Postgres of a few seconds is the price; `--keep` keeps it, for
`inquest replay`. What this process's environment says of another database is left out.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from inquest.bootstrap.home import DATABASE, open_home
from inquest.bootstrap.observing import configure_telemetry
from inquest.bootstrap.trial.choosing import rule_of
from inquest.bootstrap.trial.found import Found
from inquest.bootstrap.trial.installation import FOLDER_PREFIX, INTAKE, REPORTS, by_variable, configuration_of, model_of
from inquest.bootstrap.trial.posting import posts_of
from inquest.bootstrap.workspace import Workspace, build_workspaces
from inquest.configuration.sections import Configuration
from inquest.entrypoints.cli import try_words
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.in_process import Asked, Outcome, investigate_here, understood
from inquest.entrypoints.cli.line import typed_as
from inquest.entrypoints.cli.store_access import quiet
from inquest.entrypoints.cli.tell import Teller
from inquest.errors import ConfigurationError
from inquest.runtime.clock import SystemClock
from inquest.runtime.keys import InstallationKey
from inquest.settings import Settings, own_secrets
from inquest.telemetry import flush_reports


def investigate_found(settings: Settings, found: Found, keep: Path | None, telling: Teller, *, as_json: bool) -> int:
    """Investigate the group that was found, print the report and say where it lies; the exit code says how it ended."""
    configure_telemetry(quiet(settings))
    with _folder(keep) as folder:
        try:
            outcome = _investigated(settings, found, folder, telling)
        except ConfigurationError as error:  # the file that it would name is ours
            raise ConfigurationError(by_variable(str(error))) from error
    flush_reports()
    _print(outcome, found, folder, as_json=as_json)
    return outcome.followed.exit


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Give the folder of this run. Of a temporary one the database is removed, and all of it when there is no report."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.absolute()
        return
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    try:
        yield folder
    finally:
        shutil.rmtree(folder / DATABASE, ignore_errors=True)
        if not any((folder / REPORTS).glob("*/latest")):
            shutil.rmtree(folder, ignore_errors=True)


def _investigated(settings: Settings, found: Found, folder: Path, telling: Teller) -> Outcome:
    own = settings.model_copy(update={"home": folder, "database_url": None, "key_file": None})
    configuration = _configuration(own, found, folder)
    (folder / "inquest.yaml").write_text(_as_file(configuration), encoding="utf-8")
    telling.note("database", str(folder / DATABASE))
    with open_home(own) as home:
        workspaces = _workspaces(own, configuration, home.key, folder)
        (workspace,) = workspaces.values()
        return asyncio.run(investigate_here(own, home, workspaces, _asked(found, workspace), telling))


def _configuration(settings: Settings, found: Found, folder: Path) -> Configuration:
    """Write the configuration. Each run has a workspace of its own: the same alert again is investigated again."""
    rules = found.standing.rules or ()
    rule = None if found.group is None else rule_of(found.group.first, rules)
    return configuration_of(
        f"try-{secrets.token_hex(4)}",
        found.sources,
        reports=folder / REPORTS,
        model=model_of(settings),
        interval_s=0 if rule is None else rule.interval_s,
    )


def _as_file(configuration: Configuration) -> str:
    """Write a configuration as a file that `inquest up --config` takes: JSON is YAML. Secrets are only named in it."""
    return json.dumps(configuration.model_dump(mode="json", exclude_defaults=True), indent=2) + "\n"


def _workspaces(
    settings: Settings, configuration: Configuration, key: InstallationKey, folder: Path
) -> dict[str, Workspace]:
    secrets_of_ours = own_secrets(settings)
    return build_workspaces(configuration, key=key, clock=SystemClock(), base=folder, own_secrets=secrets_of_ours)


def _asked(found: Found, workspace: Workspace) -> list[Asked]:
    """Give the posts that an Alertmanager would have sent, as the intake understands them."""
    if found.group is None:
        return []
    (intake,) = workspace.intakes
    bodies = posts_of(found.group, found.standing.rules or (), found.sources[0].access.url)
    return [understood(Given(body, found.group.first.name, INTAKE), intake, workspace) for body in bodies]


def _print(outcome: Outcome, found: Found, folder: Path, *, as_json: bool) -> None:
    newest = _newest(folder / REPORTS / outcome.followed.id)
    if as_json:
        shown = {
            **outcome.followed.shown,
            "folder": None if newest is None else str(newest),
            "others": try_words.others_as_json(found.standing, found.group),
        }
        typer.echo(json.dumps(shown))
        return
    typer.echo("\n" + outcome.report)
    if newest is not None:
        typer.echo(f"\nThe report lies in {newest}")
        typer.echo(f"Open {newest / 'report.html'}, or check it: {typed_as()} verify {newest}")


def _newest(folder: Path) -> Path | None:
    latest = folder / "latest"
    return folder / latest.read_text(encoding="utf-8").strip() if latest.is_file() else None
