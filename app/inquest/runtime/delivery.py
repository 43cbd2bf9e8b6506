"""Sending: one target at a time, one sender a target, and a first send that is never repeated blindly."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar, assert_never

from inquest.crash import CrashPoint, reached
from inquest.domain.delivery import (
    Absent,
    DeliveryClaimed,
    DeliveryFailed,
    Ending,
    GivenUp,
    Postponed,
    Sent,
    Uncertain,
    Unknowable,
    Unsaid,
    after_absence,
    after_blind_look,
    after_lost_answer,
    after_refusal,
)
from inquest.domain.report import Report
from inquest.errors import FenceLost, Gone, Halted, NotFound, StoreUnavailable
from inquest.ports import Deliveries, Destination, Ids
from inquest.telemetry import Metrics, bound, log, report_error

CLAIM_LEASE = timedelta(seconds=15)
"""For building and rendering; a reservation then holds the target until the send must be over."""
SEND_FOR = timedelta(seconds=30)
SEND_SHARE = 0.9
"""The share of SEND_FOR in which the send must be over; the rest is for what is still on its way."""
FIND_FOR_S = 20.0
MAX_SENDING_AT_ONE_PLACE = 2
"""Of one worker at one destination: one that hangs takes no slot of the others."""
MAX_SLOTS = 32


@dataclass(frozen=True)
class Built:
    """What a revision shows: the report, and full contents of its evidence by digest."""

    report: Report
    contents: Mapping[str, bytes]


Build = Callable[[DeliveryClaimed], Awaitable[Built]]
"""Makes the report of a revision: f(terminal projection, state of the episode)."""

T = TypeVar("T")

Place = tuple[str, str]
"""A workspace and the name of one of its destinations."""


@dataclass(frozen=True)
class DeliveryOptions:
    """How long one act of sending may take."""

    claim_lease: timedelta = CLAIM_LEASE
    send_for: timedelta = SEND_FOR
    find_for_s: float = FIND_FOR_S


class DeliveryRunner:
    """Sends what is due. Each destination has its own few senders, so that none waits for another's."""

    def __init__(
        self,
        deliveries: Deliveries,
        destinations: Mapping[Place, Destination],
        build: Build,
        *,
        metrics: Metrics,
        ids: Ids,
        options: DeliveryOptions | None = None,
        workspaces: frozenset[str] | None = None,
    ) -> None:
        """`workspaces` are those of this worker's file: others are left, untried, for a worker that knows them."""
        self.owner_id = ids.new()
        self._deliveries = deliveries
        self._workspaces = workspaces
        self._destinations = dict(destinations)
        self._build = build
        self._metrics = metrics
        self._options = options or DeliveryOptions()
        self._sending: Counter[Place] = Counter()
        self._draining = False

    @property
    def slots(self) -> int:
        """Give how many may send at once: enough that no destination takes the slots of another."""
        return min(MAX_SLOTS, MAX_SENDING_AT_ONE_PLACE * (len(self._destinations) + 1))

    def drain(self) -> None:
        """Begin nothing more."""
        self._draining = True

    async def deliver(self, target_id: str) -> None:
        """Send what is due at `target_id`, and then whatever is due at the same destination.

        When the senders of that destination are busy it does nothing: each looks for more when it is done.
        Raises StoreUnavailable, and what building or rendering a report raised.
        """
        place = await self._deliveries.place(target_id)
        if place is None or not self._serves(place[0]) or self._sending[place] >= MAX_SENDING_AT_ONE_PLACE:
            return
        self._sending[place] += 1
        try:
            due: str | None = target_id
            while due is not None and not self._draining and await self._deliver_one(due):
                due = await self._deliveries.next_due(*place)
        finally:
            self._sending[place] -= 1

    def _serves(self, workspace: str) -> bool:
        return self._workspaces is None or workspace in self._workspaces

    async def _deliver_one(self, target_id: str) -> bool:
        """Do one act of sending; False when nothing was due there, or the target was lost."""
        claimed = await self._deliveries.claim(self.owner_id, target_id, lease=self._options.claim_lease)
        if claimed is None:
            return False
        with bound(investigation=claimed.investigation_id, destination=claimed.destination, revision=claimed.revision):
            try:
                ending = await self._act(claimed)
                await self._end(claimed, ending)
                reached(CrashPoint.C21 if isinstance(ending, Sent) else None)
            except (FenceLost, NotFound):  # another sender took it, or it was deleted
                log().info("delivery_fence_lost")
                return False
            except Halted:  # between the claim and the reservation: nothing was sent
                log().info("delivery_halted")
                await self._release(claimed)
                return False
            except asyncio.CancelledError:
                await self._release(claimed)
                raise
        return True

    async def _act(self, claimed: DeliveryClaimed) -> Ending:
        destination = self._destinations.get((claimed.workspace, claimed.destination))
        if destination is None:
            nowhere = DeliveryFailed(reason="no destination of this name is configured", retry=True)
            return after_refusal(claimed.attempts + 1, nowhere)
        match claimed.step:
            case "find":
                return await self._look(claimed, destination)
            case "send":
                rendered = await self._render(claimed, destination)
                return Unsaid() if rendered is None else await self._send(claimed, destination, rendered)
            case unknown:
                assert_never(unknown)

    async def _render(self, claimed: DeliveryClaimed, destination: Destination) -> bytes | None:
        async with self._making(claimed):
            built = await self._build(claimed)
            return destination.render(built.report, built.contents, guest=claimed.guest)

    @asynccontextmanager
    async def _making(self, claimed: DeliveryClaimed) -> AsyncIterator[None]:
        """Count what making a report, or storing it, raises as a try that surely did not arrive; it passes."""
        try:
            yield
        except (StoreUnavailable, FenceLost, Gone, Halted):
            raise
        except Exception as error:
            report_error(error, tags={"investigation": claimed.investigation_id, "stage": "deliver"})
            unmade = DeliveryFailed(reason="the report could not be made", retry=True)
            await self._end(claimed, after_refusal(claimed.attempts + 1, unmade))
            raise

    async def _send(self, claimed: DeliveryClaimed, destination: Destination, rendered: bytes) -> Ending:
        """Reserve, then send; between the two the clock is looked at last, after everything that can wait."""
        must_end_at = time.monotonic() + self._options.send_for.total_seconds() * SEND_SHARE
        async with self._making(claimed):
            await self._deliveries.reserve(claimed, rendered, send_for=self._options.send_for)
        reached(CrashPoint.C18)
        left_s = must_end_at - time.monotonic()
        if left_s <= 0:
            late = DeliveryFailed(reason="no time was left to send", retry=True)
            return after_refusal(claimed.attempts + 1, late)
        answer = await _outcome(destination.send(rendered, claimed.address, timeout_s=left_s), left_s)
        match answer:
            case Sent():
                reached(CrashPoint.C20)
                return answer
            case DeliveryFailed(uncertain=False):
                return after_refusal(claimed.attempts + 1, answer)
            case DeliveryFailed():
                reason = answer.reason
            case lost:
                self._report(claimed, lost)
                reason = "the answer to the send was lost"
        return after_lost_answer(claimed.attempts + 1, reason, is_edit=claimed.reference is not None)

    async def _look(self, claimed: DeliveryClaimed, destination: Destination) -> Ending:
        """Ask the destination whether an earlier first send arrived."""
        timeout_s = self._options.find_for_s
        answer = await _outcome(destination.find(claimed.address, timeout_s=timeout_s), timeout_s)
        match answer:
            case Sent():
                return answer
            case None:
                return after_absence(claimed.attempts)
            case DeliveryFailed():
                return after_blind_look(claimed.attempts + 1, answer)
            case lost:
                self._report(claimed, lost)
                unseen = DeliveryFailed(reason="the destination could not be asked", retry=True)
                return after_blind_look(claimed.attempts + 1, unseen)

    async def _end(self, claimed: DeliveryClaimed, ending: Ending) -> None:
        await self._deliveries.end(claimed, ending)
        destination = self._destinations.get((claimed.workspace, claimed.destination))
        state = _state(ending)
        self._metrics.deliveries.labels("unknown" if destination is None else destination.type, state).inc()
        log().info("delivery_ended", state=state, kind=claimed.kind, attempt=claimed.attempts + 1, **_reason(ending))

    async def _release(self, claimed: DeliveryClaimed) -> None:
        try:
            await self._deliveries.release(claimed.fence)
        except (FenceLost, StoreUnavailable):
            log().info("delivery_lease_left_to_run_out")

    def _report(self, claimed: DeliveryClaimed, error: BaseException) -> None:
        log().warning("delivery_answer_lost", error=type(error).__name__)
        if not isinstance(error, TimeoutError):
            report_error(error, tags={"investigation": claimed.investigation_id, "stage": "deliver"})


async def _outcome(act: Awaitable[T], timeout_s: float) -> T | BaseException:
    """Give what `act` gave, or the exception that came instead of an answer. CancelledError passes."""

    async def bounded() -> T:
        async with asyncio.timeout(timeout_s):
            return await act

    (answer,) = await asyncio.gather(bounded(), return_exceptions=True)
    return answer


def _reason(ending: Ending) -> dict[str, str]:
    """Give why nothing arrived, or nothing surely, in our own words: what an operator has to change."""
    match ending:
        case Postponed() | Uncertain() | GivenUp() | Unknowable():
            return {"reason": ending.reason}
        case Sent() | Absent() | Unsaid():
            return {}
        case unknown:
            assert_never(unknown)


def _state(ending: Ending) -> str:
    """Give the word under which an ending is counted."""
    match ending:
        case Sent():
            return "sent"
        case Postponed() | Uncertain() | Absent() | GivenUp() | Unknowable() | Unsaid():
            return ending.ending
        case unknown:
            assert_never(unknown)
