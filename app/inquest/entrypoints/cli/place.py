"""Where a command works: its settings and its configuration file, or what stands in for one."""

from __future__ import annotations

from pathlib import Path

from inquest.configuration.file import read
from inquest.configuration.sections import Configuration
from inquest.errors import ConfigurationError
from inquest.settings import Settings

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


def load_configuration(settings: Settings, given: Path | None) -> tuple[Configuration, Path]:
    """Read the configuration, and give the folder that its relative paths begin in."""
    path = configuration_path(settings, given)
    return read(path), path.absolute().parent
