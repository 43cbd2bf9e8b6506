import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.failure import Failure, FailureCode, failure
from inquest.domain.observation import (
    MAX_BYTES,
    MAX_ITEMS,
    MAX_PAGES,
    MAX_TIMEOUT_MS,
    Context,
    Error,
    Ok,
    Partial,
    Query,
    QueryBudget,
)
from inquest.domain.tool import ToolSpec
from inquest.domain.window import Window
from inquest.ports import InvalidQuery, Reading
from inquest.wire.execute import disagreement, execute_read, failure_of, read_query
from inquest.wire.refusals import MAX_SPAN, SKEW
from tests.fakes.connections import watch_connections
from tests.fakes.loopback import Hang, Reply, Seen
from tests.wire.paged import CONTEXT, NOW, QUERY, SECRET, SPEC, PagedConnector, paged

LIMIT_S = 20.0


def names(*found: str, following: str | None = None) -> Reply:
    return Reply(200, json.dumps({"names": found, "next": following}).encode())


def pages(seen: Seen) -> Reply:
    after = int(seen.param("after") or 0)
    return names(f"n{after}", following=str(after + 1) if after < 9 else None)


def error_of(reading: Reading) -> Failure:
    assert isinstance(reading.outcome, Error)
    return reading.outcome.error


# ---- before anything is sent ---------------------------------------------------------------------------

BUDGET = QUERY.budget.model_dump()
RAW = QUERY.model_dump(mode="json")


def raw(**changes: object) -> dict[str, Any]:
    return {**RAW, **changes}


@pytest.mark.parametrize(
    ("query", "code", "hint"),
    [
        (raw(tenant="other"), FailureCode.INVALID_QUERY, "tenant: extra_forbidden"),
        ({"tool": "names_list"}, FailureCode.INVALID_QUERY, "service_id: missing"),
        (raw(budget={**BUDGET, "max_items": MAX_ITEMS + 1}), FailureCode.INVALID_QUERY, "budget.max_items: less_than_equal"),
        (raw(budget={**BUDGET, "max_bytes": MAX_BYTES + 1}), FailureCode.INVALID_QUERY, "budget.max_bytes: less_than_equal"),
        (raw(budget={**BUDGET, "max_pages": MAX_PAGES + 1}), FailureCode.INVALID_QUERY, "budget.max_pages: less_than_equal"),
        (raw(budget={**BUDGET, "timeout_ms": MAX_TIMEOUT_MS + 1}), FailureCode.INVALID_QUERY, "budget.timeout_ms: less_than_equal"),
        (raw(budget={**BUDGET, "max_items": 0}), FailureCode.INVALID_QUERY, "budget.max_items: greater_than"),
        (raw(budget={**BUDGET, "max_items": 1.5}), FailureCode.INVALID_QUERY, "budget.max_items: int_type"),
        (raw(budget={**BUDGET, "max_bytes": 10}), FailureCode.INVALID_QUERY, "budget: max_bytes under 256 shows nothing"),
        (raw(time_range={"start": "2026-03-01T12:00:00Z", "end": "2026-03-01T11:00:00Z"}), FailureCode.INVALID_QUERY, "time_range: value_error"),
        (raw(time_range={"start": "2026-03-01T10:00:00", "end": "2026-03-01T11:00:00Z"}), FailureCode.INVALID_QUERY, "time_range.start: value_error"),
        (raw(time_range={"start": "yesterday", "end": "2026-03-01T11:00:00Z"}), FailureCode.INVALID_QUERY, "time_range.start: datetime_parsing"),
        (raw(time_range={"start": NOW.isoformat(), "end": (NOW + SKEW + timedelta(seconds=1)).isoformat()}), FailureCode.INVALID_QUERY, "time_range: ends in the future"),
        (raw(time_range={"start": (NOW - MAX_SPAN - timedelta(seconds=1)).isoformat(), "end": NOW.isoformat()}), FailureCode.INVALID_QUERY, "time_range: longer than 31 days"),
        (raw(tool="names_delete"), FailureCode.CAPABILITY_DENIED, "tool: not one of this connector"),
        (raw(arguments={"prefix": 1}), FailureCode.INVALID_QUERY, "prefix: does not fit the tool's schema (type)"),
        (raw(arguments={"tenant": "other"}), FailureCode.INVALID_QUERY, "arguments: does not fit the tool's schema (additionalProperties)"),
        (raw(arguments={"start": "2026-03-01T10:00:00Z"}), FailureCode.INVALID_QUERY, "arguments: does not fit the tool's schema (additionalProperties)"),
        (raw(arguments={"prefix": "bad"}), FailureCode.INVALID_QUERY, "prefix: not bad, [redacted-configured]"),
        (raw(arguments={"prefix": f"x{SECRET}"}), FailureCode.INVALID_QUERY, "an argument holds a secret (configured secret); leave it out"),
        (raw(arguments={"prefix": "AKIA" + "Q" * 16}), FailureCode.INVALID_QUERY, "an argument holds a secret (aws-key); leave it out"),
        (raw(service_id="glpat-" + "a1" * 10), FailureCode.INVALID_QUERY, "an argument holds a secret (gitlab-token); leave it out"),
        (raw(arguments={"prefix": "a\0b"}), FailureCode.INVALID_QUERY, "an argument holds characters that cannot be sent"),
        (raw(cursor="AAAA"), FailureCode.INVALID_QUERY, "cursor: not one that was given for this query"),
        ({**RAW, "arguments": {"prefix": float("nan")}}, FailureCode.INVALID_QUERY, "query: is not JSON"),
        ({**RAW, "arguments": {"prefix": object()}}, FailureCode.INVALID_QUERY, "query: is not JSON"),
    ],
)  # fmt: skip
async def test_a_query_that_may_not_be_run_sends_nothing(
    query: Mapping[str, object], code: FailureCode, hint: str
) -> None:
    async with paged(pages) as (fake, connector):
        with watch_connections() as watch:
            reading = await execute_read(connector, CONTEXT, query)

    assert (error_of(reading).code, error_of(reading).hint) == (code, hint)
    assert (reading.exchanges, fake.seen, watch.opened) == (0, [], [])


