"""The options and the help of `halt` and `resume`. Quick to import: what they do is in `halting`."""

from __future__ import annotations

from typing import Annotated

import typer

from inquest.entrypoints.cli.environment import read_settings

Workspace = Annotated[str | None, typer.Option(help="This workspace alone (default: everything).")]
By = Annotated[str, typer.Option(metavar="NAME", help="Who asks for it, as it is shown to others.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def halt(*, workspace: Workspace = None, by: By = "operator", as_json: AsJson = False) -> None:
    """Let nothing begin, be asked or be sent, until `inquest resume`. Alerts are taken in and wait."""
    from inquest.entrypoints.cli.halting import halt as do

    do(read_settings(), workspace, by, as_json=as_json)


def resume(*, workspace: Workspace = None, by: By = "operator", as_json: AsJson = False) -> None:
    """End a halt: what waited goes on where it stood."""
    from inquest.entrypoints.cli.halting import resume as do

    do(read_settings(), workspace, by, as_json=as_json)
