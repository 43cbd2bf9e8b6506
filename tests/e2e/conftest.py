"""Fixtures of the end-to-end tests."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line whether or not pytest shows output: what was measured is part of the proof."""

    def printed(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {line}")

    return printed