@pytest.mark.parametrize("prefix", ["password authentication failed", "author", "oauth_provider", "größe"])
async def test_ordinary_words_in_a_query_pass(prefix: str) -> None:
    async with paged(pages) as (fake, connector):
        reading = await execute_read(connector, CONTEXT, QUERY.but(arguments={"prefix": prefix}))
    assert isinstance(reading.outcome, Ok)
    assert fake.seen[0].param("prefix") == prefix


@pytest.mark.parametrize("field", list(Context.model_fields))
async def test_another_context_is_a_mismatch_and_sends_nothing(field: str) -> None:
    async with paged(pages) as (fake, connector):
        reading = await execute_read(connector, CONTEXT.but(**{field: "other"}), QUERY)
        direct = await connector.tools[0].read(CONTEXT.but(**{field: "other"}), QUERY)

    assert (
        error_of(reading)
        == error_of(direct)
        == failure(FailureCode.CONTEXT_MISMATCH, f"{field}: not the one that is configured")
    )
    assert (reading.exchanges, fake.seen) == (0, [])


async def test_a_window_that_ends_within_the_skew_is_asked() -> None:
    async with paged(pages) as (_, connector):
        reading = await execute_read(connector, CONTEXT, QUERY.but(time_range=Window(start=NOW, end=NOW + SKEW)))
    assert isinstance(reading.outcome, Ok)


# ---- pages ---------------------------------------------------------------------------------------------


async def test_a_page_leads_to_the_next_and_the_last_one_ends() -> None:
    query = QUERY.but(budget=QueryBudget(max_pages=10))
    found, cursor = [], None
    async with paged(pages) as (fake, connector):
        for _ in range(10):
            reading = await execute_read(connector, CONTEXT, query.but(cursor=cursor))
            assert isinstance(reading.outcome, Ok)
            (observation,) = reading.outcome.observations
            assert observation.cursor == cursor
            found.append(json.loads(reading.contents[observation.digest])["names"][0])
            cursor = reading.outcome.next_cursor

    assert found == [f"n{number}" for number in range(10)]
    assert cursor is None
    assert [seen.param("after") for seen in fake.seen] == ["", *map(str, range(1, 10))]


async def test_a_page_past_max_pages_is_budget_exhausted_and_sends_nothing() -> None:
    query, cursor = QUERY.but(budget=QueryBudget(max_pages=2)), None
    async with paged(pages) as (fake, connector):
        for _ in range(2):
            reading = await execute_read(connector, CONTEXT, query.but(cursor=cursor))
            assert isinstance(reading.outcome, Ok)
            cursor = reading.outcome.next_cursor
        reading = await execute_read(connector, CONTEXT, query.but(cursor=cursor))

    assert error_of(reading) == failure(FailureCode.BUDGET_EXHAUSTED, "max_pages: 2 were read")
    assert (reading.exchanges, len(fake.seen)) == (0, 2)


