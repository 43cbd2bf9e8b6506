"""Destinations in the configuration file: each type takes its own keys, and says what it needs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inquest.configuration.destination import KEYS, DestinationSection
from inquest.configuration.file import parse
from inquest.errors import ConfigurationError

SLACK = {"type": "slack", "channel": "C0123456789", "token_env": "T"}
NOTES = {"type": "gitlab_note", "url": "https://gitlab.example", "project": "a/b", "issue": 1, "token_file": "t"}


def read(**section: Any) -> DestinationSection:  # noqa: ANN401  # any of its keys
    text = json.dumps({"version": 1, "workspaces": {"default": {"destinations": {"d": section}}}})
    return parse(text, "f.yaml").workspaces["default"].destinations["d"]


@pytest.mark.parametrize("section", [{"type": "folder", "path": "out"}, SLACK, NOTES])
def test_each_type_takes_its_own_keys(section: dict[str, Any]) -> None:
    assert read(**section).type == section["type"]


def test_every_key_belongs_to_a_type_or_to_all() -> None:
    assert set(DestinationSection.model_fields) == {"type", "allowed_link_hosts"}.union(*KEYS.values())


@pytest.mark.parametrize(
    ("section", "told"),
    [
        (
            {**SLACK, "path": "out"},
            "path is no key of a slack destination; it has api_url, channel, token_env, token_file",
        ),
        ({"type": "folder", "path": "x", "token_env": "T"}, "token_env is no key of a folder destination; it has path"),
        ({"type": "folder"}, "a folder destination needs path"),
        ({"type": "slack", "token_env": "T"}, "a slack destination needs channel"),
        ({"type": "slack", "channel": "C0123456789"}, "a slack destination needs token_env or token_file"),
        ({**SLACK, "channel": "#incidents"}, "write the channel's id, as in C0123456789"),
        ({**SLACK, "api_url": "https://user:x@slack.example"}, "without credentials or a query"),
        ({**NOTES, "issue": None}, "project and issue go together"),
        (
            {"type": "gitlab_note", "url": "https://g.example", "token_env": "T"},
            "needs project and issue, or origin_pr",
        ),
        ({**NOTES, "project": "no-group"}, "write the project's full path"),
        ({**SLACK, "token": "xoxb-1-CANARY"}, "a secret is never written here: use token_env or token_file"),
    ],
)
def test_what_does_not_fit_is_told(section: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        read(**section)
    assert told in str(error.value)
    assert "CANARY" not in str(error.value)
