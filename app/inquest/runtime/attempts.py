"""The attempts inside one effect, owned by tenacity: bounded, and never past the time that is left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, retry_if_result

from inquest.domain.budget import MAX_MODEL_ATTEMPTS, MAX_QUERY_RETRIES, MAX_RETRY_WAIT_S, MODEL_ATTEMPT_TIMEOUT_S
from inquest.domain.effect import ModelFailed
from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.observation import Error, Query
from inquest.domain.transcript import Reply
from inquest.errors import FenceLost, InvariantBroken, ModelError
from inquest.ports import Clock, ModelFailure, Reading
from inquest.stages.tools import BoundTool
from inquest.telemetry import log, report_error

RETRYABLE = frozenset(
    {
        ModelFailure.RATE_LIMITED,
        ModelFailure.OVERLOADED,
        ModelFailure.TIMEOUT,
        ModelFailure.UNAVAILABLE,
        ModelFailure.MALFORMED,
    }
)
"""After these the same request may be answered. An overflow, a refusal, a key or a quota stays what it is."""
BACKOFF_S = (1.0, 2.0, 4.0)
QUERY_BACKOFF_S = (0.5, 1.0)

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Pace:
    """Time as an act sees it. `may_act` is false once the lease has run out by the monotonic clock."""

    clock: Clock
    may_act: Callable[[], bool]
    sleep: Sleep = asyncio.sleep

    def check(self) -> None:
        """Raise FenceLost when nothing may be sent any more."""
        if not self.may_act():
            raise FenceLost("the lease has run out by the monotonic clock: nothing more is sent")


async def ask_model(ask: Callable[[float], Awaitable[Reply]], pace: Pace, *, timeout_s: float) -> Reply | ModelFailed:
    """Ask until it answers, MAX_MODEL_ATTEMPTS times at most and within `timeout_s`, waits included.

    A provider's Retry-After is honoured when it ends before the time is up; else there is no further
    attempt. Raises FenceLost; CancelledError passes.
    """
    ends = pace.clock.monotonic() + timeout_s

    async def attempt() -> Reply:
        pace.check()
        left = min(MODEL_ATTEMPT_TIMEOUT_S, ends - pace.clock.monotonic())
        try:
            async with asyncio.timeout(left):
                return await ask(left)
        except TimeoutError as late:
            raise ModelError(ModelFailure.TIMEOUT, "the model did not answer in its time") from late

    def wait(state: RetryCallState) -> float:
        error = _exception(state)
        if isinstance(error, ModelError) and error.retry_after_ms is not None:
            return error.retry_after_ms / 1000
        return BACKOFF_S[min(state.attempt_number, len(BACKOFF_S)) - 1]

    def stop(state: RetryCallState) -> bool:
        return state.attempt_number >= MAX_MODEL_ATTEMPTS or pace.clock.monotonic() + state.upcoming_sleep >= ends

    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.kind in RETRYABLE),
        wait=wait,
        stop=stop,
        sleep=pace.sleep,
        reraise=True,
    )
    try:
        return await retrying(attempt)
    except ModelError as error:
        return ModelFailed(kind=error.kind, message=str(error))


@dataclass(frozen=True)
class Tried:
    """What the tries of one dispatch gave: the last reading, how many tries, and the requests of all of them."""

    reading: Reading
    tries: int
    exchanges: int


async def read_tool(
    bound: BoundTool, query: Query, pace: Pace, *, seconds_left: Callable[[], float], take_retry: Callable[[], bool]
) -> Tried:
    """Read once, and at most MAX_QUERY_RETRIES times more.

    Again only after rate_limited with a short wait or provider_error, before the deadline, and while
    `take_retry` grants one (it counts what it grants).

    Raises FenceLost; CancelledError passes. A bug of a connector costs its own branch only (checklist 78).
    """
    tries = exchanges = 0

    async def attempt() -> Reading:
        nonlocal tries, exchanges
        pace.check()
        tries += 1
        reading = await _read(bound, query, min(query.budget.timeout_ms / 1000, seconds_left()))
        exchanges += reading.exchanges
        return reading

    def wait(state: RetryCallState) -> float:
        failed = _failure(state.outcome.result()) if state.outcome is not None else None
        if failed is not None and failed.retry_after_ms is not None:
            return failed.retry_after_ms / 1000
        return QUERY_BACKOFF_S[min(state.attempt_number, len(QUERY_BACKOFF_S)) - 1]

    def stop(state: RetryCallState) -> bool:
        done = state.attempt_number > MAX_QUERY_RETRIES
        late = state.upcoming_sleep > MAX_RETRY_WAIT_S or state.upcoming_sleep >= seconds_left()
        return done or late or not take_retry()

    retrying = AsyncRetrying(
        retry=retry_if_result(_may_be_tried_again),
        wait=wait,
        stop=stop,
        sleep=pace.sleep,
        retry_error_callback=_last_reading,
    )
    reading: Reading = await retrying(attempt)
    return Tried(reading=reading, tries=tries, exchanges=exchanges)


async def _read(bound: BoundTool, query: Query, timeout_s: float) -> Reading:
    if timeout_s <= 0:
        late = failure(FailureCode.TIMEOUT, "the investigation's deadline has passed")
        return Reading(outcome=Error(error=late), contents={}, exchanges=0)
    try:
        async with asyncio.timeout(timeout_s):
            return await bound.tool.read(bound.context, query)
    except TimeoutError:
        return Reading(outcome=Error(error=failure(FailureCode.TIMEOUT)), contents={})
    except Exception as bug:  # a connector's bug: it is reported, and its branch ends as what cannot be read
        log().error("connector_bug", tool=query.tool, error=type(bug).__name__)
        report_error(bug, tags={"tool": query.tool})
        return Reading(outcome=Error(error=failure(FailureCode.MALFORMED_RESULT)), contents={})


def _may_be_tried_again(reading: Reading) -> bool:
    failed = _failure(reading)
    return failed is not None and failed.code in (FailureCode.RATE_LIMITED, FailureCode.PROVIDER_ERROR)


def _failure(reading: Reading) -> Failure | None:
    """Give the failure of a reading that brought nothing; a partial answer is kept as it is."""
    return reading.outcome.error if isinstance(reading.outcome, Error) else None


def _last_reading(state: RetryCallState) -> Reading:
    if state.outcome is None:
        msg = "tenacity stopped before the first try"
        raise InvariantBroken(msg)
    reading: Reading = state.outcome.result()
    return reading


def _exception(state: RetryCallState) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()
