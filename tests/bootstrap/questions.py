"""An installation whose catalogue cannot tell two services apart, so that it asks which one is meant."""

from __future__ import annotations

from pathlib import Path

from tests.bootstrap.installations import Installation
from tests.store.door import Door

ALIKE = {"payments": {"match": {"service": "checkout"}}, "payments-eu": {"match": {"severity": "critical"}}}
"""Two services that match the alert of `Installation.open` equally."""
ASKING = {"services": ALIKE, "budgets": {"max_questions": 1}}


async def waiting(rows: Door, folder: Path, **section: object) -> tuple[Installation, str]:
    """Take an alert in and run it until it asks; give the installation and the investigation."""
    installation = Installation(rows, folder, **{**ASKING, **section})
    found = await installation.open()
    await installation.run()
    return installation, found
