"""The one bounded HTTP door for evidence.

A `Transport` talks to one endpoint of the configuration and to nothing else: what a caller gives are path
segments and parameters, never a URL. GET anywhere under the prefix, POST only to the query endpoints that
its connector names. No redirects, no cookies, no proxies, nothing from the environment. A vendor's failure
is a value; foreign exceptions are mapped here, once, and their text (which may hold a URL, a header or the
provider's words) goes no further.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Collection, Mapping, Sequence
from typing import Literal
from urllib.parse import quote, urlencode

import httpx2

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.value import Json
from inquest.errors import ConfigurationError
from inquest.wire.answer import KEPT_HEADERS, Answer
from inquest.wire.endpoint import Anonymous, Credential, Endpoint, credential_header, secret_values, tls_context
from inquest.wire.inflate import BrokenEncoding, decoder_for

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""The transport cap of design 7, over the inflated bytes."""
MAX_URL_BYTES = 8_192
"""A longer target is refused by many servers and proxies; the caller posts, or asks for less."""
KEEP_ALIVE_S = 30.0

Segments = tuple[str, ...]
"""A path below the prefix, one part each; a part is percent-encoded whole, a slash in it too."""
Pairs = Sequence[tuple[str, str]]
"""Parameters in order; a name may repeat."""


