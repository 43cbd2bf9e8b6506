"""Bytes by digest: everything of a workspace that is too large, or too foreign, for an event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inquest.errors import NotFound
from inquest.store.database import Database
from inquest.store.rules import check_contents

_GET = """
select digest, bytes from inquest.content where workspace = %(workspace)s and digest = any (%(digests)s::text[])
"""
_SIZES = """
select digest, octet_length(bytes) as size from inquest.content
where workspace = %(workspace)s and digest = any (%(digests)s::text[])
"""
_PUT = "select inquest.put_contents(%(workspace)s, %(id)s, %(digests)s::text[], %(contents)s::bytea[])"


class PostgresContent:
    """The content store of one workspace."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = workspace

    async def get(self, digests: Sequence[str]) -> dict[str, bytes]:
        """Read stored bytes, in the order asked. Raises NotFound naming the first digest that is missing."""
        stored = await self.found(digests)
        for digest in digests:
            if digest not in stored:
                raise NotFound(f"content {digest}")
        return stored

    async def found(self, digests: Sequence[str]) -> dict[str, bytes]:
        """Read those of the stored bytes that are there, in the order asked."""
        if not digests:
            return {}
        rows = await self._database.rows(_GET, {"workspace": self._workspace, "digests": list(digests)})
        stored = {row.digest: bytes(row.bytes) for row in rows}
        return {digest: stored[digest] for digest in digests if digest in stored}

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """Give the number of bytes of those that are there, without reading them."""
        rows = await self._database.rows(_SIZES, {"workspace": self._workspace, "digests": list(digests)})
        return {row.digest: row.size for row in rows}

    async def put(self, investigation_id: str, contents: Mapping[str, bytes]) -> None:
        """Store bytes by their digests, kept as long as the investigation is. What is there already stays.

        For bytes that no event commits, such as a rendered report. Raises NotFound, InvariantBroken.
        """
        check_contents(contents)
        parameters = {
            "workspace": self._workspace,
            "id": investigation_id,
            "digests": list(contents),
            "contents": list(contents.values()),
        }
        await self._database.value(_PUT, parameters)
