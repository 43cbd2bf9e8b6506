"""Where a command works: its settings and its configuration file, or what stands in for one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from inquest.bootstrap.home import installation_key
from inquest.bootstrap.workspace import Workspace, build_workspaces
from inquest.configuration.file import read
from inquest.errors import ConfigurationError
from inquest.runtime.clock import SystemClock
from inquest.settings import Settings, own_secrets

DEFAULT_FILES = (Path("inquest.yaml"), Path("config/inquest.yaml"))


def configuration_path(settings: Settings, given: Path | None) -> Path:
    """Give the file to read: --config, INQUEST_CONFIG, or one of the usual names here.

    Raises ConfigurationError saying where it was looked for.
    """
    named = given or settings.config
    if named is not None:
        return named
    found = next((path for path in DEFAULT_FILES if path.is_file()), None)
    if found is None:
        tried = " or ".join(str(path) for path in DEFAULT_FILES)
        msg = f"no configuration: give --config FILE, set INQUEST_CONFIG, or write {tried} (see config/inquest.example.yaml)"
        raise ConfigurationError(msg)
    return found


def load_workspaces(settings: Settings, given: Path | None) -> Mapping[str, Workspace]:
    """Read the configuration, its secrets and the installation key; relative paths begin in the file's folder.

    No database is needed for that. Raises ConfigurationError with every problem, a line each.
    """
    path = configuration_path(settings, given)
    configuration = read(path)
    key = installation_key(settings)
    return build_workspaces(
        configuration,
        key=key,
        clock=SystemClock(),
        base=path.absolute().parent,
        own_secrets=own_secrets(settings),
    )
