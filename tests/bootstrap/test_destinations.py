"""Destinations as they are wired: what a route plans, who sends it, and that their tokens are secrets."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from inquest.bootstrap.destinations import DESTINATIONS
from inquest.bootstrap.workspace import Workspace
from inquest.configuration.destination import DestinationSection
from inquest.domain.delivery import Address, Sent
from inquest.errors import ConfigurationError
from tests.bootstrap.files import OPEN_INTAKE, build, file_of, prometheus
from tests.destinations.harness import PATIENCE_S, REPORT, SHELF
from tests.fakes import gitlab_notes, slack
from tests.fakes.gitlab_notes import FakeGitlabNotes
from tests.fakes.loopback import loopback
from tests.fakes.slack import CHANNEL, FakeSlack

FOLDER = {"type": "folder", "path": "out"}
SLACK = {"type": "slack", "channel": CHANNEL, "token_env": "SLACK_TOKEN"}
NOTES = {
    "type": "gitlab_note", "url": "https://gitlab.example", "project": gitlab_notes.PROJECT,
    "issue": gitlab_notes.ISSUE, "token_file": "notes-token",
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLACK_TOKEN", slack.TOKEN)
    (tmp_path / "notes-token").write_text(f"{gitlab_notes.TOKEN}\n")
    return tmp_path


def workspace(base: Path, *routes: object, **destinations: object) -> Workspace:
    text = file_of(
        intakes={"am": OPEN_INTAKE}, integrations={"p": prometheus()}, destinations=destinations, routes=routes
    )
    return build(text, base)["default"]


def test_every_type_that_a_file_may_name_can_be_built() -> None:
    assert set(get_args(DestinationSection.model_fields["type"].annotation)) == set(DESTINATIONS)


def test_a_route_to_a_thread_plans_both_of_its_messages(home: Path) -> None:
    made = workspace(home, {"to": ["chat", "files"]}, chat=SLACK, files=FOLDER, notes=NOTES)
    assert made.intakes[0].destinations == ("chat#thread", "chat#report", "files")
    assert sorted(made.destinations) == ["chat#report", "chat#thread", "files", "notes"]


def test_without_routes_everything_is_planned_and_whatever_is_planned_has_a_sender(home: Path) -> None:
    made = workspace(home, chat=SLACK, files=FOLDER, notes=NOTES)
    assert set(made.intakes[0].destinations) == set(made.destinations)
    assert {name: one.name for name, one in made.destinations.items()} == {name: name for name in made.destinations}


def test_tokens_of_destinations_are_masked_everywhere(home: Path) -> None:
    made = workspace(home, chat=SLACK, notes=NOTES)
    for token in (slack.TOKEN, gitlab_notes.TOKEN):
        assert token not in made.redactor.text(f"a log line with {token} in it")
        assert token not in repr(made)


def test_a_token_that_is_not_there_is_told_with_its_field(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as error:
        workspace(tmp_path, chat=SLACK, notes=NOTES)
    lines = str(error.value).splitlines()
    assert lines[0] == "workspaces.default.destinations.chat.token_env: the variable SLACK_TOKEN is not set or empty"
    assert lines[1].startswith("workspaces.default.destinations.notes.token_file: ")


async def test_what_is_wired_reaches_the_vendors_and_links_to_the_sources(home: Path) -> None:
    at_slack, at_gitlab = FakeSlack(seconds_a_message=0.0), FakeGitlabNotes()
    async with loopback(at_slack) as one, loopback(at_gitlab) as other:
        made = workspace(home, chat={**SLACK, "api_url": f"{one.url}/api"}, notes={**NOTES, "url": other.url})
        for name in ("chat#thread", "notes"):
            destination = made.destinations[name]
            rendered = destination.render(REPORT, SHELF.contents, guest=False)
            assert rendered is not None
            answer = await destination.send(rendered, Address(marker=f"inv-1/r1#{name}"), timeout_s=PATIENCE_S)
            assert isinstance(answer, Sent)
    assert (len(at_slack.messages), len(at_gitlab.on())) == (1, 1)
