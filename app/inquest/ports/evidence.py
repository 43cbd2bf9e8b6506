"""Evidence: who answers one read, and what a host gives for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from inquest.domain.observation import Context, Outcome, Query
from inquest.domain.tool import ToolSpec
from inquest.domain.value import Value


class Reading(Value):
    """What one call of a tool gave: the outcome, and the full content bytes of each observation by digest."""

    outcome: Outcome
    contents: dict[str, bytes]
    exchanges: int = 1
    """Requests sent to the vendor, retries included; 0 when refused before dispatch."""


class Tool(Protocol):
    """One read operation of one connector."""

    @property
    def spec(self) -> ToolSpec:
        """Describe it for a model and for selection."""

    def prepare(self, arguments: Mapping[str, object], query: Query) -> Query:
        """Check arguments beyond the schema and fill their defaults, without I/O.

        `query` carries tool, service, time range, budget and cursor already. Raises `InvalidQuery`
        with a hint of ours.
        """

    async def read(self, context: Context, query: Query) -> Reading:
        """Read one page. Never raises for a vendor's failure; CancelledError passes."""


class InvalidQuery(Exception):  # the failure code's own word
    """A query that cannot be run: becomes a tool result with invalid_query, nothing is sent."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


class Connector(Protocol):
    """A configured, credentialed connection to one vendor; read only."""

    @property
    def name(self) -> str:
        """Give the integration's name from configuration."""

    @property
    def type(self) -> str:
        """Give the vendor, such as "prometheus"."""

    @property
    def context(self) -> Context:
        """Give the pinned context under which it reads."""

    @property
    def tools(self) -> Sequence[Tool]:
        """Give its tools, in a fixed order."""

    def link(self, query: Query) -> str:
        """Give the page of the source that shows `query`, "" where there is none. No credentials in it."""

    async def health(self) -> Literal["ok", "failing"]:
        """Ask the cheapest authenticated question, within 3 s. Never raises."""

    async def aclose(self) -> None:
        """Close its connections."""
