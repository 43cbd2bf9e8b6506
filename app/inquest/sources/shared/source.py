"""What a vendor file offers: three pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from inquest.domain.alert import Post
from inquest.domain.intake import Auth

Headers = Mapping[str, tuple[str, ...]]
"""Request headers by lower-case name; every value that was sent, in order, decoded as latin-1."""


class Source(Protocol):
    """One vendor's way of posting alerts. A module with these functions is one."""

    def authorize(self, headers: Headers, keys: Auth) -> None:
        """Check what the headers alone can prove, before the body is read. Raises Unauthorized."""

    def verify(self, headers: Headers, body: bytes, keys: Auth) -> None:
        """Check the sender's proof over `body` as sent, before it is inflated or parsed. Raises Unauthorized."""

    def parse(self, body: bytes) -> Post:
        """Read an inflated body. Total: what is not understood is quarantined, with the reason."""
