"""Where a source is and how it is authenticated: from configuration only, secrets kept out of sight."""

from __future__ import annotations

import base64
import re
import ssl
from pathlib import Path
from typing import Annotated, Literal, Self, assert_never

import httpx2
from pydantic import Field, SecretStr, field_validator, model_validator

from inquest import address
from inquest.domain.value import Value
from inquest.errors import ConfigurationError, UnreadableFile
from inquest.files import read_file

CONNECT_TIMEOUT_MS = 3_000
MAX_CA_BYTES = 4 * 1024**2
"""A bundle of every public authority has a fifth of a mebibyte."""
MAX_CONCURRENT = 8
"""Requests of one connector at a time: as many as one investigation runs calls at once."""

_HEADER_NAME = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_|~-]{1,64}\Z")
_FRAMING = frozenset({
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect",
    "host", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
})  # fmt: skip
"""Headers that are the transport's own: another value would move, cut or mix up its requests."""
TENANT_HEADERS = frozenset({"accountid", "projectid", "thanos-tenant", "x-scope-orgid"})
"""Headers that say whose data is asked for, in lower case: a name that stands in the data too, and no secret."""
_HEADER_VALUE = re.compile(r"^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\Z")


class Anonymous(Value):
    """No credential."""

    kind: Literal["anonymous"] = "anonymous"


class Bearer(Value):
    """`Authorization: Bearer TOKEN`."""

    kind: Literal["bearer"] = "bearer"
    token: SecretStr


class Basic(Value):
    """`Authorization: Basic base64(username:password)`."""

    kind: Literal["basic"] = "basic"
    username: str
    password: SecretStr


class HeaderToken(Value):
    """A token in a header of the vendor's own, such as GitLab's PRIVATE-TOKEN."""

    kind: Literal["header"] = "header"
    header: str
    token: SecretStr


Credential = Annotated[Anonymous | Bearer | Basic | HeaderToken, Field(discriminator="kind")]


def secret_values(credential: Credential) -> tuple[str, ...]:
    """Give every text that must never be shown: the redactor matches them exactly."""
    match credential:
        case Anonymous():
            return ()
        case Bearer(token=token) | HeaderToken(token=token):
            return (token.get_secret_value(),)
        case Basic(password=password):
            return (password.get_secret_value(), _basic(credential))


def credential_header(credential: Credential) -> tuple[tuple[str, str], ...]:
    """Give the headers that authenticate a request. Raises ConfigurationError without the value."""
    match credential:
        case Anonymous():
            return ()
        case Bearer(token=token):
            name, value = "Authorization", f"Bearer {token.get_secret_value()}"
        case Basic():
            name, value = "Authorization", f"Basic {_basic(credential)}"
        case HeaderToken(header=header, token=token):
            name, value = header, token.get_secret_value()
        case unknown:
            assert_never(unknown)
    if not _HEADER_NAME.match(name) or not _HEADER_VALUE.match(value):
        msg = f"the {credential.kind} credential cannot be sent: it is empty, or holds a line end or a non-ASCII character"
        raise ConfigurationError(msg)
    return ((name, value),)


def _basic(credential: Basic) -> str:
    pair = f"{credential.username}:{credential.password.get_secret_value()}"
    return base64.b64encode(pair.encode()).decode()


class Endpoint(Value):
    """The one place that a transport may talk to: scheme, host, port and path prefix are all pinned.

    `headers` are constant and not secret, such as {"X-Scope-OrgID": "shop"}; the values of `secret_headers` are never
    shown.
    """

    base_url: str
    ca_file: str | None = None
    connect_timeout_ms: int = Field(default=CONNECT_TIMEOUT_MS, gt=0, le=30_000)
    max_concurrent: int = Field(default=MAX_CONCURRENT, gt=0, le=64)
    headers: dict[str, str] = Field(default_factory=dict)
    secret_headers: dict[str, SecretStr] = Field(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _pinned(cls, url: str) -> str:
        """Take scheme://host[:port][/prefix] and nothing else. The refusal does not repeat the URL."""
        pinned = address.plain(url)
        if pinned is None:
            raise ValueError(address.WRITE_SO)
        return pinned

    @model_validator(mode="after")
    def _sendable(self) -> Self:
        for name, value in self.headers.items():
            if not _HEADER_NAME.match(name) or not _HEADER_VALUE.match(value):
                msg = f"the header {name!r} cannot be sent"
                raise ValueError(msg)
        for name, secret in self.secret_headers.items():
            if not _HEADER_NAME.match(name) or not _HEADER_VALUE.match(secret.get_secret_value()):
                msg = f"the header {name!r} cannot be sent"
                raise ValueError(msg)
            if name.lower() in _FRAMING:
                msg = f"the header {name!r} is the transport's own"
                raise ValueError(msg)
        return self


def tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """Give the context that verifies the source, against `ca_file` where one is given.

    Neither SSL_CERT_FILE nor SSLKEYLOGFILE of the environment has a say in it. Raises ConfigurationError when the file cannot be read.
    """
    if endpoint.base_url.startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used: the scheme is pinned; it trusts nobody
    if endpoint.ca_file is None:
        return httpx2.create_ssl_context(trust_env=False)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        read_file(Path(endpoint.ca_file), most=MAX_CA_BYTES)  # a pipe would never be read to its end
        context.load_verify_locations(cafile=endpoint.ca_file)
    except (UnreadableFile, OSError, ssl.SSLError) as error:
        msg = f"ca_file {endpoint.ca_file}: no certificates can be read from it"
        raise ConfigurationError(msg) from error
    return context
