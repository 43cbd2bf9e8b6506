"""halt and resume: the kill switch, at the database or through the service at INQUEST_URL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from inquest.destinations.shared.escape import terminal
from inquest.entrypoints.cli.reach import Reach, reached
from inquest.errors import ConfigurationError
from inquest.settings import Settings
from inquest.store.halts import MAX_ACTOR_CHARS


def halt(settings: Settings, workspace: str | None, by: str, *, as_json: bool) -> None:
    """Halt, and say what is halted then. Raises NotFound for a workspace that nobody knows."""
    who = _checked(by)

    async def act(reach: Reach) -> Mapping[str, Any]:
        return await reach.halt(workspace, who)

    _say(reached(settings, act), as_json=as_json)


def resume(settings: Settings, workspace: str | None, by: str, *, as_json: bool) -> None:
    """End a halt, and say what is halted still."""
    who = _checked(by)

    async def act(reach: Reach) -> Mapping[str, Any]:
        return await reach.resume(workspace, who)

    _say(reached(settings, act), as_json=as_json)


def halt_lines(halts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say each halt on a line: what, since when, by whom."""
    return [
        f"halted: {_what(halt['workspace'])} since {terminal(str(halt['since']))[:19].replace('T', ' ')} UTC "
        f"by {terminal(str(halt['actor'])) or 'somebody'}"
        for halt in halts
    ]


def _what(workspace: str | None) -> str:
    return "everything" if workspace is None else f"workspace {terminal(workspace)}"


def _checked(by: str) -> str:
    if not 0 < len(by) <= MAX_ACTOR_CHARS or not by.isprintable():
        msg = f"--by: 1 to {MAX_ACTOR_CHARS} printable characters"
        raise ConfigurationError(msg)
    return by


def _say(found: Mapping[str, Any], *, as_json: bool) -> None:
    typer.echo(json.dumps(found) if as_json else "\n".join(halt_lines(found["halts"])) or "nothing is halted")
