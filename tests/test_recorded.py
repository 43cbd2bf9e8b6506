"""A release replays the journals and verifies the reports of every release before it, byte for byte.

How to renew them on purpose: raise the version, then `python -m tests.recorded`; the old ones stay.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from inquest.bundles.reading import open_bundle
from inquest.bundles.verification import replay_bundle, verify_bundle
from inquest.destinations.shared.sheet import FORMS_VERSION
from inquest.destinations.verification import verify_folder
from inquest.domain.event import RunSucceeded
from tests.bundles import made
from tests.recorded import FOLDER, JOURNAL, RECORDED, todays_folder
from tests.reports import KEY

JOURNALS = sorted(RECORDED.glob("events-*.tar"))
FOLDERS = sorted(RECORDED.glob("forms-*"))


def test_todays_schema_of_events_and_todays_forms_are_recorded() -> None:
    assert JOURNAL in JOURNALS
    assert FOLDER in FOLDERS


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.stem)
def test_a_recorded_journal_replays_to_the_projection_that_was_signed_and_verifies(journal: Path) -> None:
    with open_bundle(journal) as bundle:
        found = replay_bundle(bundle).projection
        end = bundle.chronicle.events[-1].body
        assert found is not None
        assert isinstance(end, RunSucceeded)
        assert (found.canonical(), found.canonical_digest()) == (bundle.projection, end.projection_digest)
    result = verify_bundle(journal, key=made.KEY.public_key)
    assert (result.ok, result.problems) == (True, ())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_recorded_report_folder_verifies(folder: Path) -> None:
    result = verify_folder(folder, key=KEY.public_key)
    assert (result.ok, result.problems) == (True, ())
    assert (result.notes == ()) == (folder.name == f"forms-{FORMS_VERSION}"), "older forms are not written again"


def test_todays_forms_are_the_recorded_ones_to_the_byte() -> None:
    """Red without a change of FORMS_VERSION: a form is written otherwise, and reports that were sent would not verify."""
    recorded = {str(path.relative_to(FOLDER)): path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    assert todays_folder() == recorded
