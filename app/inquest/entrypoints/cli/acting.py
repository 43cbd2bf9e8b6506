"""cancel, rerun and delete: what is done to one investigation from outside."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

import typer

from inquest.destinations.shared.escape import terminal
from inquest.entrypoints.cli.given import checked_id
from inquest.entrypoints.cli.reach import Reach, reached
from inquest.errors import ConfigurationError
from inquest.settings import Settings
from inquest.store.actions import KEY_PATTERN, MAX_KEY_CHARS


def cancel(settings: Settings, investigation: str, *, as_json: bool) -> None:
    """End it where it stands. Raises WrongStatus when it has ended otherwise."""
    name = checked_id(investigation)

    async def act(reach: Reach) -> Mapping[str, Any]:
        return await reach.cancel(name)

    row = reached(settings, act)
    _say(row, f"{name} is {terminal(str(row['status']))}", as_json=as_json)


def rerun(settings: Settings, investigation: str, key: str | None, *, as_json: bool) -> None:
    """Open another one of the same episode. Raises WrongStatus while one of it goes on."""
    name = checked_id(investigation)
    if key is not None and (len(key) > MAX_KEY_CHARS or re.fullmatch(KEY_PATTERN, key) is None):
        msg = f"--key: 1 to {MAX_KEY_CHARS} visible ASCII characters"
        raise ConfigurationError(msg)

    async def act(reach: Reach) -> Mapping[str, Any]:
        return await reach.rerun(name, key)

    row = reached(settings, act)
    _say(row, f"{terminal(str(row['id']))} is {terminal(str(row['status']))}: it repeats {name}", as_json=as_json)


def delete(settings: Settings, investigation: str, *, yes: bool, as_json: bool) -> None:
    """Delete it, once somebody has said yes; say what stays. Raises WrongStatus before it has ended."""
    name = checked_id(investigation)
    if not yes:
        _ask_back(name)

    async def act(reach: Reach) -> Mapping[str, Any]:
        return await reach.delete(name)

    found = reached(settings, act)
    stays = [f"stays: {terminal(str(one['destination']))} {terminal(str(one['reference']))}" for one in found["stays"]]
    note = [terminal(str(found["note"]))] if found["note"] else []
    state = (
        "is deleted"
        if found["state"] == "deleted"
        else "is gone; its text goes once a message that is under way is over"
    )
    _say(found, "\n".join([f"{name} {state}", *stays, *note]), as_json=as_json)


def _ask_back(name: str) -> None:
    if not sys.stdin.isatty():
        msg = "--yes: give it where nobody can be asked; a deleted investigation does not come back"
        raise ConfigurationError(msg)
    typer.confirm(f"Delete {name}, its evidence and its report, for ever?", abort=True, err=True)


def _say(found: Mapping[str, Any], words: str, *, as_json: bool) -> None:
    typer.echo(json.dumps(found) if as_json else words)
