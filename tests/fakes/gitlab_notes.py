"""GitLab's notes on loopback: tokens and their scopes, limits, quick actions that are carried out, and a journal.

Quick actions: a line that begins with / and the name of one, wherever it stands (GitLab leaves out some code;
this one is stricter, since its rule for a fence does not know fences of other lengths).
"""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt

from tests.fakes.faults import JSON, Fault, Fortune, Limited
from tests.fakes.loopback import Act, Reply, Seen

TOKEN = "glpat-test"
PROJECT, ISSUE = "shop/operations", 7
BOT, SOMEBODY = 501, 900
MAX_NOTE_CHARS = 1_000_000
MAX_READ_FOR_ACTIONS_BYTES = 150_000
"""A longer note ran into the request timeout (gitlab-org/gitlab 254672)."""
QUICK_ACTIONS = ("close", "reopen", "assign", "unassign", "label", "unlabel", "title", "due", "severity", "confidential",
                 "todo", "done", "subscribe", "spend", "estimate", "milestone", "move", "tableflip", "shrug", "page")  # fmt: skip
_QUICK = re.compile(rf"^/({'|'.join(QUICK_ACTIONS)})\b[^\n]*\n?", re.IGNORECASE | re.MULTILINE)
_PATH = re.compile(r"^/api/v4/projects/(?P<project>[^/]+)/issues/(?P<issue>\d+)/notes(?:/(?P<note>\d+))?$")
_parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@dataclass
class Note:
    """One note as it stands, and every body that it had."""

    id: int
    author: int
    created_at: datetime
    body: str
    bodies: list[str] = field(default_factory=list)

    @property
    def markers(self) -> list[str]:
        return [found[1] for body in self.bodies if (found := re.match(r"<!-- inquest delivery (\S+) -->", body))]


class FakeGitlabNotes:
    """The handler of a `loopback` server."""

    def __init__(self, *, scopes: frozenset[str] = frozenset({"api"}), notes_a_minute: int = 300) -> None:
        self.scopes = scopes
        self.notes: dict[tuple[str, int], list[Note]] = {(PROJECT, ISSUE): []}
        self.executed: list[str] = []
        self.refusals: list[int] = []
        self.calls: list[tuple[str, str]] = []
        self.fortune = Fortune()
        self._notes_a_minute = notes_a_minute
        self._written: deque[float] = deque()
        self._ids = 1_000

    def __call__(self, seen: Seen) -> Act:
        self.calls.append((seen.method, seen.target))
        if seen.headers.get("private-token") != TOKEN:
            return self._refuse(401, "401 Unauthorized")
        needs = {"GET": {"api", "read_api"}}.get(seen.method, {"api"})
        if not needs & self.scopes:
            return self._refuse(403, "insufficient_scope")
        luck = self.fortune.next(seen.method)
        if isinstance(luck, Limited):
            self.refusals.append(429)
            return luck.reply(b"Retry later\n")
        if isinstance(luck, str):
            return self._refuse(int(luck), "refused")
        if isinstance(luck, Fault):
            if luck.stores:
                self._answer(seen)
            return luck.act()
        return self._answer(seen)

    def on(self, project: str = PROJECT, issue: int = ISSUE) -> list[Note]:
        """Give the notes of one issue, in the order of their arrival."""
        return self.notes[(project, issue)]

    def write_as(self, author: int, body: str, *, ago: timedelta = timedelta(0)) -> Note:
        """Let somebody else write a note."""
        note = self._new(author, body, datetime.now(UTC) - ago)
        self.on().append(note)
        return note

    def _answer(self, seen: Seen) -> Reply:
        if seen.path == "/api/v4/user":
            return _ok({"id": BOT, "username": "inquest"})
        found = _PATH.match(seen.target.split("?")[0])
        if found is None:
            return self._refuse(404, "404 Not Found")
        place = (unquote(found["project"]), int(found["issue"]))
        if place not in self.notes:
            return self._refuse(404, "404 Project Not Found")
        if seen.method == "GET":
            return self._list(place, seen)
        body = json.loads(seen.body).get("body")
        problem = _body_problem(body)
        if problem is not None:
            return self._refuse(*problem)
        return self._create(place, body) if seen.method == "POST" else self._update(place, int(found["note"]), body)

    def _list(self, place: tuple[str, int], seen: Seen) -> Reply:
        descending = seen.param("sort") != "asc"
        notes = sorted(self.notes[place], key=lambda note: (note.created_at, note.id), reverse=descending)
        size, page = int(seen.param("per_page") or 20), int(seen.param("page") or 1)
        shown = [_public(note) for note in notes[size * (page - 1) : size * page]]
        more = str(page + 1) if size * page < len(notes) else ""
        return Reply(200, json.dumps(shown).encode(), {**JSON, "X-Next-Page": more, "X-Total": str(len(notes))})

    def _create(self, place: tuple[str, int], body: str) -> Reply:
        now = time.monotonic()
        while self._written and now - self._written[0] > 60:
            self._written.popleft()
        if len(self._written) >= self._notes_a_minute:
            self.refusals.append(429)
            return Limited(30).reply(b"This endpoint has been requested too many times. Try again later.")
        self._written.append(now)
        kept = self._act(body)
        if not kept.strip():
            return Reply(202, json.dumps({"commands_changes": {}, "summary": self.executed}).encode(), JSON)
        note = self._new(BOT, kept, datetime.now(UTC))
        self.notes[place].append(note)
        return Reply(201, json.dumps(_public(note)).encode(), JSON)

    def _update(self, place: tuple[str, int], number: int, body: str) -> Reply:
        note = next((one for one in self.notes[place] if one.id == number), None)
        if note is None:
            return self._refuse(404, "404 Note Not Found")
        if note.author != BOT:
            return self._refuse(403, "403 Forbidden")
        note.body = self._act(body)
        note.bodies.append(note.body)
        return _ok(_public(note))

    def _act(self, body: str) -> str:
        """Carry out quick actions, and take their lines out."""
        self.executed += [found[0].strip() for found in _QUICK.finditer(body)]
        return _QUICK.sub("", body)

    def _new(self, author: int, body: str, at: datetime) -> Note:
        self._ids += 1
        return Note(self._ids, author, at, body, [body])

    def _refuse(self, status: int, said: str) -> Reply:
        self.refusals.append(status)
        return Reply(status, json.dumps({"message": said}).encode(), JSON)


