"""Who may use the operator's API: whoever has the one token; without a token, whoever reaches loopback."""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING

from fastapi import Request
from fastapi.security.utils import get_authorization_scheme_param

from inquest.errors import ConfigurationError, Unauthorized

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SecretStr


def operator_only(token: SecretStr | None) -> Callable[[Request], None]:
    """Give the dependency that lets an operator pass. It raises Unauthorized, which becomes a 401.

    Without a token nothing is asked: `check_bind` has made sure that only this machine can connect.
    """

    def check(request: Request) -> None:
        if token is None:
            return
        scheme, given = get_authorization_scheme_param(request.headers.get("authorization"))
        wanted = token.get_secret_value().encode()
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode("utf-8", "replace"), wanted):
            msg = "this route needs the operator's bearer token"
            raise Unauthorized(msg)

    return check


def check_bind(host: str, *, token: SecretStr | None, open_intakes: tuple[str, ...]) -> None:
    """Refuse an address that others can reach while something is open to anybody.

    Raises ConfigurationError naming what to set.
    """
    if _is_loopback(host):
        return
    if token is None:
        msg = (
            f"INQUEST_HOST: {host} is not a loopback address, and there is no operator token; "
            "set INQUEST_OPERATOR_TOKEN or INQUEST_OPERATOR_TOKEN_FILE, or bind 127.0.0.1"
        )
        raise ConfigurationError(msg)
    if open_intakes:
        msg = (
            f"INQUEST_HOST: {host} is not a loopback address, and the intake {open_intakes[0]!r} takes posts from "
            "anybody (insecure_without_auth); give it auth, or bind 127.0.0.1"
        )
        raise ConfigurationError(msg)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
