"""Addresses that an operator writes: scheme://host[:port][/prefix] and nothing else. Pure."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import urlsplit

WRITE_SO = "write http(s)://host[:port][/path], without credentials or a query"
"""What whoever wrote another address is told. It does not repeat the address: a password may be in it."""
_HOST = re.compile(r"^[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?\Z")
_PREFIX = re.compile(r"^(?:/[A-Za-z0-9._~-]+)*\Z")


def plain(url: str) -> str | None:
    """Give `url` in its one form, without a closing slash; None for what is no plain address."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # a bracket without its other half, a port that is none
        return None
    if parts.scheme not in {"http", "https"} or "?" in url or "#" in url or "@" in parts.netloc:
        return None
    if " " in url or not url.isprintable():  # urlsplit drops tabs and line ends without a word
        return None
    prefix = parts.path.rstrip("/")
    if not _PREFIX.match(prefix) or any(segment in {".", ".."} for segment in prefix.split("/")):
        return None
    host = _host(parts.hostname or "")
    if host is None or port == 0:
        return None
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{prefix}"


def _host(host: str) -> str | None:
    if "%" in host:
        return None  # a zone is of one machine
    if ":" not in host:
        return host if _HOST.match(host) and ".." not in host else None
    try:
        IPv6Address(host)
    except AddressValueError:
        return None
    return f"[{host}]"


def checked(url: str) -> str:
    """Give `url` as it was written. Raises ValueError saying how one is written."""
    if url and plain(url) is None:
        raise ValueError(WRITE_SO)
    return url
