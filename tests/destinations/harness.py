"""Every destination over what it really writes to, so that one suite holds for all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from pydantic import SecretStr

from inquest.destinations.folder import FolderConfig, create_folder_destination
from inquest.destinations.gitlab import GitlabNoteConfig, create_gitlab_note_destination
from inquest.destinations.slack import SlackConfig, create_slack_destinations
from inquest.domain.delivery import Address
from inquest.domain.report import Report
from inquest.ports import Destination
from tests.fakes import gitlab_notes, slack
from tests.fakes.faults import Fault, Limited, Luck
from tests.fakes.gitlab_notes import FakeGitlabNotes
from tests.fakes.loopback import loopback
from tests.fakes.slack import CHANNEL, FakeSlack
from tests.incident import incident_shelf
from tests.reports import HOSTS, KEY, whole_report

SHELF = incident_shelf()
REPORT = whole_report(SHELF)
PATIENCE_S = 10.0


class Place(Protocol):
    """A destination, and what stands at its other end."""

    destination: Destination
    suffix: str
    thread: str | None

    def messages(self) -> list[str]:
        """Give what stands there, one text a message, in the order of arrival."""

    def then(self, luck: Luck) -> None:
        """Let the next write meet `luck`."""

    def lock_out(self) -> None:
        """Refuse the destination's credential from now on."""


def address(place: Place, revision: int = 2, reference: str | None = None, **changes: object) -> Address:
    made = Address(
        marker=f"inv-1/r{revision}{place.suffix}", reference=reference, thread=place.thread, since=datetime.now(UTC)
    )
    return made.but(**changes)


def rendered(place: Place, revision: int = 2, report: Report = REPORT, **changes: object) -> bytes:
    made = place.destination.render(report.but(revision=revision, **changes), SHELF.contents, guest=False)
    assert made is not None
    return made


@dataclass
class Folder:
    destination: Destination
    root: Path
    suffix: str = ""
    thread: str | None = None

    def messages(self) -> list[str]:
        return [str(path.read_text()) for path in sorted(self.root.glob("inv-1/r*/report.md"))]

    def then(self, luck: Luck) -> None:
        raise NotImplementedError  # no network

    def lock_out(self) -> None:
        raise NotImplementedError


@dataclass
class Slack:
    destination: Destination
    fake: FakeSlack
    suffix: str
    thread: str | None = None
    seen: int = field(default=0)

    def messages(self) -> list[str]:
        own = [one for one in self.fake.messages if one.user == slack.BOT_USER]
        return [str(one.said) for one in own if one.ts != (self.thread or "").partition("/")[2]]

    def then(self, luck: Luck) -> None:
        for method in ("chat.postMessage", "chat.update"):
            self.fake.fortune.queues[method] = [luck]

    def lock_out(self) -> None:
        self.fake.scopes = frozenset()


@dataclass
class Gitlab:
    destination: Destination
    fake: FakeGitlabNotes
    suffix: str = ""
    thread: str | None = None

    def messages(self) -> list[str]:
        return [note.body for note in self.fake.on() if note.author == gitlab_notes.BOT]

    def then(self, luck: Luck) -> None:
        for method in ("POST", "PUT"):
            self.fake.fortune.queues[method] = [luck]

    def lock_out(self) -> None:
        self.fake.scopes = frozenset({"read_user"})


@asynccontextmanager
async def slack_messages(
    *, seconds_a_message: float = 0.0, token: str = slack.TOKEN, fake: FakeSlack | None = None
) -> AsyncIterator[tuple[Slack, Slack]]:
    """Give the root and the report of one Slack; the report's thread is begun."""
    made = fake or FakeSlack(seconds_a_message=seconds_a_message)
    async with loopback(made) as server:
        config = SlackConfig(channel=CHANNEL, token=SecretStr(token), api_url=f"{server.url}/api")
        both = create_slack_destinations("slack", config, link_hosts=HOSTS)
        root = made.post_as(slack.BOT_USER, {"text": "root", "metadata": None})
        yield (
            Slack(both["slack#thread"], made, "#thread"),
            Slack(both["slack#report"], made, "#report", f"{CHANNEL}/{root.ts}"),
        )


@asynccontextmanager
async def gitlab_note(
    fake: FakeGitlabNotes | None = None, *, token: str = gitlab_notes.TOKEN, **changes: object
) -> AsyncIterator[Gitlab]:
    made = fake or FakeGitlabNotes()
    async with loopback(made) as server:
        where: dict[str, Any] = {"project": gitlab_notes.PROJECT, "issue": gitlab_notes.ISSUE, **changes}
        config = GitlabNoteConfig(url=server.url, token=SecretStr(token), **where)
        yield Gitlab(create_gitlab_note_destination("notes", config, link_hosts=HOSTS), made)


@asynccontextmanager
async def place_of(kind: str, folder: Path) -> AsyncIterator[Place]:
    """Open one of "folder", "slack#thread", "slack#report", "gitlab"."""
    if kind == "folder":
        config = FolderConfig(path=str(folder))
        yield Folder(create_folder_destination("files", config, signer=KEY, link_hosts=HOSTS), folder)
    elif kind == "gitlab":
        async with gitlab_note() as note:
            yield note
    else:
        async with slack_messages() as (root, report):
            root.fake.messages = root.fake.messages if kind == "slack#report" else []
            yield root if kind == "slack#thread" else report


Open = AbstractAsyncContextManager[Place]
LOST = (Fault.CLOSE, Fault.ERROR)
STORED = (Fault.STORE_THEN_CLOSE, Fault.STORE_THEN_ERROR)
HOUR = Limited(3_600)
