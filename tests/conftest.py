"""Fixtures for every test."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

# No test says how long anything takes: a busy machine would decide it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A background job of a script ignores Ctrl-C, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.postgres"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make outage` take the database away for longer than the tests do."""
    parser.addoption("--away-s", type=float, default=6.0, help="seconds for which tests/e2e takes Postgres away")


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """Undo a test's set-up of logs: they would go to the standard error that pytest captured for that test alone."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    if structlog.is_configured():
        structlog.reset_defaults()
        logging.root.handlers[:], logging.root.level = handlers, level


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what the end-to-end tests measured (`say`), whichever process ran them."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    measured = [
        f"{report.nodeid.rpartition('/')[2]}: {line}"
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, line in report.user_properties
        if name == "measured"
    ]
    if measured:
        terminalreporter.section("measured")
        for line in measured:
            terminalreporter.write_line(line)
