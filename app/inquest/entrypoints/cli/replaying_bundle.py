"""replay BUNDLE, or an id at INQUEST_URL: rebuilt from the file alone, with no database."""

from __future__ import annotations

from pathlib import Path

from inquest.bundles.reading import open_bundle
from inquest.bundles.verification import replay_bundle as rebuild_and_compare
from inquest.entrypoints.cli.fetching import fetched
from inquest.entrypoints.cli.replaying import Replayed, told
from inquest.errors import BadBundle, ConfigurationError, ReplayMismatch
from inquest.settings import Settings


def replay_bundle(file: str, *, as_json: bool) -> int:
    """Rebuild the investigation in a bundle; say the first difference, or that there is none."""
    path = Path(file)
    if not path.is_file():
        msg = f"{file}: no such file, and no investigation's id, which has 32 hex digits: see inquest list"
        raise ConfigurationError(msg)
    return told(file, _replayed(path), as_json=as_json)


def replay_at_service(settings: Settings, investigation: str, *, as_json: bool) -> int:
    """Fetch the bundle of an investigation from the service at INQUEST_URL, and rebuild it here."""
    try:
        with fetched(settings, investigation) as path:
            found = _replayed(path)
    except ReplayMismatch as broken:  # the service could not read its own journal
        found = Replayed(events=0, difference=str(broken))
    return told(investigation, found, as_json=as_json)


def _replayed(path: Path) -> Replayed:
    events = 0
    try:
        with open_bundle(path) as bundle:
            events = len(bundle.chronicle.events)
            found = rebuild_and_compare(bundle).projection
    except (BadBundle, ReplayMismatch) as difference:
        return Replayed(events=events, difference=str(difference))
    if found is None:
        return Replayed(events=events)
    return Replayed(events=events, digest=found.canonical_digest(), stop_reason=found.stop_reason, is_compared=True)
