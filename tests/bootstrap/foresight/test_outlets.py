"""What would be sent where, for every type of destination that a file can name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from inquest.bootstrap.destinations import messages_of
from inquest.bootstrap.foresight.outlets import deliveries_of
from inquest.configuration.destination import DestinationSection

BASE = Path("/srv")
SECTIONS: dict[str, dict[str, Any]] = {
    "reports": {"type": "folder", "path": "reports/"},
    "chat": {"type": "slack", "channel": "C0123456789", "token_env": "T"},
    "notes": {"type": "gitlab_note", "url": "https://gitlab.example.com", "project": "shop/ops", "issue": 7, "token_env": "T"},
    "origin": {
        "type": "gitlab_note", "url": "https://gitlab.example.com", "project": "shop/ops", "issue": 7, "token_env": "T",
        "origin_projects": ["shop/checkout"],
    },
}  # fmt: skip
DESTINATIONS = {name: DestinationSection.model_validate(section) for name, section in SECTIONS.items()}


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("reports", "/srv/reports/ID"),
        ("chat", "channel C0123456789 at slack.com"),
        ("notes", "shop/ops#7 at gitlab.example.com"),
        (
            "origin",
            "the incident of shop/checkout at gitlab.example.com that raised the alert, else shop/ops#7 at gitlab.example.com",
        ),
    ],
)  # fmt: skip
def test_where_a_destination_is_names_host_and_place(name: str, where: str) -> None:
    (found,) = deliveries_of(messages_of(DESTINATIONS)[name], DESTINATIONS, BASE)

    assert (found.destination, found.where) == (name, where)


def test_every_type_says_what_is_sent_and_a_thread_is_one_destination() -> None:
    messages = tuple(one for each in messages_of(DESTINATIONS).values() for one in each)

    found = deliveries_of(messages, DESTINATIONS, BASE)

    assert [one.destination for one in found] == list(SECTIONS)
    assert {one.type for one in found} == set(get_args(DestinationSection.model_fields["type"].annotation))
    assert all(one.what for one in found)


def test_only_what_a_post_is_routed_to_is_sent() -> None:
    assert [one.destination for one in deliveries_of(("chat#thread", "chat#report"), DESTINATIONS, BASE)] == ["chat"]
    assert deliveries_of((), DESTINATIONS, BASE) == ()
