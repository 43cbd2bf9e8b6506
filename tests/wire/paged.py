"""A vendor made of nothing but pages, so that what all connectors share is tested without any vendor's rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from inquest.domain.failure import Failure
from inquest.domain.observation import Context, Query
from inquest.domain.signals import Names
from inquest.domain.tool import ToolSpec
from inquest.domain.window import Window
from inquest.ports import InvalidQuery, Tool
from inquest.wire.answer import read_json, status_failure
from inquest.wire.ask import Ask, Page
from inquest.wire.cursor import CursorKey
from inquest.wire.endpoint import Endpoint
from inquest.wire.read_tool import Arguments, Grounds, ReadTool
from inquest.wire.redaction import Redactor
from inquest.wire.transport import Transport
from tests.fakes.loopback import Handler, Loopback, loopback

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECRET = "hunter2-hunter2-hunter2"
CONTEXT = Context(issuer="i", audience="a", resource="r", tenant="shop", workspace="main", connector="names")
SPEC = ToolSpec(
    name="names_list",
    description="List names.",
    parameters={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "prefix": {"type": "string", "maxLength": 100},
            "start": {"type": "string", "format": "date-time"},
            "end": {"type": "string", "format": "date-time"},
        },
    },
    source="names",
    signal="names",
)
QUERY = Query(
    tool="names_list",
    service_id="web",
    arguments={"prefix": "a"},
    time_range=Window(start=NOW - timedelta(hours=1), end=NOW),
)


@dataclass
class FixedClock:
    """A clock that stands until it is moved."""

    at: datetime = NOW
    seconds: float = 100.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.seconds


def arrange(arguments: Arguments, _: Window) -> Arguments:
    if arguments.get("prefix") == "bad":
        raise InvalidQuery(f"prefix: not bad, {SECRET}")
    return {"prefix": "", **arguments}


async def fetch(ask: Ask) -> Page | Failure:
    answer = await ask.get(("names",), [("prefix", str(ask.query.arguments["prefix"])), ("after", ask.cursor or "")])
    if isinstance(answer, Failure):
        return answer
    failed = status_failure(answer, now=NOW)
    if failed is not None:
        return failed
    said = read_json(answer)
    if isinstance(said, Failure):
        return said
    assert isinstance(said, dict)
    following = said.get("next")
    names = Names.model_validate_json('{"names":' + str(said["names"]).replace("'", '"') + "}")
    return Page(names, expression=f"names from {ask.cursor}", next=None if following is None else str(following))


@dataclass
class PagedConnector:
    """The connector (ports.Connector)."""

    tools: Sequence[Tool]
    transport: Transport
    name: str = "names"
    type: str = "paged"
    context: Context = field(default_factory=lambda: CONTEXT)

    def link(self, query: Query) -> str:
        return ""

    async def health(self) -> Literal["ok", "failing"]:
        return "ok"

    async def aclose(self) -> None:
        await self.transport.aclose()


@asynccontextmanager
async def paged(handler: Handler) -> AsyncIterator[tuple[Loopback, PagedConnector]]:
    async with loopback(handler) as fake:
        transport = Transport(Endpoint(base_url=fake.url))
        grounds = Grounds(
            context=CONTEXT,
            transport=transport,
            clock=FixedClock(),
            cursor_key=CursorKey(b"k" * 32),
            redactor=Redactor([SECRET]),
        )
        connector = PagedConnector(tools=[ReadTool(SPEC, grounds, arrange=arrange, fetch=fetch)], transport=transport)
        try:
            yield fake, connector
        finally:
            await connector.aclose()
