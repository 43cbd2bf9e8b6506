"""A model provider and a Prometheus that answer at once, in one process of their own, for real workers.

`python -m bench.stand_in` prints the port that it listens on. The provider speaks OpenAI's chat completions and follows the script of 20
turns, or with `short` that of 3: which turn it is asked is the number of its own replies in the conversation. GET /answered says
how many completions it gave. Prometheus gives one series.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.installation import HOST, Installation, running, until
from bench.instant_source import POINTS
from bench.script import CONCLUSION, DIAGNOSIS, THREE_TURNS, TWENTY_TURNS, Shape, calls
from inquest.entrypoints.cli.attended import end_with_the_starter
from tests.fakes.loopback import Reply, Seen, loopback

TOOL = "prometheus_query_range"
COMPLETIONS = "/v1/chat/completions"
TOKENS_IN, TOKENS_OUT = 1_000, 50
"""What each completion says that it used."""
_EMPTY: dict[str, object] = {"rules": {"groups": []}, "alerts": {"alerts": []}, "metadata": {}}
"""What Prometheus answers where a list is wrong; elsewhere a list without anything in it."""


def completion(asked: Mapping[str, Any], shape: Shape = TWENTY_TURNS) -> dict[str, object]:
    """Write the next reply of the script to the request `asked`. A request without tools is for the diagnosis."""
    turn = sum(message["role"] == "assistant" for message in asked["messages"]) + 1
    wanted = calls(shape, turn, TOOL) if asked.get("tools") else ()
    text = None if wanted else CONCLUSION if asked.get("tools") else DIAGNOSIS
    message = {
        "role": "assistant",
        "content": text,
        "tool_calls": [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in wanted
        ]
        or None,
    }
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if wanted else "stop"}],
        "usage": {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT},
    }


def prometheus(seen: Seen) -> object:
    """Give the data of Prometheus' answer to `seen`."""
    operation = seen.path.rsplit("/", 1)[-1]
    if operation == "query_range":
        start, step = float(seen.param("start")), float(seen.param("step"))
        count = min(int((float(seen.param("end")) - start) / step) + 1, POINTS)
        values = [[start + number * step, str(number % 17)] for number in range(count)]
        return {"resultType": "matrix", "result": [{"metric": {"__name__": "bench_series"}, "values": values}]}
    if operation == "query":
        return {"resultType": "vector", "result": []}
    return _EMPTY.get(operation, [])


@dataclass
class Both:
    """The two behind one port, and how many completions were given."""

    shape: Shape
    answered: int = 0

    def answer(self, seen: Seen) -> Reply:
        """Answer a request to either."""
        if seen.path == COMPLETIONS:
            self.answered += 1
            return Reply(body=json.dumps(completion(json.loads(seen.body), self.shape)).encode())
        if seen.path == "/answered":
            return Reply(body=str(self.answered).encode())
        return prometheus_answer(seen)


def prometheus_answer(seen: Seen) -> Reply:
    """Answer as Prometheus does."""
    return Reply(body=json.dumps({"status": "success", "data": prometheus(seen)}).encode())


async def serve(shape: Shape) -> None:
    """Serve until the process is ended, or whoever started it is gone."""
    end_with_the_starter()
    async with loopback(Both(shape).answer) as one:
        sys.stdout.write(f"{one.port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


@contextmanager
def watched_by_stand_in(
    one: Installation, *, short: bool = False, input_usd: float = 0, output_usd: float = 0, **section: object
) -> Iterator[str]:
    """Run it for the length of a `with`, as the model and the one source of `one`; gives its URL.

    `section` goes into the workspace beside them; a million tokens cost `input_usd` and `output_usd`.
    """
    script = ["short"] if short else []
    with running("stand_in", [sys.executable, "-m", "bench.stand_in", *script], one.folder, {}) as process:
        until(lambda: process.has_said("\n"), "the stand-in is ready")
        url = f"http://{HOST}:{process.said().strip()}"
        one.configure(
            integrations={"prometheus": {"type": "prometheus", "url": url}},
            model={
                "names": ["openai/scripted"],
                "base_url": f"{url}/v1",
                "context_window_tokens": 200_000,
                "price": {"input_usd": input_usd, "output_usd": output_usd},
            },
            **section,
        )
        yield url


if __name__ == "__main__":
    asyncio.run(serve(THREE_TURNS if "short" in sys.argv[1:] else TWENTY_TURNS))
