"""answer: the one answer to what an investigation asks, and how a waiting one is shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from inquest.destinations.shared.escape import terminal
from inquest.domain.budget import MAX_ANSWER_CHARS
from inquest.entrypoints.answers import UnfitAnswer, fit_answer
from inquest.entrypoints.cli.given import checked_id
from inquest.entrypoints.cli.place import configuration_path, load_workspaces
from inquest.entrypoints.cli.reach import Reach, reached
from inquest.errors import ConfigurationError, WrongStatus
from inquest.runtime.masking import FORMATS_ONLY
from inquest.settings import Settings
from inquest.wire.redaction import Redactor

_MOST_WORDS = 2
_MAX_READ_BYTES = 4 * MAX_ANSWER_CHARS + 1
"""Of standard input: an answer of as many characters as there may be, and one more to see that there are too many."""


def answer(settings: Settings, investigation: str, words: Sequence[str], *, as_json: bool) -> None:
    """Give the answer. Raises WrongStatus when nothing is asked any more, NotFound for another question."""
    name = checked_id(investigation)
    if len(words) > _MOST_WORDS:
        msg = "TEXT: put the answer in quotes, or give - and write it to standard input"
        raise ConfigurationError(msg)
    interrupt = words[0] if len(words) == _MOST_WORDS else None
    try:
        text = fit_answer(_typed(words[-1]), redactor_of(settings))
    except UnfitAnswer as unfit:
        msg = f"TEXT: {unfit}"
        raise ConfigurationError(msg) from unfit

    async def act(reach: Reach) -> Mapping[str, Any]:
        return await reach.answer(name, interrupt or open_question(await reach.one(name)), text)

    row = reached(settings, act)
    typer.echo(json.dumps(row) if as_json else f"{name} is {terminal(str(row['status']))}: it goes on with the answer")


def open_question(row: Mapping[str, Any]) -> str:
    """Name the question that a row waits for. Raises WrongStatus where it waits for none."""
    question = row.get("question")
    if not isinstance(question, Mapping):
        msg = f"{row['id']} is {row['status']}: it asks nothing"
        raise WrongStatus(msg)
    return str(question["interrupt_id"])


def redactor_of(settings: Settings) -> Redactor:
    """Give what masks secrets: those of the configuration that stands here too; without one, by their formats."""
    try:
        configuration_path(settings, None)
        workspaces = load_workspaces(settings, None)
    except ConfigurationError:
        return FORMATS_ONLY
    return next((workspace.redactor for workspace in workspaces.values()), FORMATS_ONLY)


def _typed(text: str) -> str:
    """Give the text, out of standard input for "-"."""
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read(_MAX_READ_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        msg = "TEXT: standard input is no UTF-8"
        raise ConfigurationError(msg) from error
