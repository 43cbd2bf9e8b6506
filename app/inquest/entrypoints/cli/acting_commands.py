"""The options and the help of `answer`, `cancel`, `rerun` and `delete`. Quick to import: what they do is in `acting`."""

from __future__ import annotations

from typing import Annotated

import typer

from inquest.entrypoints.cli.environment import read_settings

Id = Annotated[str, typer.Argument(help="Id of an investigation.", metavar="INVESTIGATION")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def answer(
    investigation: Id,
    text: Annotated[
        list[str],
        typer.Argument(metavar="[INTERRUPT] TEXT", help="The answer in quotes, or - for standard input."),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Answer the question that an investigation waits for. INTERRUPT names the question; else it is the open one."""
    from inquest.entrypoints.cli.answering import answer as do

    do(read_settings(), investigation, text, as_json=as_json)


def cancel(investigation: Id, *, as_json: AsJson = False) -> None:
    """End an investigation where it stands. One that was cancelled before stays as it is."""
    from inquest.entrypoints.cli.acting import cancel as do

    do(read_settings(), investigation, as_json=as_json)


def rerun(
    investigation: Id,
    *,
    key: Annotated[
        str | None, typer.Option(help="Any name for this re-run: given again, it is found and none is opened.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Investigate the same episode once more, beside the first; say the new one's id."""
    from inquest.entrypoints.cli.acting import rerun as do

    do(read_settings(), investigation, key, as_json=as_json)


def delete(
    investigation: Id,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask back.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an investigation that has ended. What was delivered stays where it was sent, and is named."""
    from inquest.entrypoints.cli.acting import delete as do

    do(read_settings(), investigation, yes=yes, as_json=as_json)