async def test_the_byte_budget_counts_over_all_pages_of_a_query() -> None:
    query, cursor, shown = QUERY.but(budget=QueryBudget(max_pages=10, max_bytes=1000)), None, 0
    async with paged(lambda _: names("x" * 300, following="more")) as (fake, connector):
        while True:
            reading = await execute_read(connector, CONTEXT, query.but(cursor=cursor))
            if isinstance(reading.outcome, Error):
                break
            shown += reading.outcome.observations[0].truncation.kept_bytes
            assert isinstance(reading.outcome, Ok)
            cursor = reading.outcome.next_cursor

    assert reading.outcome.error.code is FailureCode.BUDGET_EXHAUSTED
    assert 1000 - 256 < shown <= 1000
    assert reading.exchanges == 0
    assert len(fake.seen) < 10


@pytest.mark.parametrize(
    "changes", [{"arguments": {"prefix": "b"}}, {"service_id": "db"}, {"budget": QueryBudget(max_items=7)}, {"time_range": Window(start=NOW - timedelta(hours=2), end=NOW)}]
)  # fmt: skip
async def test_a_cursor_of_another_query_is_refused(changes: dict[str, Any]) -> None:
    async with paged(pages) as (fake, connector):
        first = await execute_read(connector, CONTEXT, QUERY)
        assert isinstance(first.outcome, Ok)
        reading = await execute_read(connector, CONTEXT, QUERY.but(cursor=first.outcome.next_cursor, **changes))

    assert error_of(reading).code is FailureCode.INVALID_QUERY
    assert (reading.exchanges, len(fake.seen)) == (0, 1)


async def test_a_providers_cursor_too_long_to_hand_on_is_said() -> None:
    async with paged(lambda _: names("a", following="x" * 5000)) as (_, connector):
        reading = await execute_read(connector, CONTEXT, QUERY)

    assert isinstance(reading.outcome, Partial)
    assert (reading.outcome.error.code, reading.outcome.next_cursor) == (FailureCode.MALFORMED_RESULT, None)


# ---- time and cancel -----------------------------------------------------------------------------------


async def test_a_hanging_source_is_a_timeout_within_the_querys_time() -> None:
    async with paged(lambda _: Hang()) as (_, connector):
        reading = await asyncio.wait_for(
            execute_read(connector, CONTEXT, QUERY.but(budget=QueryBudget(timeout_ms=200))), LIMIT_S
        )
    assert error_of(reading).code is FailureCode.TIMEOUT
    assert reading.exchanges == 1


