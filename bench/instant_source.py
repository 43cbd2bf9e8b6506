"""A source that answers at once: one tool, a series of 250 points, everything else as with a real one.

Only the vendor is missing. Its tool is the one of every connector (`wire.read_tool`): arguments are checked,
what comes is redacted, digested and cut as if it had come over the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from inquest.domain.observation import Context, Query
from inquest.domain.signals import Matrix, Series
from inquest.domain.tool import ToolSpec
from inquest.domain.value import epoch_ms
from inquest.ports import Tool
from inquest.runtime.clock import SystemClock
from inquest.wire.ask import Ask, Page
from inquest.wire.cursor import CursorKey
from inquest.wire.endpoint import Endpoint
from inquest.wire.read_tool import Grounds, ReadTool
from inquest.wire.redaction import Redactor
from inquest.wire.tool_schema import text, tool_schema
from inquest.wire.transport import Transport

TOOL = "instant_query"
POINTS = 250
"""As many as a range query of Prometheus gives at most."""
STEP_MS = 15_000


class InstantSource:
    """One integration with it (ports.Connector)."""

    name = "instant"
    type = "prometheus"

    def __init__(self) -> None:
        self.context = Context(
            issuer="bench", audience=self.name, resource="", tenant="", workspace="default", connector=self.name
        )
        self._transport = Transport(Endpoint(base_url="http://127.0.0.1"))  # what a tool stands on; nothing is sent
        grounds = Grounds(
            context=self.context,
            transport=self._transport,
            clock=SystemClock(),
            cursor_key=CursorKey(bytes(32)),
            redactor=Redactor(),
        )
        about = ToolSpec(
            name=TOOL,
            description="Give a series.",
            parameters=tool_schema({"expression": text("Any expression.")}, required=["expression"]),
            source=self.name,
            signal="metrics",
        )
        self.tools: Sequence[Tool] = (ReadTool(about, grounds, arrange=lambda arguments, _: arguments, fetch=_answer),)

    def link(self, query: Query) -> str:
        """Give no page."""
        del query
        return ""

    async def health(self) -> Literal["ok", "failing"]:
        """Say that it is well, as it always is."""
        return "ok"

    async def aclose(self) -> None:
        """Close what was never opened."""
        await self._transport.aclose()


async def _answer(ask: Ask) -> Page:
    ask.exchanges += 1  # as one that was sent; a call that sends nothing counts as refused
    begins = epoch_ms(ask.query.time_range.start)
    points = tuple((begins + number * STEP_MS, float(number % 17)) for number in range(POINTS))
    series = Series(labels={"__name__": "bench_series", "service": "shop"}, points=points)
    return Page(content=Matrix(step_ms=STEP_MS, series=(series,)), expression=ask.query.expression)
