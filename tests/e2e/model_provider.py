"""A model provider that speaks OpenAI's chat completions and follows a script, as a process with a journal.

    python -m tests.e2e.model_provider PORT SCRIPT JOURNAL

SCRIPT is a JSON list of replies, each {"content": text} or {"calls": [[tool, arguments], ...]}. Each new
request gets the next one; a request that came before gets the reply that it got then, so that asking again is
seen in JOURNAL and changes nothing else. JOURNAL has a line a request, written before the request is answered.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from tests.e2e.journals import Journal
from tests.fakes.loopback import Reply, Seen, loopback


class Provider:
    """The script, and which request got which of its replies."""

    def __init__(self, script: list[dict[str, Any]], journal: Journal) -> None:
        self._script = script
        self._journal = journal
        self._places: dict[str, int] = {}

    def answer(self, seen: Seen) -> Reply:
        if seen.path == "/ready":
            return Reply()
        if (seen.method, seen.path) != ("POST", "/v1/chat/completions"):
            return Reply(status=404)
        digest = hashlib.sha256(seen.body).hexdigest()
        place = self._places.setdefault(digest, len(self._places))
        asked = json.loads(seen.body)
        self._journal.write(
            request=digest, reply=place + 1, tools=len(asked.get("tools", ())), messages=len(asked["messages"])
        )
        if place >= len(self._script):
            return Reply(status=400, body=b'{"error": {"message": "the script has no more replies"}}')
        return Reply(body=json.dumps(completion(self._script[place], place + 1, asked["model"])).encode())


def completion(said: dict[str, Any], number: int, model: str) -> dict[str, Any]:
    """Write the answer as OpenAI does."""
    calls = [
        {"id": f"call_{number}_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(said.get("calls", ()), start=1)
    ]
    message = {"role": "assistant", "content": said.get("content"), **({"tool_calls": calls} if calls else {})}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000 + number,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 50, "total_tokens": 1_050},
    }


async def main(port: int, provider: Provider) -> None:
    """Serve until the process is ended."""
    async with loopback(provider.answer, port=port):
        await asyncio.Event().wait()


if __name__ == "__main__":
    follows = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    asyncio.run(main(int(sys.argv[1]), Provider(follows, Journal(Path(sys.argv[3])))))