class Transport:
    """The connection of one connector to its one endpoint. May be used by many tasks of one event loop."""

    def __init__(
        self,
        endpoint: Endpoint,
        credential: Credential | None = None,
        *,
        post_to: Collection[Segments] = (),
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        """Open nothing yet. Raises ConfigurationError for a credential or CA file that cannot be used."""
        self._endpoint = endpoint
        self._base = httpx2.URL(endpoint.base_url)
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": "inquest",
            **endpoint.headers,
            **_secret(endpoint, credential or Anonymous()),
        }
        hidden = (secret.get_secret_value() for secret in endpoint.secret_headers.values())
        self._secrets = (*secret_values(credential or Anonymous()), *hidden)
        self._post_to = frozenset(post_to)
        self._max_answer_bytes = max_answer_bytes
        self._slots = asyncio.Semaphore(endpoint.max_concurrent)
        self._pool = httpx2.AsyncHTTPTransport(
            verify=tls_context(endpoint),
            trust_env=False,
            limits=httpx2.Limits(
                max_connections=endpoint.max_concurrent,
                max_keepalive_connections=endpoint.max_concurrent,
                keepalive_expiry=KEEP_ALIVE_S,
            ),
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Give every text of its credential and its secret headers that must never be shown."""
        return self._secrets

    def sends(self, headers: Mapping[str, str]) -> bool:
        """Say whether each of `headers` goes out with every request as it stands, once."""
        sent = [(name.lower(), value) for name, value in self._headers.items()]
        return all(
            [one for one in sent if one[0] == name.lower()] == [(name.lower(), headers[name])] for name in headers
        )

    def may_post_to(self, paths: Collection[Segments]) -> bool:
        """Say whether all of `paths` may be posted to."""
        return self._post_to.issuperset(paths)

    async def get(self, path: Segments, params: Pairs = (), *, timeout_s: float) -> Answer | Failure:
        """Ask for `path`; the wait for a slot, the connection and the whole body count in `timeout_s`."""
        return await self._ask("GET", path, params, b"", "", timeout_s)

    async def post_form(self, path: Segments, form: Pairs, *, timeout_s: float) -> Answer | Failure:
        """Post `form` to a query endpoint of this connector."""
        body = urlencode(form).encode("ascii")
        return await self._ask("POST", path, (), body, "application/x-www-form-urlencoded", timeout_s)

    async def post_json(self, path: Segments, body: Json, *, timeout_s: float) -> Answer | Failure:
        """Post JSON to a query endpoint of this connector."""
        raw = json.dumps(body, ensure_ascii=True, allow_nan=False).encode("ascii")
        return await self._ask("POST", path, (), raw, "application/json", timeout_s)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    async def _ask(
        self, method: Literal["GET", "POST"], path: Segments, params: Pairs, body: bytes, kind: str, timeout_s: float
    ) -> Answer | Failure:
        target = self._target(path, params)
        if isinstance(target, Failure):
            return target
        if method == "POST" and path not in self._post_to:
            return failure(FailureCode.CAPABILITY_DENIED, "POST is only for the query endpoints of a connector")
        headers = self._headers if method == "GET" else {**self._headers, "Content-Type": kind}
        wait = {"connect": min(self._endpoint.connect_timeout_ms / 1000, timeout_s)}
        wait |= dict.fromkeys(("read", "write", "pool"), timeout_s)
        request = httpx2.Request(method, target, headers=headers, content=body or None, extensions={"timeout": wait})
        try:
            async with asyncio.timeout(timeout_s), self._slots:
                return await self._exchange(request)
        except (TimeoutError, httpx2.TimeoutException):
            return failure(FailureCode.TIMEOUT, f"no whole answer within {timeout_s:g} s")
        except BrokenEncoding:
            return failure(FailureCode.MALFORMED_RESULT, "the answer is not in the encoding that it names")
        except (httpx2.HTTPError, OSError) as error:
            return failure(FailureCode.PROVIDER_ERROR, _why(error))

    def _target(self, path: Segments, params: Pairs) -> httpx2.URL | Failure:
        """Build the URL below the pinned prefix; nothing in `path` or `params` can change its host."""
        if any(part in {"", ".", ".."} for part in path):
            return failure(FailureCode.INVALID_QUERY, "a part of the path is empty or made of dots")
        try:
            below = "/".join(quote(part, safe="") for part in path)
            query = urlencode(params)
        except UnicodeEncodeError:
            return failure(FailureCode.INVALID_QUERY, "an argument is not Unicode text")
        raw = (
            self._base.raw_path.rstrip(b"/")
            + b"/"
            + below.encode("ascii")
            + (f"?{query}".encode("ascii") if query else b"")
        )
        if len(raw) > MAX_URL_BYTES:
            return failure(FailureCode.INVALID_QUERY, f"the request is longer than {MAX_URL_BYTES} bytes")
        return self._base.copy_with(raw_path=raw)

    async def _exchange(self, request: httpx2.Request) -> Answer | Failure:
        response = await self._pool.handle_async_request(request)
        try:
            decoder = decoder_for(response.headers.get("content-encoding", ""))
            if decoder is None:
                return failure(FailureCode.MALFORMED_RESULT, "the answer has an encoding that was not asked for")
            body, cut = bytearray(), False
            async for chunk in response.aiter_raw():
                for piece in decoder.feed(chunk):
                    body += piece
                    if cut := len(body) > self._max_answer_bytes:
                        break
                if cut:
                    break
            if cut:
                del body[self._max_answer_bytes :]
            else:
                decoder.finish()
            kept = {name: value for name, value in response.headers.items() if name.lower() in KEPT_HEADERS}
            return Answer(status=response.status_code, headers=kept, body=bytes(body), cut=cut)
        finally:
            await response.aclose()


def _secret(endpoint: Endpoint, credential: Credential) -> dict[str, str]:
    """Give the headers that are never shown. Raises ConfigurationError where two ways give one of them."""
    headers = {name: value.get_secret_value() for name, value in endpoint.secret_headers.items()}
    ours = dict(credential_header(credential))
    twice = {name.lower() for name in ours} & {name.lower() for name in headers}
    if twice:
        msg = f"the header {min(twice)} is given by the credential and by the headers: leave one out"
        raise ConfigurationError(msg)
    return {**headers, **ours}


def _why(error: BaseException) -> str:
    """Say in our words why there is no answer, from the types in the chain of causes, never from their text."""
    seen: BaseException | None = error
    while seen is not None:
        match seen:
            case ssl.SSLCertVerificationError():
                return "TLS: the certificate of the source is not accepted"
            case ssl.SSLError():
                return "TLS: the handshake failed"
            case socket.gaierror():
                return "the name of the source does not resolve"
            case ConnectionRefusedError():
                return "the source refuses connections"
            case httpx2.RemoteProtocolError():
                return "the source broke off or speaks no HTTP"
            case _:
                seen = seen.__cause__ or seen.__context__
    return "the connection to the source failed"
