"""Relative paths of the configuration file begin in the file's own folder, wherever a process was started."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from inquest.configuration.shape import Section
from inquest.errors import ConfigurationError

S = TypeVar("S", bound=Section)


def at(base: Path, path: str) -> Path:
    """Give `path` as an absolute one, from `base` on where it is relative; `~` is a home folder.

    Raises ConfigurationError for the home of a user who has none.
    """
    try:
        return (base / Path(path).expanduser()).absolute()
    except RuntimeError as error:
        msg = f"{path}: there is no such home folder"
        raise ConfigurationError(msg) from error


def with_files_at(base: Path, section: S) -> S:
    """Give `section` with each of its own fields called *_file as an absolute path."""
    named = {name: getattr(section, name) for name in type(section).model_fields if name.endswith("_file")}
    return section.model_copy(update={name: str(at(base, path)) for name, path in named.items() if path is not None})