async def test_a_cancel_stays_a_cancel() -> None:
    async with paged(lambda _: Hang()) as (fake, connector):
        task = asyncio.create_task(execute_read(connector, CONTEXT, QUERY))
        await asyncio.wait_for(fake.asked.wait(), LIMIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_cancel_in_the_moment_of_the_timeout_stays_a_cancel() -> None:
    async with paged(lambda _: Hang()) as (fake, connector):
        task = asyncio.create_task(execute_read(connector, CONTEXT, QUERY.but(budget=QueryBudget(timeout_ms=1))))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert fake.seen == []


# ---- a connector of somebody else's --------------------------------------------------------------------


class Strange:
    """A tool that keeps no promise."""

    spec: ToolSpec = SPEC

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def prepare(self, arguments: Mapping[str, object], query: Query) -> Query:
        return query

    async def read(self, context: Context, query: Query) -> Reading:
        said = self.act()
        return await said if asyncio.iscoroutine(said) else said  # type: ignore[no-any-return]


async def strange(act: Callable[[], Any], query: Query = QUERY) -> tuple[Reading, list[Exception]]:
    told: list[Exception] = []
    async with paged(pages) as (_, connector):
        stranger = PagedConnector(tools=[Strange(act)], transport=connector.transport)
        return await execute_read(stranger, CONTEXT, query, unexpected=told.append), told


class Odd(Exception):
    pass


@pytest.mark.parametrize(
    "raised",
    [
        Odd,
        KeyError,
        ValueError,
        OSError,
        PermissionError,
        RecursionError,
        MemoryError,
        UnicodeError,
        AssertionError,
        NotImplementedError,
        ConnectionError,
    ],
)
async def test_any_exception_is_one_of_the_ten_without_its_text(raised: type[Exception]) -> None:
    def act() -> None:
        raise raised(SECRET)

    reading, told = await strange(act)

    assert error_of(reading).code in set(FailureCode)
    assert SECRET not in reading.model_dump_json()
    assert [type(one) for one in told] == [raised]


@given(
    st.sampled_from(
        [Odd, TimeoutError, InvalidQuery, LookupError, ArithmeticError, EOFError, ImportError, StopAsyncIteration]
    )
)
def test_any_exception_maps_to_a_failure(raised: type[Exception]) -> None:
    assert failure_of(raised("x")).code in set(FailureCode)


async def test_a_tool_without_a_timeout_of_its_own_is_ended() -> None:
    reading, told = await asyncio.wait_for(
        strange(lambda: asyncio.Event().wait(), QUERY.but(budget=QueryBudget(timeout_ms=50))), LIMIT_S
    )
    assert error_of(reading).code is FailureCode.TIMEOUT
    assert told == []


async def good_reading() -> Reading:
    async with paged(pages) as (_, connector):
        return await execute_read(connector, CONTEXT, QUERY)


@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        ({"tenant": "other"}, FailureCode.CONTEXT_MISMATCH, "tenant"),
        ({"workspace": "other"}, FailureCode.CONTEXT_MISMATCH, "workspace"),
        ({"source": "other"}, FailureCode.SCHEMA_DRIFT, "source"),
        ({"signal": "logs"}, FailureCode.SCHEMA_DRIFT, "signal"),
        ({"service": "db"}, FailureCode.SCHEMA_DRIFT, "service"),
        ({"tool": "other"}, FailureCode.SCHEMA_DRIFT, "tool"),
        ({"cursor": "x"}, FailureCode.SCHEMA_DRIFT, "cursor"),
        ({"time_range": Window(start=NOW - timedelta(days=1), end=NOW)}, FailureCode.SCHEMA_DRIFT, "time_range"),
        ({"digest": "sha256:" + "0" * 64}, FailureCode.SCHEMA_DRIFT, "digest"),
    ],
)
async def test_an_observation_that_disagrees_with_its_query_is_left_out_and_named(
    changes: dict[str, Any], code: FailureCode, named: str
) -> None:
    good = await good_reading()
    assert isinstance(good.outcome, Ok)
    (one,) = good.outcome.observations
    wrong = good.but(outcome=Ok(observations=(one, one.but(**changes))))

    reading, told = await strange(lambda: wrong)

    assert isinstance(reading.outcome, Partial)
    assert reading.outcome.observations == (one,)
    assert reading.outcome.error == failure(code, f"1 observations disagree with the query in {named}")
    assert set(reading.contents) == {one.digest}
    assert told == []
    alone, _ = await strange(lambda: good.but(outcome=Ok(observations=(one.but(**changes),))))
    assert error_of(alone).code is code


async def test_content_that_is_not_what_its_digest_names_is_left_out() -> None:
    good = await good_reading()
    assert isinstance(good.outcome, Ok)
    (one,) = good.outcome.observations
    shown = one.but(content=one.content.but(body={"kind": "names", "names": ["forged"], "about": {}}))

    assert disagreement(one, QUERY, CONTEXT, SPEC, good.contents) is None
    assert disagreement(shown, QUERY, CONTEXT, SPEC, good.contents) == "content"
    assert disagreement(one, QUERY, CONTEXT, SPEC, {one.digest: b"{}"}) == "digest"
    assert disagreement(one, QUERY, CONTEXT, SPEC, {}) == "digest"


async def test_the_shared_code_never_reaches_another_host() -> None:
    async with paged(pages) as (fake, connector):
        with watch_connections() as watch:
            await execute_read(connector, CONTEXT, QUERY.but(arguments={"prefix": "http://169.254.169.254/"}))
    assert set(watch.opened) == {f"127.0.0.1:{fake.port}"}


def test_a_query_is_read_from_what_it_was_written_to() -> None:
    assert read_query(QUERY.model_dump()) == QUERY
    assert read_query(json.loads(QUERY.canonical())) == QUERY
    assert read_query({**QUERY.model_dump(), "time_range": {"start": NOW - timedelta(hours=1), "end": NOW}}) == QUERY
