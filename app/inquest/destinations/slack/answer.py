"""One answer of Slack, read whole under a cap, in the shape that slack-sdk reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from inquest.domain.value import Json

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""A page of a channel's history: 100 messages of at most 40,000 characters, and their blocks."""


@dataclass(frozen=True)
class Answer:
    """Status, headers and body. Whatever type it names, it is read as JSON: slack-sdk breaks on other kinds."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    content_type: str = "application/json"

    async def read(self) -> bytes:
        """Give the body."""
        return self.body

    async def text(self) -> str:
        """Give the body as text."""
        return self.body.decode("utf-8", "replace")

    async def json(self) -> dict[str, Json]:
        """Give the body as a JSON object. Raises JSONDecodeError for anything else."""
        text = self.body.decode("utf-8", "replace")
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
            raise json.JSONDecodeError("no JSON", text, 0) from error
        if not isinstance(parsed, dict):
            raise json.JSONDecodeError("no object", text, 0)
        return parsed


async def read(response: aiohttp.ClientResponse) -> Answer:
    """Read a whole answer. Raises ClientPayloadError for one over the cap."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            msg = "the answer is larger than any of Slack's"
            raise aiohttp.ClientPayloadError(msg)
    return Answer(response.status, response.headers, bytes(body))
