"""try: what fires at a Prometheus, investigated with nothing else set up. Read only.

What is asked first is here, and quick to import; the investigation itself is in `try_run`.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import typer

from inquest.bootstrap.trial.access import Access, Reached, reach
from inquest.bootstrap.trial.choosing import Wanted, chosen
from inquest.bootstrap.trial.door import Door
from inquest.bootstrap.trial.found import Found
from inquest.bootstrap.trial.moment import moment_of
from inquest.bootstrap.trial.reading import answers, fired_at, fires_now, with_ends
from inquest.entrypoints.cli import try_words
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.tell import teller
from inquest.errors import ConfigurationError
from inquest.runtime.clock import SystemClock
from inquest.settings import Settings


@dataclass(frozen=True)
class Trial:
    """What is tried: the sources, the alert and the moment as they were typed, and where to keep what comes of it."""

    prometheus: Access
    loki: Access | None
    alert: str | None
    at: str | None
    keep: Path | None


def try_out(settings: Settings, trial: Trial, *, dry_run: bool, as_json: bool) -> int:
    """Investigate what fires there, print the report and say where it lies; the exit code says how it ended.

    With `dry_run`, say what would be asked, and ask nothing.
    """
    _alone(settings)
    if dry_run:
        return _foreseen(settings, trial, as_json=as_json)
    telling = teller(follow=not as_json, as_json=False)
    found = asyncio.run(_look(trial, SystemClock().now()))
    if found.group is None:
        typer.echo(
            json.dumps(try_words.nothing_as_json(found.standing)) if as_json else try_words.nothing(found.standing)
        )
        return Exit.ANSWERED
    for what, words in try_words.chosen(found.standing, found.group, trial.prometheus.url, at=trial.at):
        telling.note(what, words)
    from inquest.entrypoints.cli.try_run import investigate_found  # seconds, behind the first lines

    return investigate_found(settings, found, trial.keep, telling, as_json=as_json)


def _alone(settings: Settings) -> None:
    """Refuse to run beside a service: which of its sources this Prometheus is, if any, only its own file says."""
    if settings.url is not None:
        msg = (
            "INQUEST_URL: try reads the Prometheus that you name, which the service there may not be connected to, or "
            "not with the same matchers and credentials; unset INQUEST_URL to try it in this process, or give an alert "
            "to the service: inquest investigate FILE"
        )
        raise ConfigurationError(msg)


def _foreseen(settings: Settings, trial: Trial, *, as_json: bool) -> int:
    from inquest.entrypoints.cli.try_dry_run import foresee_trial  # seconds

    wanted, at, sources = _read(trial, SystemClock().now())
    return foresee_trial(settings, sources, wanted, at, keep=trial.keep, as_json=as_json)


def _read(trial: Trial, now: datetime) -> tuple[Wanted | None, datetime | None, tuple[Reached, ...]]:
    """Read the options. Raises ConfigurationError naming the one that is wrong."""
    wanted = None if trial.alert is None else Wanted.of(trial.alert)
    at = None if trial.at is None else moment_of(trial.at, now=now)
    return wanted, at, tuple(reach(one) for one in (trial.prometheus, trial.loki) if one is not None)


# ---- what fires --------------------------------------------------------------------------------------------


async def _look(trial: Trial, now: datetime) -> Found:
    """Ask what fires. Raises ConfigurationError and SourceSilent, each with the way out."""
    wanted, at, sources = _read(trial, now)
    async with Door(sources[0], SystemClock()) as door:
        standing = await fires_now(door, now) if at is None else await fired_at(door, at, now=now)
        group = chosen(standing, wanted)
        if group is not None and at is not None:
            group = await with_ends(door, group, at=at, now=now)
    for reached in sources[1:]:
        async with Door(reached, SystemClock()) as door:
            await answers(door, now)
    return Found(standing, group, sources)
