"""Who may use the operator's API: whoever has the one token; without a token, whoever reaches loopback."""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.security.utils import get_authorization_scheme_param

from inquest.errors import ConfigurationError, Unauthorized

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SecretStr


def operator_only(token: SecretStr | None) -> Callable[[Request], None]:
    """Give the dependency that lets an operator pass. It raises Unauthorized, which becomes a 401.

    Without a token no credential is asked: `check_bind` has made sure that only this machine can connect.
    A name that is not this machine's is then refused: a page in a browser here may have pointed its own
    name at loopback (DNS rebinding), and would read every report. So is what a page from elsewhere sends
    here by our own name: it cannot read the answer, and does not need to, in order to delete.
    """

    def with_token(request: Request) -> None:
        scheme, given = get_authorization_scheme_param(request.headers.get("authorization"))
        wanted = "" if token is None else token.get_secret_value()
        same = hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
        if scheme.lower() != "bearer" or not wanted or not same:
            msg = "this route needs the operator's bearer token"
            raise Unauthorized(msg)

    def on_this_machine(request: Request) -> None:
        if not is_loopback(request.url.hostname or ""):
            msg = "without an operator token this route answers at localhost only, by that name"
            raise Unauthorized(msg)
        origin = request.headers.get("origin")
        if origin is not None and not is_loopback(_host_of(origin)):
            msg = "without an operator token this route takes nothing that a page from elsewhere sends"
            raise Unauthorized(msg)

    return on_this_machine if token is None else with_token


def check_bind(
    host: str, *, token: SecretStr | None, open_intakes: tuple[str, ...] = (), variable: str = "INQUEST_HOST"
) -> None:
    """Refuse an address that others can reach while something is open to anybody. `variable` is what named it.

    Raises ConfigurationError naming what to set.
    """
    if is_loopback(host):
        return
    if token is None:
        msg = (
            f"{variable}: {host} is not a loopback address, and there is no operator token; "
            "set INQUEST_OPERATOR_TOKEN or INQUEST_OPERATOR_TOKEN_FILE, or bind 127.0.0.1"
        )
        raise ConfigurationError(msg)
    if open_intakes:
        msg = (
            f"{variable}: {host} is not a loopback address, and the intake {open_intakes[0]!r} takes posts from "
            "anybody (insecure_without_auth); give it auth, or bind 127.0.0.1"
        )
        raise ConfigurationError(msg)


def _host_of(origin: str) -> str:
    """Give the host of an Origin header, "" where it has none, as in "null"."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Say whether `host`, an address or a name, is this machine for itself alone."""
    if host.lower() in {"localhost", "localhost."}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