def _body_problem(body: object) -> tuple[int, str] | None:
    if not isinstance(body, str) or not body.strip():
        return 400, "body is missing"
    if len(body) > MAX_NOTE_CHARS:
        return 400, "Note is too long (maximum is 1000000 characters)"
    return (502, "Rack timeout") if len(body.encode()) > MAX_READ_FOR_ACTIONS_BYTES else None


def is_never_older(note: Note) -> bool:
    """Say whether no body of the note replaced a newer one."""
    revisions = [int(marker.partition("/r")[2]) for marker in note.markers]
    return revisions == sorted(revisions)


def live(body: str) -> list[str]:
    """List what GitLab would make of a note beside its words: mentions, references, links, images, HTML, emoji, math."""
    found: list[str] = []
    for token in _parser.parse(body):
        if token.type == "html_block" and not re.fullmatch(r"<!-- inquest delivery [^<>]* -->\n?", token.content):
            found.append(token.content)
        for child in token.children or ():
            if child.type in {"link_open", "image", "html_inline"}:
                found.append(str(child.attrs.get("href") or child.attrs.get("src") or child.content))
            elif child.type == "text":
                found += _ALIVE.findall(child.content)
    found += [line for line in body.splitlines() if _QUICK.match(line)]
    return found


_ALIVE = re.compile(
    r"""(?<!\w)@[\w.-]+|(?<!\w)[#!%&$]\d+|(?<!\w)~[\w"]+|\b[A-Z][A-Z0-9]*-\d+\b|(?<!\w):[a-z0-9_+-]+:|https?://\S+|www\.\S+"""
    r"""|[\w.+-]+@[\w-]+\.\w+|\{[+-]|\$[^$\s]|\[[ x]\]|\[\^|\[\[|(?=[0-9a-f]*\d)\b[0-9a-f]{7,40}\b"""
)


def _public(note: Note) -> Mapping[str, Any]:
    return {
        "id": note.id,
        "body": note.body,
        "author": {"id": note.author, "username": f"user-{note.author}"},
        "created_at": note.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "system": False,
    }


def _ok(body: Mapping[str, Any]) -> Reply:
    return Reply(200, json.dumps(body).encode(), JSON)
