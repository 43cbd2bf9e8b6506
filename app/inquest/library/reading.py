"""One read of one source, as a host asks it."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from inquest.domain.observation import Context, Outcome, Query
from inquest.ports import Connector
from inquest.telemetry import log, report_error
from inquest.wire import execute


async def execute_read(
    connector: Connector,
    context: Context,
    query: Query | Mapping[str, object],
    *,
    contents: MutableMapping[str, bytes] | None = None,
) -> Outcome:
    """Ask one page of one tool of `connector`, and give what came of it: ok, partial or error.

    `context` is who asks: it must be the connector's own, else nothing is sent and the outcome is
    context_mismatch. Loose JSON is read as a query, and refused as invalid_query where it is none. What an
    observation shows is bounded by the query's budget; `contents`, where given, receives the full normalised and
    redacted content of each, by its digest.

    Never raises for the source's failure or a bug of the connector (it is logged by its type, and is one of the
    ten codes); CancelledError passes. No retry is made.
    """

    def unexpected(bug: Exception) -> None:
        log().error("connector_bug", connector=connector.name, error=type(bug).__name__)
        report_error(bug, tags={"connector": connector.name})

    reading = await execute.execute_read(connector, context, query, unexpected=unexpected)
    if contents is not None:
        contents.update(reading.contents)
    return reading.outcome
