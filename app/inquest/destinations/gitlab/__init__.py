"""GitLab: one note on an issue or incident for each investigation, found by its marker and edited as it goes.

It is written on the incident that raised the alert, where its project is allowed, else on the configured issue.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from gitlab import Gitlab
from pydantic import Field, SecretStr, ValidationError

from inquest.destinations.gitlab.client import GitlabAccess, asked
from inquest.destinations.shared.gitlab_note import note_body
from inquest.destinations.shared.quiet import Quiet
from inquest.domain.delivery import Address, DeliveryFailed, Sent
from inquest.domain.report import Report
from inquest.domain.value import Instant, Value
from inquest.errors import ConfigurationError

TYPE = "gitlab_note"
PROJECT = r"^[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+$"
SKEW = timedelta(minutes=10)
"""How far GitLab's clock may be behind the database's."""
PAGE = 20
MAX_PAGES = 50
"""Of a look: 1,000 notes since the revision was planned. More: a human has to look."""
_REFERENCE = re.compile(r"^(?P<project>.+)#(?P<issue>[1-9][0-9]{0,9})/(?P<note>[1-9][0-9]{0,18})\Z")
_ALONE: dict[str, Any] = {"obey_rate_limit": False, "max_retries": 0}
"""python-gitlab would sleep on 429 and ask again."""


Noted = TypeVar("Noted", bound="Sent | DeliveryFailed | None")


class GitlabNoteConfig(Value):
    """`project` and `issue` (its number) are where notes go; `origin_projects`: whose own incidents get them instead."""

    url: str
    token: SecretStr
    project: str = Field(default="", pattern=rf"{PROJECT}|^$")
    issue: int | None = Field(default=None, ge=1)
    origin_projects: tuple[str, ...] = ()
    ca_file: str = ""


class Issue(NamedTuple):
    """An issue or incident by its project's path and its number there."""

    project: str
    number: int


class Note(Value):
    """What is read of a note. GitLab gives more."""

    id: int
    body: str
    created_at: Instant
    author_id: int


def create_gitlab_note_destination(
    name: str, config: GitlabNoteConfig, *, link_hosts: Iterable[str] = ()
) -> GitlabNotes:
    """Make the destination. Raises ConfigurationError when it can name no issue."""
    if bool(config.project) != (config.issue is not None):
        raise ConfigurationError(f"destinations.{name}: project and issue go together")
    if not config.project and not config.origin_projects:
        raise ConfigurationError(f"destinations.{name}: give project and issue, or origin_projects")
    return GitlabNotes(name, config, frozenset(link_hosts))


