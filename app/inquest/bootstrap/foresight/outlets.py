"""What would be sent where, by the type of a destination. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never
from urllib.parse import urlsplit

from inquest.bootstrap.foresight.foreseen import ForeseenDelivery
from inquest.bootstrap.paths import at
from inquest.configuration.destination import DestinationSection
from inquest.domain.delivery import destination_of


def deliveries_of(
    messages: tuple[str, ...], destinations: dict[str, DestinationSection], base: Path
) -> tuple[ForeseenDelivery, ...]:
    """Say what each destination that a post is routed to would be sent.

    `messages` are those of its intake; relative folders begin in `base`.
    """
    names = tuple(dict.fromkeys(destination_of(one) for one in messages))
    return tuple(_delivery(name, destinations[name], base) for name in names)


def _delivery(name: str, section: DestinationSection, base: Path) -> ForeseenDelivery:
    match section.type:
        case "folder":
            where = str(at(base, section.path) / "ID")
            what = "a folder a revision: report.md, report.json, report.html, the evidence, a signed manifest"
        case "slack":
            where = f"channel {section.channel} at {urlsplit(section.api_url).netloc}"
            what = "a thread's first message, edited as it goes, and the report as a reply in it"
        case "gitlab_note":
            where = _issue(section)
            what = "one note, edited as it goes: received, then the report"
        case unknown:
            assert_never(unknown)
    return ForeseenDelivery(destination=name, type=section.type, where=where, what=what)


def _issue(section: DestinationSection) -> str:
    host = urlsplit(section.url).netloc
    places = [f"{section.project}#{section.issue} at {host}"] if section.project else []
    if section.origin_projects:
        places.append(f"the incident of {' or '.join(section.origin_projects)} at {host} that raised the alert")
    return ", else ".join(reversed(places))
