"""Signed cursors: a page can only be asked for as a source offered it to this very query (checklist 18-20)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, field

from pydantic import Field, ValidationError

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.observation import Context, Query
from inquest.domain.value import Value

MAX_CURSOR_CHARS = 4_096
MAX_PROVIDER_CURSOR_CHARS = 2_048
"""A provider's longer cursor is not handed on: the answer is partial, and says so."""
_MAC_BYTES = 32


class PageCursor(Value):
    """Where a page begins. `provider` is the source's own cursor, kept byte for byte and never read by us.

    `page` is 1-based and names the page that this cursor fetches; `bytes_used` is what the pages before it
    have shown.
    """

    provider: str = Field(max_length=MAX_PROVIDER_CURSOR_CHARS)
    page: int = Field(ge=2)
    bytes_used: int = Field(ge=0)


@dataclass(frozen=True, slots=True)
class CursorKey:
    """The key of all cursors of an installation; derived from its seed, never stored or shown."""

    secret: bytes = field(repr=False)

    def seal(self, query: Query, context: Context, cursor: PageCursor) -> str:
        """Write `cursor` so that only `query`, asked again under `context`, can use it."""
        body = canonical_json(cursor.model_dump(mode="json"))
        return base64.urlsafe_b64encode(self._mac(query, context, body) + body).decode("ascii")

    def open(self, query: Query, context: Context, token: str) -> PageCursor | None:
        """Read what `seal` wrote; None for a changed byte, another query, another context or another key."""
        if len(token) > MAX_CURSOR_CHARS:
            return None
        try:
            raw = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
            cursor = PageCursor.parse(raw[_MAC_BYTES:])
        except (UnicodeEncodeError, binascii.Error, ValidationError):
            return None
        # Compared as written: base64 can spell the same bytes in several ways.
        return cursor if hmac.compare_digest(self.seal(query, context, cursor).encode(), token.encode()) else None

    def _mac(self, query: Query, context: Context, body: bytes) -> bytes:
        asked = json.dumps([query.fingerprint(), digest_of(canonical_json(context.model_dump(mode="json")))])
        return hmac.new(self.secret, asked.encode("ascii") + b"\0" + body, hashlib.sha256).digest()
