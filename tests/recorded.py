"""What earlier releases wrote, kept as bytes: journals as bundles, report folders by the version of their forms.

python -m tests.recorded    writes today's, on purpose: after EVENT_SCHEMA_VERSION or FORMS_VERSION was raised
                            there is a new file beside the old ones; what is there already is never written over.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from inquest.destinations.shared.bundle import folder_files
from inquest.destinations.shared.sheet import FORMS_VERSION
from inquest.domain.event import EVENT_SCHEMA_VERSION
from tests.bundles.made import made
from tests.incident import incident_shelf
from tests.reports import HOSTS, KEY, whole_report

RECORDED = Path(__file__).parent / "data" / "recorded"
JOURNAL = RECORDED / f"events-{EVENT_SCHEMA_VERSION}.tar"
"""The journal of a whole run, its contents and its report, of today's schema of events."""
FOLDER = RECORDED / f"forms-{FORMS_VERSION}"
"""The folder of a whole report, in today's forms."""


def todays_folder() -> dict[str, bytes]:
    """Write the report folder as this code does."""
    shelf = incident_shelf()
    return folder_files(whole_report(shelf), shelf.contents, HOSTS, KEY)


def record() -> None:
    """Write what is not there yet."""
    RECORDED.mkdir(exist_ok=True)
    if not JOURNAL.exists():
        JOURNAL.write_bytes(asyncio.run(_bundle()))
    if FOLDER.exists():
        return
    for name, raw in todays_folder().items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_bytes(raw)


async def _bundle() -> bytes:
    return await (await made()).bundle()


if __name__ == "__main__":
    record()
