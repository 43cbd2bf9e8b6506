"""--dry-run of `investigate`: what would be asked, of whom, at what cost. Nobody is asked, nothing is written."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import typer

from inquest.bootstrap.foresight.foresee import Foresight
from inquest.bootstrap.workspace import build_workspaces
from inquest.configuration.file import read
from inquest.configuration.sections import Configuration
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.foresight_words import told
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.in_process import understood
from inquest.entrypoints.cli.intakes import chosen_intake
from inquest.entrypoints.cli.place import configuration_path
from inquest.errors import ConfigurationError
from inquest.runtime.clock import SystemClock
from inquest.runtime.keys import SEED_BYTES, InstallationKey
from inquest.settings import Settings, own_secrets


def foresee_investigation(settings: Settings, config: Path | None, given: Given, *, as_json: bool) -> int:
    """Print what `investigate` would do with the body, and do nothing of it."""
    if settings.url is not None:
        msg = "--dry-run: says what would happen in this process, by the configuration here; unset INQUEST_URL"
        raise ConfigurationError(msg)
    path = configuration_path(settings, config)
    foresights = foresights_of(read(path), path.absolute().parent, settings)
    intake = chosen_intake(given.intake, [one.intake for one in foresights])
    foresight = next(one for one in foresights if one.intake == intake)
    asked = understood(given, intake, foresight.workspace)
    try:
        foreseen = foresight.of(asked.post, now=SystemClock().now())
    except ConfigurationError as error:
        words = str(error)
        raise ConfigurationError(f"{given.name}: {words}" if words.startswith("opens no") else words) from error
    typer.echo(foreseen.model_dump_json() if as_json else told(foreseen))
    return Exit.ANSWERED


def foresights_of(configuration: Configuration, base: Path, settings: Settings) -> Sequence[Foresight]:
    """Build the workspaces of a configuration, one foresight for each intake.

    Nothing is signed here: a key of this process stands in for the installation's, which may not be there yet.
    """
    workspaces = build_workspaces(
        configuration,
        key=InstallationKey(secrets.token_bytes(SEED_BYTES)),
        clock=SystemClock(),
        base=base,
        own_secrets=own_secrets(settings),
    )
    return [
        Foresight(workspace, configuration.workspaces[name], intake, base)
        for name, workspace in workspaces.items()
        for intake in workspace.intakes
    ]
