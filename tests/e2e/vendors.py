"""Slack and GitLab beside a world: their fakes as real HTTP servers, and the order in which they were asked.

They live in threads of the test's own process, so that a test can see what stands there and say what goes wrong next.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.e2e.served import served
from tests.fakes import gitlab_notes, slack
from tests.fakes.gitlab_notes import FakeGitlabNotes, Note
from tests.fakes.loopback import Act, Handler, Reply, Seen
from tests.fakes.slack import FakeSlack, Message

SLACK_TOKEN_ENV, NOTES_TOKEN_ENV = "INQUEST_E2E_SLACK", "INQUEST_E2E_NOTES"
TOKENS = {SLACK_TOKEN_ENV: slack.TOKEN, NOTES_TOKEN_ENV: gitlab_notes.TOKEN}
HTTP_TOO_MANY = 429
LEAST_BETWEEN_S = 0.5
"""Slack lets a short burst by: two messages that meet on the way are no refusal. The rate is looked at in the journal."""
RATE_WINDOW_S, MOST_IN_WINDOW = 10.0, 12
"""One message a second, and a burst of two."""
MAX_BLOCKS_CHARS, MAX_NOTE_BYTES = slack.MAX_ALL_BLOCKS_CHARS, gitlab_notes.MAX_READ_FOR_ACTIONS_BYTES


@dataclass(frozen=True)
class Asked:
    """One request, when it came (monotonic), and what was done with it."""

    at: float
    seen: Seen
    act: Act

    @property
    def status(self) -> int:
        """Give the status of the answer, 0 where there was none."""
        return self.act.status if isinstance(self.act, Reply) else 0

    @property
    def writes(self) -> bool:
        """Say whether it writes a message or a note."""
        return "/chat." in self.seen.target or (self.seen.method in {"PUT", "POST"} and "/notes" in self.seen.target)

    @property
    def body(self) -> dict[str, Any]:
        """Give what was sent, for a request with JSON in it."""
        parsed = json.loads(self.seen.body)
        assert isinstance(parsed, dict)
        return parsed


@dataclass(frozen=True)
class Thread:
    """What the channel shows of one investigation: its root, and the replies below it."""

    root: Message
    replies: tuple[Message, ...]


@dataclass
class Vendors:
    """The two of them, and their journals."""

    slack: FakeSlack = field(default_factory=lambda: FakeSlack(seconds_a_message=LEAST_BETWEEN_S))
    gitlab: FakeGitlabNotes = field(default_factory=FakeGitlabNotes)
    slack_url: str = ""
    gitlab_url: str = ""
    asked_slack: list[Asked] = field(default_factory=list)
    asked_gitlab: list[Asked] = field(default_factory=list)

    @property
    def destinations(self) -> dict[str, dict[str, Any]]:
        """Give the sections that lead here."""
        return {
            "slack": {
                "type": "slack",
                "channel": slack.CHANNEL,
                "api_url": f"{self.slack_url}/api",
                "token_env": SLACK_TOKEN_ENV,
            },
            "notes": {
                "type": "gitlab_note",
                "url": self.gitlab_url,
                "project": gitlab_notes.PROJECT,
                "issue": gitlab_notes.ISSUE,
                "token_env": NOTES_TOKEN_ENV,
            },
        }

    # ---- what stands there

    def thread(self, investigation: str) -> Thread | None:
        """Give the thread of an investigation, None while there is no root. Fails when there are two."""
        ours = [one for one in self.slack.messages if _is_of(investigation, one.markers)]
        roots = [one for one in ours if one.thread_ts is None]
        assert len(roots) < 2, [one.markers for one in roots]
        if not roots:
            return None
        replies = [one for one in ours if one is not roots[0]]
        assert {one.thread_ts for one in replies} <= {roots[0].ts}
        return Thread(roots[0], tuple(replies))

    def note(self, investigation: str) -> Note | None:
        """Give the note of an investigation, None while there is none. Fails when there are two."""
        ours = [one for one in self.gitlab.on() if _is_of(investigation, one.markers)]
        assert len(ours) < 2, [one.markers for one in ours]
        return ours[0] if ours else None

    # ---- what they were asked

    def limits_held(self) -> None:
        """Check every limit of both in their journals: sizes, rates, silence where it was asked for, order of texts."""
        written = [one for one in self.asked_slack if one.writes]
        assert written
        for one in written:
            blocks = json.dumps(one.body.get("blocks", []), ensure_ascii=False, separators=(",", ":"))
            assert len(blocks) <= MAX_BLOCKS_CHARS
        times = [one.at for one in written]
        busiest = max(sum(at <= other < at + RATE_WINDOW_S for other in times) for at in times)
        assert busiest <= MOST_IN_WINDOW, times
        for earlier, later in pairwise(written):
            assert later.at - earlier.at >= _retry_after(earlier), "it was asked to be silent"
        notes = [one.body["body"] for one in self.asked_gitlab if one.writes]
        assert max(len(note.encode()) for note in notes) <= MAX_NOTE_BYTES
        markers = [one.markers for one in self.slack.messages] + [one.markers for one in self.gitlab.on()]
        firsts = Counter(_first(one) for one in markers)
        assert [first for first, count in firsts.items() if count > 1] == []
        assert all(slack.is_never_older(one) for one in self.slack.messages)
        assert all(gitlab_notes.is_never_older(one) for one in self.gitlab.on())
        assert self.gitlab.executed == [], "no line of a note was a quick action"


def revision_of(marker: str) -> int:
    """Give the revision that a marker names."""
    return int(marker.partition("/r")[2].partition("#")[0])


def _is_of(investigation: str, markers: list[str]) -> bool:
    return bool(markers) and markers[0].startswith(f"{investigation}/")


def _first(markers: list[str]) -> str:
    """Name the message that a first send made: the same for each try of it."""
    investigation, _, message = markers[0].partition("/r")
    return f"{investigation}#{message.partition('#')[2]}"


def _retry_after(one: Asked) -> float:
    return float(one.act.headers.get("Retry-After", 0)) if isinstance(one.act, Reply) else 0.0


def _journalled(handler: Handler, journal: list[Asked]) -> Handler:
    def answer(seen: Seen) -> Act:
        at = time.monotonic()
        act = handler(seen)
        assert isinstance(act, Act)
        journal.append(Asked(at, seen, act))
        return act

    return answer


@contextmanager
def vendors() -> Iterator[Vendors]:
    """Serve both for the length of a `with`."""
    made = Vendors()
    at_slack = served(_journalled(made.slack, made.asked_slack))
    at_gitlab = served(_journalled(made.gitlab, made.asked_gitlab))
    with at_slack as made.slack_url, at_gitlab as made.gitlab_url:
        yield made
