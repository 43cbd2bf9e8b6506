"""Fixtures for every test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog

pytest_plugins = ["tests.postgres"]


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """Undo a test's set-up of logs: they would go to the standard error that pytest captured for that test alone."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    if structlog.is_configured():
        structlog.reset_defaults()
        logging.root.handlers[:], logging.root.level = handlers, level
