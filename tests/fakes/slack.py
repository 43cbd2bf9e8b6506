"""A Slack on loopback: it checks what Slack checks, keeps its limits and its rate, and a journal of what was shown.

Sources of its rules: facts of the Web API's reference (limits of blocks, errors as HTTP 200 with `ok: false`,
429 with Retry-After), slackapi/bolt-js 2509 (`msg_blocks_too_long` near 13,200).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus

from tests.fakes.faults import JSON, Fault, Fortune, Limited
from tests.fakes.loopback import Act, Reply, Seen
from tests.fakes.slack_blocks import problem_of

TOKEN = "xoxb-1-test"
CHANNEL = "C0INCIDENTS"
BOT_USER, BOT_ID = "U0INQUEST", "B0INQUEST"
MAX_ALL_BLOCKS_CHARS = 13_200
MAX_TEXT_CHARS = 40_000
MAX_METADATA_CHARS = 8_000
SCOPES = frozenset({"chat:write", "channels:history"})
NEEDED = {
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "conversations.history": "channels:history",
    "conversations.replies": "channels:history",
}


@dataclass
class Message:
    """One message as it stands, and every text that it had."""

    ts: str
    channel: str
    user: str
    thread_ts: str | None
    said: dict[str, Any]
    shown: list[dict[str, Any]] = field(default_factory=list)

    @property
    def marker(self) -> str:
        return str((self.said.get("metadata") or {}).get("event_payload", {}).get("marker", ""))

    @property
    def markers(self) -> list[str]:
        return [str(said["metadata"]["event_payload"]["marker"]) for said in self.shown]


class FakeSlack:
    """The handler of a `loopback` server. `fortune` goes by method, or by METHOD#MESSAGE for one of ours alone."""

    def __init__(self, *, seconds_a_message: float = 1.0, scopes: frozenset[str] = SCOPES) -> None:
        self.seconds_a_message = seconds_a_message
        self.scopes = scopes
        self.channels = {CHANNEL}
        self.messages: list[Message] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refusals: list[str] = []
        self.fortune = Fortune()
        self.page = 100
        self._written_at = 0.0
        self._last_ts = 0

    def __call__(self, seen: Seen) -> Act:
        method = seen.path.removeprefix("/api/")
        asked = _arguments(seen)
        self.calls.append((method, asked))
        refusal = self._identity_problem(seen, method)
        if refusal is not None:
            return self._refuse(refusal)
        luck = self.fortune.next(f"{method}#{_message(asked)}") or self.fortune.next(method)
        if isinstance(luck, Limited):
            self.refusals.append("ratelimited")
            return luck.reply(b'{"ok": false, "error": "ratelimited"}')
        if isinstance(luck, str):
            return self._refuse(luck)
        if isinstance(luck, Fault):
            if luck.stores:
                self._answer(method, asked)
            return luck.act()
        return self._answer(method, asked)

    def shown(self) -> list[str]:
        """Give the fallback text of each message, in the order of their arrival."""
        return [str(message.said["text"]) for message in self.messages]

    def post_as(self, user: str, said: dict[str, Any], *, ago_s: float = 0.0) -> Message:
        """Let somebody else write a message."""
        message = Message(self._ts(ago_s), CHANNEL, user, said.get("thread_ts"), said)
        self.messages.append(message)
        return message

    def _identity_problem(self, seen: Seen, method: str) -> str | None:
        held = seen.headers.get("authorization", "")
        if not held:
            return "not_authed"
        if held != f"Bearer {TOKEN}":
            return "invalid_auth"
        if NEEDED.get(method) not in {None, *self.scopes}:
            return "missing_scope"
        return None

    def _answer(self, method: str, asked: dict[str, Any]) -> Reply:
        does: dict[str, Callable[[dict[str, Any]], dict[str, Any] | str | Reply]] = {
            "auth.test": lambda _: {"user_id": BOT_USER, "bot_id": BOT_ID, "team_id": "T0"},
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "conversations.history": self._history,
            "conversations.replies": self._replies,
        }
        if method not in does:
            return self._refuse("unknown_method")
        answer = does[method](asked)
        if isinstance(answer, Reply):
            return answer
        return self._refuse(answer) if isinstance(answer, str) else _ok(answer)

    def _refuse(self, code: str) -> Reply:
        self.refusals.append(code)
        return Reply(200, json.dumps({"ok": False, "error": code}).encode(), JSON)

    def _post(self, asked: dict[str, Any]) -> dict[str, Any] | str | Reply:
        thread = asked.get("thread_ts")
        if thread is not None and self._find(str(asked.get("channel")), str(thread)) is None:
            return "thread_not_found"
        problem = self._problem(asked)
        if problem is not None:
            return problem
        limited = self._limit()
        if limited is not None:
            return limited
        message = Message(self._ts(), str(asked["channel"]), BOT_USER, thread, asked, [asked])
        self.messages.append(message)
        return {"channel": message.channel, "ts": message.ts, "message": _public(message, with_metadata=False)}

    def _update(self, asked: dict[str, Any]) -> dict[str, Any] | str | Reply:
        message = self._find(str(asked.get("channel")), str(asked.get("ts")))
        if message is None:
            return "message_not_found"
        if message.user != BOT_USER:
            return "cant_update_message"
        problem = self._problem(asked)
        if problem is not None:
            return problem
        message.said = asked
        message.shown.append(asked)
        return {"channel": message.channel, "ts": message.ts, "text": asked["text"]}

    def _problem(self, asked: Mapping[str, Any]) -> str | None:
        blocks, text, metadata = asked.get("blocks") or [], str(asked.get("text", "")), asked.get("metadata")
        size = len(json.dumps(blocks, ensure_ascii=False, separators=(",", ":")))
        problems = {
            "channel_not_found": asked.get("channel") not in self.channels,
            "no_text": not text and not blocks,
            "msg_blocks_too_long": size > MAX_ALL_BLOCKS_CHARS,
            "msg_too_long": len(text) > MAX_TEXT_CHARS,
            "invalid_blocks": problem_of(blocks) is not None,
            "invalid_metadata_format": metadata is not None
            and not re.fullmatch(r"[a-z][a-z0-9_]*", str(metadata.get("event_type"))),
            "metadata_too_large": len(json.dumps(metadata)) > MAX_METADATA_CHARS,
        }
        return next((code for code, is_so in problems.items() if is_so), None)

    def _limit(self) -> Reply | None:
        now = time.monotonic()
        if now - self._written_at < self.seconds_a_message:
            self.refusals.append("ratelimited")
            return Limited(1).reply(b'{"ok": false, "error": "ratelimited"}')
        self._written_at = now
        return None

    def _history(self, asked: dict[str, Any]) -> dict[str, Any] | str | Reply:
        if asked.get("channel") not in self.channels:
            return "channel_not_found"
        found = [one for one in self.messages if one.channel == asked["channel"] and one.thread_ts is None]
        return self._paged(sorted(found, key=lambda one: float(one.ts), reverse=True), asked)

    def _replies(self, asked: dict[str, Any]) -> dict[str, Any] | str | Reply:
        root = self._find(str(asked.get("channel")), str(asked.get("ts")))
        if root is None:
            return "thread_not_found"
        return self._paged([root, *(one for one in self.messages if one.thread_ts == root.ts)], asked)

    def _paged(self, found: list[Message], asked: Mapping[str, Any]) -> dict[str, Any]:
        oldest = float(asked.get("oldest") or 0)
        within = [one for one in found if float(one.ts) >= oldest or (one.thread_ts is None and "ts" in asked)]
        start, limit = int(asked.get("cursor") or 0), min(int(asked.get("limit") or self.page), self.page)
        with_metadata = str(asked.get("include_all_metadata")).lower() in {"true", "1"}
        page = [_public(one, with_metadata=with_metadata) for one in within[start : start + limit]]
        more = start + limit < len(within)
        following = {"next_cursor": str(start + limit) if more else ""}
        return {"messages": page, "has_more": more, "response_metadata": following}

    def _find(self, channel: str, ts: str) -> Message | None:
        return next((one for one in self.messages if (one.channel, one.ts) == (channel, ts)), None)

    def _ts(self, ago_s: float = 0.0) -> str:
        """Give a timestamp that no other message of the channel has."""
        micros = max(int((time.time() - ago_s) * 1_000_000), self._last_ts + 1 if not ago_s else 0)
        if not ago_s:
            self._last_ts = micros
        return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"


