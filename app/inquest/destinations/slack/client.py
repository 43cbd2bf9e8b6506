"""Slack's Web API through slack-sdk, pinned: one address, no redirects, no proxy of the environment, no retries.

What Slack answers becomes a value here, once; its words, beside the code of an error, go no further.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
from pydantic import SecretStr
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from inquest.crash import CrashPoint, reached
from inquest.destinations.slack.answer import Answer, read
from inquest.destinations.slack.refusals import refused
from inquest.domain.delivery import DeliveryFailed
from inquest.domain.value import Json

CONNECT_TIMEOUT_S = 3.0

Call = Callable[[AsyncWebClient], Awaitable[AsyncSlackResponse]]


class SlackApi:
    """One workspace of Slack under one token. Connections live as long as one call."""

    def __init__(self, url: str, token: SecretStr) -> None:
        self._url = url.rstrip("/") + "/"
        self._token = token

    async def call(self, ask: Call, *, must_end_at: float) -> dict[str, Json] | DeliveryFailed:
        """Make one call; `must_end_at` is a moment of the monotonic clock, after which none is begun."""
        left_s = must_end_at - time.monotonic()
        if left_s <= 0:
            return DeliveryFailed(reason="no time was left to ask Slack", retry=True)
        try:
            async with asyncio.timeout(left_s), self._client(left_s) as client:
                answer = await ask(client)
                data = answer.data
                return data if isinstance(data, dict) else _broke("Slack's answer is no object")
        except SlackApiError as error:
            return refused(error)
        except aiohttp.ClientConnectorError:
            return DeliveryFailed(reason="Slack cannot be reached", retry=True)
        except (TimeoutError, aiohttp.ClientError, OSError):
            return _broke("Slack gave no whole answer")

    @asynccontextmanager
    async def _client(self, total_s: float) -> AsyncIterator[AsyncWebClient]:
        timeout = aiohttp.ClientTimeout(total=total_s, connect=min(CONNECT_TIMEOUT_S, total_s))
        async with aiohttp.ClientSession(
            timeout=timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=True
        ) as session:
            client = AsyncWebClient(
                token=self._token.get_secret_value(),
                base_url=self._url,
                timeout=int(total_s) + 1,
                session=cast("aiohttp.ClientSession", PinnedSession(session, self._url)),
                retry_handlers=[],
            )
            client.proxy = None  # slack-sdk takes one from the environment
            yield client


class PinnedSession:
    """What slack-sdk asks of a session: requests below one address, without redirects, read under a cap."""

    closed = False

    def __init__(self, inner: aiohttp.ClientSession, url: str) -> None:
        self._inner = inner
        self._url = url

    @asynccontextmanager
    async def request(self, method: str, url: str, **how: Any) -> AsyncIterator[Answer]:  # noqa: ANN401  # slack-sdk's
        """Send one request."""
        if not url.startswith(self._url) or not re.fullmatch(r"[A-Za-z.]+", url.removeprefix(self._url)):
            msg = "not an address of the configured Slack"
            raise aiohttp.InvalidURL(msg)
        async with self._inner.request(method, url, allow_redirects=False, **how) as response:
            reached(CrashPoint.C19 if url.startswith(f"{self._url}chat.") else None)
            yield await read(response)


def _broke(reason: str) -> DeliveryFailed:
    return DeliveryFailed(reason=reason, retry=True, uncertain=True)
