"""GitLab's objects -> change records. Pure; raises Drift and Unreadable.

What people wrote stays as it is, but for three things: addresses of authors are left out, secrets are masked
before anything is cut, and of a long description the first part is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from inquest.connectors.gitlab.config import MAX_DETAIL_CHARS, service_of
from inquest.connectors.shared.reading import Drift, rfc3339_ms
from inquest.domain.signals import ChangeRecord
from inquest.domain.value import Json
from inquest.wire.redaction import Redactor
from inquest.wire.sanitise import clean

Row = dict[str, Json]
_ENDED = frozenset({"success", "failed", "canceled", "skipped"})
"""Statuses of a deployment that has ended."""
_HAPPENED = {"merged": "merged_at", "opened": "created_at", "closed": "closed_at"}
"""By state of a merge request, when it came into it."""
_IDENTITY = re.compile(r" ?<[^<>\s@]{1,64}@[^<>\s@]{1,255}>")
"""The address in Name <name@host>, as git writes authors and trailers."""
_ADDRESS = re.compile(r"[^\s<>@]{1,64}@[^\s<>@]{1,255}")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the objects of one project."""

    project: str
    redactor: Redactor

    def deployment(self, row: Row) -> ChangeRecord:
        """Read a deployment. It begins when its job does, not when it was planned."""
        job, status = _object(row, "deployable"), _text(row, "status")
        commit, user = _object(job, "commit"), _object(row, "user") or _object(job, "user")
        began = _time(job, "started_at") or _needed(row, "created_at")
        ended = _time(row, "finished_at") or _time(job, "finished_at") or _time(row, "updated_at")
        ref = _text(row, "ref")
        return ChangeRecord(
            change="deployment",
            change_id=f"{self.project} deployment {_number(row, 'iid')}",
            title=self._line(_text(commit, "title") or _text(job, "name") or ref),
            author=_person(user),
            time=began,
            finished=ended if status in _ENDED else None,
            status=status,
            environment=_text(_object(row, "environment"), "name"),
            service=service_of(self.project),
            revision=_text(row, "sha"),
            url=_text(job, "web_url"),
            detail=self._detail("\n".join(filter(None, (_text(job, "name"), ref, _text(commit, "message"))))),
        )

    def merge_request(self, row: Row) -> ChangeRecord:
        """Read a merge request, at the moment it came into its state."""
        state = _text(row, "state")
        # Of very old ones GitLab does not know when they were merged or closed.
        happened = _time(row, _HAPPENED.get(state, "created_at")) or _needed(row, "updated_at")
        return ChangeRecord(
            change="merge_request",
            change_id=f"{self.project}!{_number(row, 'iid')}",
            title=self._line(_text(row, "title")),
            author=_person(_object(row, "author")),
            time=happened,
            finished=None if state == "opened" else happened,
            status=state,
            service=service_of(self.project),
            revision=_text(row, "merge_commit_sha") or _text(row, "squash_commit_sha") or _text(row, "sha"),
            url=_text(row, "web_url"),
            detail=self._detail(_text(row, "description")),
        )

    def commit(self, row: Row) -> ChangeRecord:
        """Read a commit, at the moment it was committed."""
        sha, happened = _text(row, "id"), _needed(row, "committed_date")
        if not sha:
            raise Drift("id")
        return ChangeRecord(
            change="commit",
            change_id=sha,
            title=self._line(_text(row, "title")),
            author=_without_address(_text(row, "author_name")),
            time=happened,
            finished=happened,
            service=service_of(self.project),
            revision=sha,
            url=_text(row, "web_url"),
            detail=self._detail(_text(row, "message")),
        )

    def _line(self, text: str) -> str:
        return _IDENTITY.sub("", text)

    def _detail(self, text: str) -> str:
        """Keep the first part. Secrets are masked first: half of one would not be known for one."""
        safe = self.redactor.text(_IDENTITY.sub("", clean(text).text))
        if len(safe) <= MAX_DETAIL_CHARS:
            return safe
        return f"{safe[:MAX_DETAIL_CHARS]}… [cut: the first {MAX_DETAIL_CHARS} of {len(safe)} characters]"


Read = Callable[[Row], ChangeRecord]


def _person(user: Row) -> str:
    return _without_address(_text(user, "name") or _text(user, "username"))


def _without_address(name: str) -> str:
    """Give a name without an address; some have nothing else for a name."""
    left = _ADDRESS.sub("", _IDENTITY.sub("", name)).strip()
    return left or ("(an address)" if name.strip() else "")


def _object(row: Row, name: str) -> Row:
    """Take an object that may be missing or null."""
    found = row.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Drift(name)
    return found


def _text(row: Row, name: str) -> str:
    """Take a text that may be missing or null."""
    found = row.get(name)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise Drift(name)
    return found


def _number(row: Row, name: str) -> int:
    found = row.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        raise Drift(name)
    return found


def _time(row: Row, name: str) -> int | None:
    """Take a time (epoch ms) that may be missing or null."""
    found = row.get(name)
    if found is not None and not isinstance(found, str):
        raise Drift(name)
    return rfc3339_ms(found)


def _needed(row: Row, name: str) -> int:
    found = _time(row, name)
    if found is None:
        raise Drift(name)
    return found
