"""Logs and error reports of a process. Quick to import: every command sets them up."""

from __future__ import annotations

from inquest.settings import Settings
from inquest.telemetry import configure_logging, configure_sentry

RELEASE = "inquest/0.1.0"


def configure_telemetry(settings: Settings) -> None:
    """Set logs and error reports up for this process. Raises ConfigurationError for a DSN that is none."""
    configure_logging(fmt=settings.log_format, level=settings.log_level)
    dsn = settings.sentry_dsn.get_secret_value() if settings.sentry_dsn else None
    configure_sentry(dsn, release=RELEASE)
