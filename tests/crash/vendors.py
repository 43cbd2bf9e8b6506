"""The vendors of one run on loopback: a model provider, Prometheus, Slack and GitLab, each with its own journal.

They live in the runner's process, which nobody kills: what they have noted is what was really sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from bench.script import DIAGNOSIS
from bench.stand_in import COMPLETIONS, TOOL, prometheus
from tests.fakes import gitlab_notes, slack
from tests.fakes.gitlab_notes import FakeGitlabNotes
from tests.fakes.loopback import Act, Handler, Reply, Seen, loopback
from tests.fakes.slack import FakeSlack

CALLS = (3, 2)
"""How many calls each turn makes; the turn after these is the last one, and makes none."""
MODEL_HELD_S, NOTE_HELD_S = 20.0, 1.5
"""Well within the time that a model's call, and a send with the nursery's clocks, may take."""
TURNS = len(CALLS) + 1
ALERT = re.compile(r"CrashMatrix\d+")
_OURS = re.compile(r'crash_series\{.*alert="(?P<alert>\w+)".*turn="(?P<turn>\d)".*call="(?P<call>\d)"')


class Held:
    """A door that somebody may close: who comes to it waits until it is opened, and that somebody came is seen.

    It opens by itself for who has waited `most_s`: a request that is done long after its sender gave it up is a
    trouble of its own, which no sender can find.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._open = asyncio.Event()
        self._open.set()
        self.someone_came = asyncio.Event()

    def close(self) -> None:
        """Let everybody wait from now on."""
        self._open.clear()

    def open(self) -> None:
        """Let everybody through."""
        self._open.set()

    async def pass_(self) -> None:
        """Wait until it is open."""
        if not self._open.is_set():
            self.someone_came.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._open.wait(), self._most_s)


@dataclass
class Vendors:
    """All of them, and what they were asked."""

    slack: FakeSlack = field(default_factory=lambda: FakeSlack(seconds_a_message=0.0))
    gitlab: FakeGitlabNotes = field(default_factory=lambda: FakeGitlabNotes(notes_a_minute=10_000))
    asked_models: dict[str, Counter[str]] = field(default_factory=dict)
    """By alert: how often each request came, by its digest."""
    asked_series: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each call of a turn came, by alert and effect key."""
    at_model: Held = field(default_factory=lambda: Held(MODEL_HELD_S))
    at_notes: Held = field(default_factory=lambda: Held(NOTE_HELD_S))
    sources_url: str = ""
    slack_url: str = ""
    gitlab_url: str = ""

    def sections(self) -> dict[str, Any]:
        """Give the sections of a workspace that lead here."""
        return {
            "integrations": {"prometheus": {"type": "prometheus", "url": self.sources_url}},
            "model": {
                "names": ["openai/scripted"],
                "base_url": f"{self.sources_url}/v1",
                "context_window_tokens": 200_000,
                "price": {"input_usd": 1.0, "output_usd": 10.0},
            },
            "destinations": {
                "reports": {"type": "folder", "path": "reports"},
                "slack": {
                    "type": "slack",
                    "channel": slack.CHANNEL,
                    "api_url": f"{self.slack_url}/api",
                    "token_env": "SLACK_TOKEN",
                },
                "notes": {
                    "type": "gitlab_note",
                    "url": self.gitlab_url,
                    "project": gitlab_notes.PROJECT,
                    "issue": gitlab_notes.ISSUE,
                    "token_env": "NOTES_TOKEN",
                },
            },
        }

    async def _answer_source(self, seen: Seen) -> Reply:
        """Answer as the model provider or as Prometheus."""
        if seen.path != COMPLETIONS:
            found = _OURS.search(seen.param("query"))
            if found is not None:
                self.asked_series[found["alert"], f"turn/{found['turn']}/call/{found['call']}"] += 1
            return Reply(body=json.dumps({"status": "success", "data": prometheus(seen)}).encode())
        found = ALERT.search(seen.body.decode())
        assert found is not None
        digest = hashlib.sha256(seen.body).hexdigest()
        self.asked_models.setdefault(found[0], Counter())[digest] += 1
        await self.at_model.pass_()
        return Reply(body=json.dumps(completion(json.loads(seen.body), found[0])).encode())

    async def _answer_gitlab(self, seen: Seen) -> Act:
        if seen.method == "POST":
            await self.at_notes.pass_()
        return self.gitlab(seen)


def completion(asked: Mapping[str, Any], alert: str) -> dict[str, Any]:
    """Write the next reply of the script: which one is the number of its own replies in the conversation."""
    turn = sum(message["role"] == "assistant" for message in asked["messages"]) + 1
    count = CALLS[turn - 1] if asked.get("tools") and turn < TURNS else 0
    calls = [
        {
            "id": f"call_{turn}_{number}",
            "type": "function",
            "function": {"name": TOOL, "arguments": json.dumps({"expression": _series(alert, turn, number)})},
        }
        for number in range(1, count + 1)
    ]
    message = {"role": "assistant", "content": None if calls else DIAGNOSIS, "tool_calls": calls or None}
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 50, "total_tokens": 1_050},
    }


def _series(alert: str, turn: int, call: int) -> str:
    return f'crash_series{{alert="{alert}",turn="{turn}",call="{call}"}}'


@asynccontextmanager
async def vendors() -> AsyncIterator[Vendors]:
    """Serve them for the length of a `with`."""
    made = Vendors()
    answers: dict[str, Handler] = {
        "sources_url": made._answer_source,
        "slack_url": made.slack,
        "gitlab_url": made._answer_gitlab,
    }
    async with AsyncExitStack() as servers:
        for name, answer in answers.items():
            setattr(made, name, (await servers.enter_async_context(loopback(answer))).url)
        yield made
