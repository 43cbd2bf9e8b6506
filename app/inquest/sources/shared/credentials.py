"""Credentials in headers, compared in constant time over bytes."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterable
from typing import assert_never

from inquest.domain.intake import Auth, BasicAuth, BearerAuth, HeaderAuth, NoAuth
from inquest.errors import Unauthorized
from inquest.sources.shared.source import Headers


def check_authorization(headers: Headers, keys: Auth) -> None:
    """Let the request pass when its Authorization header, or the one that `keys` names, holds one of them.

    Raises Unauthorized.

    Every key is compared, so that the time says nothing about which one came close.
    """
    match keys:
        case NoAuth():
            return
        case BearerAuth(tokens=tokens):
            given = _credentials(headers, "bearer")
            expected: Iterable[bytes] = (token.get_secret_value().encode() for token in tokens)
        case BasicAuth(username=username, passwords=passwords):
            given = _decoded(_credentials(headers, "basic"))
            expected = (f"{username}:{password.get_secret_value()}".encode() for password in passwords)
        case HeaderAuth(header=header, tokens=tokens):
            given = only(headers, header.lower()).strip(" \t").encode("latin-1", "replace")
            expected = (token.get_secret_value().encode() for token in tokens)
        case _:
            assert_never(keys)
    matches = [hmac.compare_digest(given, key) for key in expected]
    if not any(matches):
        raise Unauthorized("the credentials are wrong")


def only(headers: Headers, name: str) -> str:
    """Give the one value of a header. Raises Unauthorized when it is missing or sent twice."""
    match headers.get(name, ()):
        case (value,):
            return value
        case ():
            raise Unauthorized(f"the {name} header is missing")
        case _:
            raise Unauthorized(f"the {name} header is there more than once")


def _credentials(headers: Headers, scheme: str) -> bytes:
    """Give what follows the scheme (RFC 9110, 11.6.2), as the bytes that were sent."""
    said, _, credentials = only(headers, "authorization").partition(" ")
    if said.lower() != scheme:
        raise Unauthorized(f"the authorization header is not of scheme {scheme}")
    return credentials.strip(" ").encode("latin-1", "replace")


def _decoded(credentials: bytes) -> bytes:
    try:
        return base64.b64decode(credentials, validate=True)
    except binascii.Error:
        raise Unauthorized("the authorization header is not base64") from None