class GitlabNotes:
    """Writes notes. Only the first one of an investigation is unsafe to repeat."""

    type = TYPE

    def __init__(self, name: str, config: GitlabNoteConfig, link_hosts: frozenset[str]) -> None:
        self.name = name
        self._config = config
        self._access = GitlabAccess(config.url, config.token, config.ca_file)
        self._link_hosts = link_hosts
        self._quiet = Quiet()

    def render(self, report: Report, contents: Mapping[str, bytes], *, guest: bool) -> bytes:  # noqa: ARG002  # no thread
        """Write the note without its marker."""
        return note_body(report, contents, self._link_hosts).encode()

    async def send(self, rendered: bytes, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed:
        """Write the note, or edit the one of the reference; nothing while GitLab asks for silence."""
        return self._quiet.refusal() or self._heard(await self._send(rendered, address, time.monotonic() + timeout_s))

    def _heard(self, answer: Noted) -> Noted:
        """Keep silent at this GitLab, whatever the issue, as long as an answer asks."""
        if isinstance(answer, DeliveryFailed):
            self._quiet.note(answer)
        return answer

    async def _send(self, rendered: bytes, address: Address, must_end_at: float) -> Sent | DeliveryFailed:
        body = f"{marker_line(address.marker)}\n\n{rendered.decode()}"
        if address.reference is not None:
            return await asyncio.to_thread(self._edit, address.reference, body, must_end_at)
        issue = self._issue(address)
        if issue is None:
            return _NOWHERE
        return await asyncio.to_thread(self._create, issue, body, must_end_at)

    async def find(self, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed | None:
        """Look for our note that begins with this marker; None: surely not there."""
        issue = self._issue(address)
        if issue is None:
            return _NOWHERE
        held = self._quiet.refusal()
        return held or self._heard(await asyncio.to_thread(self._find, issue, address, time.monotonic() + timeout_s))

    def _issue(self, address: Address) -> Issue | None:
        origin = address.origin
        if origin is not None and origin.project in self._config.origin_projects and origin.issue.isdecimal():
            return Issue(origin.project, int(origin.issue))
        return None if self._config.issue is None else Issue(self._config.project, self._config.issue)

    def _create(self, issue: Issue, body: str, must_end_at: float) -> Sent | DeliveryFailed:
        def ask(client: Gitlab) -> Any:  # noqa: ANN401  # python-gitlab's, of unknown fields
            return _notes(client, issue).create({"body": body}, **_ALONE).attributes.get("id")

        note = asked(self._access, ask, must_end_at=must_end_at)
        if isinstance(note, DeliveryFailed):
            return note
        if not isinstance(note, int):
            return DeliveryFailed(reason="GitLab did not say which note it is", retry=True, uncertain=True)
        return Sent(reference=f"{issue.project}#{issue.number}/{note}")

    def _edit(self, reference: str, body: str, must_end_at: float) -> Sent | DeliveryFailed:
        found = _REFERENCE.match(reference)
        if found is None:
            return DeliveryFailed(reason="the reference names no note", retry=False)
        issue = Issue(found["project"], int(found["issue"]))

        def ask(client: Gitlab) -> None:
            _notes(client, issue).update(int(found["note"]), {"body": body}, **_ALONE)

        failed = asked(self._access, ask, must_end_at=must_end_at)
        return failed if isinstance(failed, DeliveryFailed) else Sent(reference=reference)

    def _find(self, issue: Issue, address: Address, must_end_at: float) -> Sent | DeliveryFailed | None:
        def ask(client: Gitlab) -> Sent | DeliveryFailed | None:
            client.auth()
            own = client.user.attributes.get("id") if client.user is not None else None
            for page in range(1, MAX_PAGES + 1):
                how = {"order_by": "created_at", "sort": "desc", "per_page": PAGE, "page": page, "get_all": False}
                notes = [_note(one.attributes) for one in _notes(client, issue).list(**how, **_ALONE)]
                for note in notes:
                    if note is not None and note.author_id == own and _begins_with(note.body, address.marker):
                        return Sent(reference=f"{issue.project}#{issue.number}/{note.id}")
                if len(notes) < PAGE or _is_before(notes, address.since):
                    return None
            return DeliveryFailed(reason="too many notes came since to look through", retry=False)

        return asked(self._access, ask, must_end_at=must_end_at)


_NOWHERE = DeliveryFailed(reason="the alert came from no allowed incident, and no issue is configured", retry=False)


def marker_line(marker: str) -> str:
    """Write the hidden first line of a note."""
    return f"<!-- inquest delivery {marker} -->"


def _begins_with(body: str, marker: str) -> bool:
    return body.split("\n", 1)[0].rstrip("\r") == marker_line(marker)


def _notes(client: Gitlab, issue: Issue) -> Any:  # noqa: ANN401  # a manager that python-gitlab makes by name
    return client.projects.get(issue.project, lazy=True).issues.get(issue.number, lazy=True).notes


def _note(found: Mapping[str, Any]) -> Note | None:
    """Read a note; None for one that GitLab gives in another shape: it is not ours."""
    author = found.get("author")
    try:
        return Note(
            id=found["id"],
            body=found["body"],
            created_at=datetime.fromisoformat(found["created_at"]),
            author_id=author["id"] if isinstance(author, dict) else 0,
        )
    except (KeyError, TypeError, ValueError, ValidationError):
        return None


def _is_before(notes: Iterable[Note | None], since: datetime | None) -> bool:
    """Say whether the oldest of a page was written before ours can have been."""
    dated = [note.created_at for note in notes if note is not None]
    return since is not None and bool(dated) and min(dated) < since - SKEW