def first_messages(messages: Iterator[Message] | list[Message]) -> list[str]:
    """Name (investigation, message) of each that we posted: twice the same name is a second first message."""
    return [_named(message.markers[0]) for message in messages if message.user == BOT_USER]


def _named(marker: str) -> str:
    return re.sub(r"/r\d+", "", marker)


def is_never_older(message: Message) -> bool:
    """Say whether no text of the message replaced a newer one."""
    revisions = [int(re.search(r"/r(\d+)", marker).group(1)) for marker in message.markers]  # type: ignore[union-attr]
    return revisions == sorted(revisions)


def _message(asked: Mapping[str, Any]) -> str:
    """Name the message that is written, "thread" or "report", as its marker does."""
    metadata = asked.get("metadata")
    return str(metadata["event_payload"]["marker"]).partition("#")[2] if isinstance(metadata, dict) else ""


def _public(message: Message, *, with_metadata: bool) -> dict[str, Any]:
    found = {"type": "message", "ts": message.ts, "user": message.user, "text": message.said.get("text", "")}
    if message.user == BOT_USER:
        found["bot_id"] = BOT_ID
    if message.thread_ts is not None:
        found["thread_ts"] = message.thread_ts
    if with_metadata and message.said.get("metadata"):
        found["metadata"] = message.said["metadata"]
    return found


def _ok(body: Mapping[str, Any]) -> Reply:
    return Reply(200, json.dumps({"ok": True, **body}).encode(), JSON)


def _arguments(seen: Seen) -> dict[str, Any]:
    """Read arguments as Slack does: JSON where the type says so, else a form, and those of the address."""
    if seen.headers.get("content-type", "").startswith("application/json"):
        parsed = json.loads(seen.body)
        assert isinstance(parsed, dict)
        return parsed
    return {unquote_plus(name): value for name, value in seen.params}
