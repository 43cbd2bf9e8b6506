"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Keep a line for the end of the run: what was measured is part of the proof."""
    return lambda line: record_property("measured", line)
