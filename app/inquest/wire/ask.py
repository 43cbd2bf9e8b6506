"""What a connector is handed to read one page: the query, its page, and the door, held to the query's time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.observation import Context, Query
from inquest.domain.signals import SignalContent
from inquest.domain.value import Json
from inquest.wire.answer import Answer
from inquest.wire.transport import Pairs, Segments, Transport

if TYPE_CHECKING:
    from inquest.ports import Clock


@dataclass(frozen=True, slots=True)
class Page:
    """What a source said, in a shape of `domain.signals`.

    `expression` is the query as it was sent. `next` is the source's own cursor of the next page. `error` is
    what is missing: the outcome is then partial. `cut`: the transport's cap ended the reading.
    """

    content: SignalContent
    expression: str = ""
    next: str | None = None
    error: Failure | None = None
    cut: bool = False


@dataclass(slots=True, kw_only=True)
class Ask:
    """One read. `query` is prepared; `cursor` is the source's own, None for the first page, which is page 1."""

    query: Query
    context: Context
    transport: Transport
    clock: Clock
    deadline: float
    cursor: str | None = None
    page: int = 1
    exchanges: int = field(default=0, init=False)

    @property
    def seconds_left(self) -> float:
        """Give what is left of the query's timeout, never negative."""
        return max(0.0, self.deadline - self.clock.monotonic())

    async def get(self, path: Segments, params: Pairs = ()) -> Answer | Failure:
        """GET within the time that is left."""
        self.exchanges += 1
        return await self.transport.get(path, params, timeout_s=self.seconds_left)

    async def post_form(self, path: Segments, form: Pairs) -> Answer | Failure:
        """Post a form to a query endpoint within the time that is left."""
        self.exchanges += 1
        return await self.transport.post_form(path, form, timeout_s=self.seconds_left)

    async def post_json(self, path: Segments, body: Json) -> Answer | Failure:
        """Post JSON to a query endpoint within the time that is left."""
        self.exchanges += 1
        return await self.transport.post_json(path, body, timeout_s=self.seconds_left)

    def late(self) -> Failure:
        """Give the failure of a read that is over its time."""
        return failure(FailureCode.TIMEOUT, f"timeout_ms: {self.query.budget.timeout_ms} are used")
