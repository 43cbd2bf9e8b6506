"""What the contract suite must be told about a vendor.

Write one `Harness` for a connector, then

    class TestLoki(ConnectorContract):
        harness = LokiHarness()

and every rule of the contract runs against it. The harness speaks for the vendor: it builds the connector
against a loopback URL, and says how the vendor answers well and in each way of failing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from pydantic import SecretStr

from inquest.domain.failure import FailureCode
from inquest.domain.observation import Context, Query, QueryBudget
from inquest.domain.value import Json
from inquest.domain.window import Window
from inquest.ports import Clock, Connector, Tool
from inquest.wire.cursor import CursorKey
from inquest.wire.redaction import Redactor
from tests.fakes.loopback import Act, Handler, Seen

NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
WINDOW = Window(start=NOW - timedelta(hours=2), end=NOW)
SECRET = "hunter2-Zq7/Zq7+Zq7=Zq7"
"""The credential that the harness must give to its connector; it may never be seen again."""
CONTEXT = Context(
    issuer="operator", audience="inquest", resource="evidence", tenant="shop", workspace="main", connector="src"
)
CURSOR_KEY = CursorKey(b"k" * 32)
PUBLIC_URL = "https://source.example.org/ui"
"""Where a human opens the source: links begin with it."""


@dataclass
class StandingClock:
    """Says NOW, while durations are real."""

    at: datetime = NOW

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass(frozen=True)
class Grip:
    """What the suite hands to `Harness.connect`."""

    url: str
    secret: SecretStr = field(default_factory=lambda: SecretStr(SECRET))
    context: Context = CONTEXT
    public_url: str = PUBLIC_URL
    cursor_key: CursorKey = CURSOR_KEY
    clock: Clock = field(default_factory=StandingClock)
    redactor: Redactor = field(default_factory=lambda: Redactor([SECRET]))


@dataclass(frozen=True)
class Fails:
    """One way to a failure code: how the vendor acts, and what is asked of which tool.

    `arguments` None: the tool's good ones. `sent` False: refused before anything is sent.
    """

    act: Act | Handler
    tool: str | None = None
    arguments: Mapping[str, Json] | None = None
    budget: QueryBudget = field(default_factory=QueryBudget)
    sent: bool = True


@dataclass(frozen=True)
class Pages:
    """A tool that has pages. `handler` serves at least three, each with at least one item."""

    tool: str
    handler: Handler


class Harness(Protocol):
    """A vendor, spoken for."""

    source: str
    """The integration's name (ToolSpec.source)."""

    vendor: str
    """Connector.type."""

    arguments: Mapping[str, Mapping[str, Json]]
    """For each tool by name, arguments of a good query (unprepared, without times)."""

    foreign_texts: Mapping[str, Sequence[str]]
    """For each tool by name, the arguments that take free text or an expression: hostile strings go there."""

    post_paths: frozenset[str]
    """The decoded paths that may be posted to."""

    cannot_fail_as: frozenset[FailureCode]
    """Codes that the vendor has no way to cause; only `cancelled` may be among them."""

    own_statuses: Mapping[int, FailureCode]
    """What a status says of this vendor where it is not what it says of every other."""

    holds_no_text: frozenset[str]
    """Tools whose answers pass on nothing that others wrote: counts of what there is."""

    def connect(self, grip: Grip) -> Connector:
        """Build the connector with the secret of `grip`, talking to `grip.url`."""

    def good(self, seen: Seen) -> Act:
        """Answer a request well; some answer to each tool's good query brings at least one item."""

    def good_json(self, tool: str) -> Json:
        """Give the JSON of the good answer to `tool`'s main request, for tests that break it."""

    def telling(self, text: str) -> Handler:
        """Answer well, with `text` in every place where the vendor passes on other people's text."""

    def fails(self) -> Mapping[FailureCode, Fails]:
        """Say how to cause each failure code but those of `cannot_fail_as`."""

    def partial(self) -> Fails | None:
        """Say how the vendor brings some of an answer and a failure; None where it never does."""

    def pages(self) -> Pages | None:
        """Give a tool with pages; None where the vendor has none."""

    def asked_window(self, tool: str, seen: Sequence[Seen]) -> tuple[datetime | None, datetime] | None:
        """Read from the requests the (start, end) that `tool` asked for; start None for a single moment.

        None for a tool whose source knows no time: it looks at now only.
        """


def query_for(
    tool: Tool, arguments: Mapping[str, Json], *, window: Window = WINDOW, budget: QueryBudget | None = None
) -> Query:
    """Prepare a query as the loop does."""
    bare = Query(tool=tool.spec.name, service_id="web", arguments={}, time_range=window, budget=budget or QueryBudget())
    return tool.prepare(arguments, bare)
