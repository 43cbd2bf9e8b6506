"""The time that an investigation spends in its one door for acts, while it acts at all.

With a model and sources that answer at once, that time is what reserving, recording and everything else around
an act costs. Acts of one batch overlap, and the time in which any of them is under way counts once.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from typing_extensions import override

from inquest.bootstrap.claiming import Claiming
from inquest.domain.budget import Spend
from inquest.domain.effect import Receipt, Reservation
from inquest.domain.event import EventBody
from inquest.domain.observation import Query
from inquest.domain.transcript import ModelRequest, Reply
from inquest.ports import Answered, Claimed, RecordedReading, Revision
from inquest.runtime.effects import ClaimedActs
from inquest.runtime.lease import LeaseGuard
from inquest.store.journal import PostgresJournal

Span = tuple[float, float]


def covered(spans: Sequence[Span]) -> float:
    """Give the length of the union of `spans`, (begin, end) each."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


class TimedActs(ClaimedActs):
    """The door, with a stop-watch; `spans` is set before the first act."""

    spans: list[Span]

    @override
    async def contents(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        with self._timed():
            return await super().contents(digests)

    @override
    async def append(
        self,
        *events: EventBody,
        receipts: Sequence[Receipt] = (),
        reservations: Sequence[Reservation] = (),
        contents: Mapping[str, bytes] | None = None,
        revisions: Sequence[Revision] = (),
        spend: Spend | None = None,
    ) -> None:
        with self._timed():
            await super().append(
                *events,
                receipts=receipts,
                reservations=reservations,
                contents=contents,
                revisions=revisions,
                spend=spend,
            )

    @override
    async def model(
        self,
        key: str,
        request: ModelRequest,
        ask: Callable[[float], Awaitable[Reply]],
        *,
        timeout_s: float,
        most_usd_micros: int = 0,
    ) -> Answered:
        with self._timed():
            return await super().model(key, request, ask, timeout_s=timeout_s, most_usd_micros=most_usd_micros)

    @override
    async def keep(self, answered: Answered) -> None:
        with self._timed():
            await super().keep(answered)

    @override
    async def query(self, key: str, query: Query) -> RecordedReading:
        with self._timed():
            return await super().query(key, query)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spans.append((began, time.perf_counter()))


@dataclass(frozen=True)
class TimedClaiming(Claiming):
    """What claims are made from, each with a timed door."""

    spans: list[Span] = field(default_factory=list)

    @override
    async def _acts(self, claimed: Claimed, guard: LeaseGuard) -> ClaimedActs:
        workspace = self._workspace(claimed)
        journal = PostgresJournal(self.database, workspace.name)
        chronicle = await journal.load(claimed.fence.investigation_id)
        acts = TimedActs(chronicle, self._terms(claimed, guard, workspace), journal, journal)
        acts.spans = self.spans
        return acts
