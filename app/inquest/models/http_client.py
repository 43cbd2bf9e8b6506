"""The HTTP client that the models' SDK is given: one host, no redirects, no proxies, a byte cap."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
from typing_extensions import override

from inquest.crash import CrashPoint, is_watched, reached
from inquest.models.failures import model_error
from inquest.ports import ModelFailure

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""One answer of a model, inflated or not: far above any legal reply, far below what hurts."""
CONNECT_TIMEOUT_S = 10.0
MAX_CONNECTIONS = 32
PROVIDER_HOSTS = {
    "anthropic": "api.anthropic.com",
    "deepseek": "api.deepseek.com",
    "gemini": "generativelanguage.googleapis.com",
    "groq": "api.groq.com",
    "mistral": "api.mistral.ai",
    "openai": "api.openai.com",
    "openrouter": "openrouter.ai",
    "xai": "api.x.ai",
}
"""Where a provider is asked when no base_url is configured: no other host is ever connected to."""


class _CappedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._inner:
            read += len(chunk)
            if read > MAX_ANSWER_BYTES:
                raise model_error(ModelFailure.MALFORMED)
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


async def _note_sent(event: str, _about: object) -> None:
    """Take note of a request that is on its way whole, as httpcore tells (its `trace` extension)."""
    if event == "http11.send_request_body.complete":
        reached(CrashPoint.C08)


class PinnedTransport(httpx.AsyncBaseTransport):
    """Sends to `host` (with its port, where it has one) only."""

    def __init__(self, host: str) -> None:
        limits = httpx.Limits(max_connections=MAX_CONNECTIONS)
        self._inner = httpx.AsyncHTTPTransport(retries=0, limits=limits, trust_env=False)
        self._host = host

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.netloc.decode() != self._host:
            raise model_error(ModelFailure.BAD_REQUEST)
        # An identity body: what is counted is what is parsed.
        request.headers["accept-encoding"] = "identity"
        if is_watched():
            request.extensions["trace"] = _note_sent
        response = await self._inner.handle_async_request(request)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _CappedStream(response.stream)
        return response

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


def pinned_client(base_url: str) -> httpx.AsyncClient:
    """Give the client for one process; the SDK adds its own total timeout, which we bound again outside."""
    return httpx.AsyncClient(
        transport=PinnedTransport(httpx.URL(base_url).netloc.decode()),
        follow_redirects=False,
        trust_env=False,
        timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
    )
