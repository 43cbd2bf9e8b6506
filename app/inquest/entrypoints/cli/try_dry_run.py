"""--dry-run of `try`: what would be asked first, and what of the rest is known without asking."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import typer

from inquest.bootstrap.trial.access import Reached
from inquest.bootstrap.trial.choosing import AlertRule, Group, Wanted
from inquest.bootstrap.trial.installation import (
    FOLDER_PREFIX,
    REPORTS,
    by_variable,
    configuration_of,
    model_of,
)
from inquest.bootstrap.trial.posting import fingerprint_of, posts_of
from inquest.bootstrap.trial.reading import LOKI_QUESTIONS, NOW_QUESTIONS, THEN_QUESTIONS
from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.service import SERVICE_LABELS
from inquest.entrypoints.cli.dry_run import foresights_of
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.foresight_words import told
from inquest.errors import ConfigurationError
from inquest.runtime.clock import SystemClock
from inquest.settings import Settings
from inquest.sources import alertmanager

ALERT = "the_alert_that_fires"
EXPRESSION = "the_expression_of_its_rule"
SERVICE = "the-service-of-the-alert"
"""What only asking can tell; each stands where its value would."""
UNNAMED = "........"
"""Stands for the letters of a temporary folder's name that only its making tells."""
WORKSPACE = "try"
SINCE = timedelta(minutes=5)
"""An alert that fires now is taken to have begun so long ago."""


def foresee_trial(
    settings: Settings,
    sources: tuple[Reached, ...],
    wanted: Wanted | None,
    at: datetime | None,
    *,
    keep: Path | None,
    as_json: bool,
) -> int:
    """Print what `try` would ask, and ask nothing. Raises ConfigurationError."""
    now = SystemClock().now()
    folder = keep or Path(tempfile.gettempdir()) / f"{FOLDER_PREFIX}{UNNAMED}"
    reports = folder.absolute() / REPORTS
    configuration = configuration_of(WORKSPACE, sources, reports=reports, model=model_of(settings), interval_s=0)
    (foresight,) = foresights_of(configuration, Path.cwd(), settings)
    alert = _stand_in(wanted or Wanted(name=ALERT), at or now - SINCE)
    firing, *_ = posts_of(
        Group(alerts=(alert,)), (AlertRule(name=alert.name, expression=EXPRESSION),), sources[0].access.url
    )
    try:
        foreseen = foresight.of(alertmanager.parse(firing), now=now)
    except ConfigurationError as error:
        raise ConfigurationError(by_variable(str(error))) from error
    foreseen = foreseen.but(asked_first=_questions(sources, at), assumed=_assumed(alert, wanted, at))
    typer.echo(foreseen.model_dump_json() if as_json else told(foreseen))
    return Exit.ANSWERED


def _stand_in(wanted: Wanted, since: datetime) -> Alert:
    labels = {"alertname": wanted.name, **wanted.labels}
    if not any(labels.get(name) for name in SERVICE_LABELS):
        labels[SERVICE_LABELS[0]] = SERVICE
    return Alert(
        fingerprint=fingerprint_of(labels), name=wanted.name, status=AlertStatus.FIRING, starts_at=since, labels=labels
    )


def _questions(sources: tuple[Reached, ...], at: datetime | None) -> tuple[str, ...]:
    of_kind = {"prometheus": NOW_QUESTIONS if at is None else THEN_QUESTIONS, "loki": LOKI_QUESTIONS}
    return tuple(f"{one.access.url}: {question}" for one in sources for question in of_kind[one.access.kind])


def _assumed(alert: Alert, wanted: Wanted | None, at: datetime | None) -> tuple[str, ...]:
    unknown = [] if wanted is not None else [ALERT]
    unknown += [EXPRESSION, *([SERVICE] if SERVICE in alert.labels.values() else [])]
    when = "it began 5 minutes ago" if at is None else "it fires still: the window ends ten minutes after it ended"
    return (
        f"Known only when the Prometheus is asked, and written here as {', '.join(unknown)}.",
        f"Taken for granted: {when}.",
    )
