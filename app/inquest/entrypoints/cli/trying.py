"""try: what fires at a Prometheus, investigated with nothing else set up. Read only.

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
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import typer

from inquest.bootstrap.home import DATABASE, open_home
from inquest.bootstrap.observing import configure_telemetry
from inquest.bootstrap.trial.access import Access, Reached, reach
from inquest.bootstrap.trial.choosing import Group, Standing, Wanted, chosen, rule_of
from inquest.bootstrap.trial.door import Door
from inquest.bootstrap.trial.installation import INTAKE, by_variable, configuration_of, model_of
from inquest.bootstrap.trial.moment import moment_of
from inquest.bootstrap.trial.posting import posts_of
from inquest.bootstrap.trial.reading import answers, fired_at, fires_now, with_ends
from inquest.bootstrap.workspace import Workspace, build_workspaces
from inquest.configuration.sections import Configuration
from inquest.entrypoints.cli import try_words
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.in_process import Asked, Outcome, investigate_here, understood
from inquest.entrypoints.cli.store_access import quiet
from inquest.entrypoints.cli.tell import Teller, teller
from inquest.errors import ConfigurationError
from inquest.runtime.clock import SystemClock
from inquest.runtime.keys import InstallationKey
from inquest.settings import Settings, own_secrets
from inquest.telemetry import flush_reports

REPORTS = "reports"


@dataclass(frozen=True)
class Trial:
    """What is tried: the sources, the alert and the moment as they were typed, and where to keep what comes of it."""

    prometheus: Access
    loki: Access | None
    alert: str | None
    at: str | None
    keep: Path | None


@dataclass(frozen=True)
class Found:
    """What the Prometheus said, and the group that is investigated; None when nothing fires."""

    standing: Standing
    group: Group | None
    sources: tuple[Reached, ...]


def try_out(settings: Settings, trial: Trial, *, as_json: bool) -> int:
    """Investigate what fires there, print the report and say where it lies; the exit code says how it ended."""
    _alone(settings)
    configure_telemetry(quiet(settings))
    telling = teller(follow=not as_json, as_json=False)
    found = asyncio.run(_look(trial, SystemClock().now()))
    if found.group is None:
        typer.echo(
            json.dumps(try_words.nothing_as_json(found.standing)) if as_json else try_words.nothing(found.standing)
        )
        return Exit.ANSWERED
    for what, words in try_words.chosen(found.standing, found.group, trial.prometheus.url, at=trial.at):
        telling.note(what, words)
    with _folder(trial.keep) as folder:
        try:
            outcome = _investigated(settings, found, folder, telling)
        except ConfigurationError as error:  # the file that it would name is ours
            raise ConfigurationError(by_variable(str(error))) from error
    flush_reports()
    _print(outcome, found, folder, as_json=as_json)
    return outcome.followed.exit


def _alone(settings: Settings) -> None:
    """Refuse to run beside a service: which of its sources this Prometheus is, if any, only its own file says."""
    if settings.url is not None:
        msg = (
            "INQUEST_URL: try reads the Prometheus that you name, which the service there may not be connected to, or "
            "not with the same matchers and credentials; unset INQUEST_URL to try it in this process, or give an alert "
            "to the service: inquest investigate FILE"
        )
        raise ConfigurationError(msg)


# ---- what fires --------------------------------------------------------------------------------------------


async def _look(trial: Trial, now: datetime) -> Found:
    """Ask what fires. Raises ConfigurationError and SourceSilent, each with the way out."""
    wanted = None if trial.alert is None else Wanted.of(trial.alert)
    at = None if trial.at is None else moment_of(trial.at, now=now)
    sources = tuple(reach(one) for one in (trial.prometheus, trial.loki) if one is not None)
    async with Door(sources[0], SystemClock()) as door:
        standing = await fires_now(door, now) if at is None else await fired_at(door, at)
        group = chosen(standing, wanted)
        if group is not None and at is not None:
            group = await with_ends(door, group, at=at, now=now)
    for reached in sources[1:]:
        async with Door(reached, SystemClock()) as door:
            await answers(door, now)
    return Found(standing, group, sources)


# ---- the investigation -------------------------------------------------------------------------------------


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Give the folder of this run. Of a temporary one the database is removed, and all of it when there is no report."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.absolute()
        return
    folder = Path(tempfile.mkdtemp(prefix="inquest-try-"))
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
        typer.echo(f"Open {newest / 'report.html'}, or check it: inquest verify {newest}")


def _newest(folder: Path) -> Path | None:
    latest = folder / "latest"
    return folder / latest.read_text(encoding="utf-8").strip() if latest.is_file() else None
