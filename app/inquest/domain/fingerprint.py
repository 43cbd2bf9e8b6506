"""What makes two effects the same request (checklist 59)."""

from __future__ import annotations

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.observation import Context, Query
from inquest.domain.transcript import ModelRequest


def query_fingerprint(query: Query, context: Context) -> str:
    """Give the digest over the query (tool, arguments, range, budget, cursor) and who asks it."""
    return digest_of(canonical_json([query.model_dump(mode="json"), context.model_dump(mode="json")]))


def model_fingerprint(request: ModelRequest) -> str:
    """Give the digest over the whole request, its model list included."""
    return request.canonical_digest()
