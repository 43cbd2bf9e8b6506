"""The attempts inside one effect: where they can help, counted, and never past the time or the ceiling."""

from __future__ import annotations

import pytest

from inquest.domain.failure import FailureCode, failure
from inquest.domain.observation import Partial
from inquest.errors import ModelError
from inquest.models.scripted import in_order
from inquest.ports import ModelFailure
from tests.loop_host import Host, reply, tool
from tests.runtime.acts import code_of, failing, host_with, model_tries, seed_run


@pytest.mark.parametrize(
    ("code", "retry_after_ms", "ran", "slept"),
    [
        (FailureCode.PROVIDER_ERROR, None, 3, [0.5, 1.0]),
        (FailureCode.RATE_LIMITED, 10_000, 3, [10.0, 10.0]),
        (FailureCode.RATE_LIMITED, 10_001, 1, []),
        (FailureCode.RATE_LIMITED, None, 3, [0.5, 1.0]),
        *((code, None, 1, []) for code in FailureCode if code not in ("provider_error", "rate_limited")),
    ],
)
async def test_a_query_is_tried_again_twice_at_most_and_only_where_it_can_help(
    code: FailureCode, retry_after_ms: int | None, ran: int, slept: list[float]
) -> None:
    host = host_with(failing(code, times=9, retry_after_ms=retry_after_ms))

    outcome, _ = await seed_run(host)

    assert (code_of(outcome), host.executions, host.slept) == (code, ran, slept)


async def test_a_retry_that_succeeds_is_the_outcome_and_every_try_is_counted() -> None:
    host = host_with(failing(FailureCode.PROVIDER_ERROR, times=2))

    await host.gather(in_order([reply("")]))

    assert host.executions == 3
    assert (await host.state()).spend.connector_effects == 3
    assert (await host.state()).answers[0].failure is None


async def test_no_retry_is_made_past_the_ceiling_of_calls() -> None:
    host = host_with(failing(FailureCode.PROVIDER_ERROR, times=9), max_connector_effects=2)

    outcome, _ = await seed_run(host)

    assert (code_of(outcome), host.executions) == (FailureCode.PROVIDER_ERROR, 2)


async def test_no_retry_is_made_when_its_wait_ends_after_the_deadline() -> None:
    host = host_with(failing(FailureCode.RATE_LIMITED, times=9, retry_after_ms=8_000), wall_clock_s=10)

    outcome, _ = await seed_run(host)

    assert (code_of(outcome), host.executions, host.slept) == (FailureCode.RATE_LIMITED, 2, [8.0])


async def test_a_partial_answer_is_kept_as_it_is() -> None:
    some = Partial(observations=(), error=failure(FailureCode.RATE_LIMITED, retry_after_ms=1))
    host = host_with(lambda _: some)

    outcome, _ = await seed_run(host)

    assert (outcome, host.executions) == (some, 1)


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        (ModelFailure.RATE_LIMITED, 3),
        (ModelFailure.OVERLOADED, 3),
        (ModelFailure.TIMEOUT, 3),
        (ModelFailure.UNAVAILABLE, 3),
        (ModelFailure.MALFORMED, 3),
        (ModelFailure.CONTEXT_OVERFLOW, 1),
        (ModelFailure.AUTHENTICATION, 1),
        (ModelFailure.QUOTA, 1),
        (ModelFailure.REFUSED, 1),
        (ModelFailure.BAD_REQUEST, 1),
    ],
)
async def test_a_model_is_asked_again_only_where_the_same_request_can_be_answered(
    kind: ModelFailure, asked: int
) -> None:
    host = Host([tool("metrics_query")])

    outcome, tries = await model_tries(host, *[ModelError(kind, "said by our table")] * 5)

    assert (getattr(outcome, "kind", None), tries) == (kind, asked)
    assert getattr(outcome, "message", None) == "said by our table"


async def test_a_providers_retry_after_is_honoured_while_there_is_time() -> None:
    host = Host([tool("metrics_query")])
    busy = ModelError(ModelFailure.RATE_LIMITED, "busy", retry_after_ms=7_500)

    outcome, tries = await model_tries(host, busy, reply("It broke."))

    assert (outcome, tries, host.slept) == (reply("It broke."), 2, [7.5])


async def test_a_retry_after_past_the_time_ends_the_attempts_at_once() -> None:
    host = Host([tool("metrics_query")])
    busy = ModelError(ModelFailure.RATE_LIMITED, "busy", retry_after_ms=60_000)

    outcome, tries = await model_tries(host, busy, reply("too late"), timeout_s=60)

    assert (getattr(outcome, "kind", None), tries, host.slept) == (ModelFailure.RATE_LIMITED, 1, [])
