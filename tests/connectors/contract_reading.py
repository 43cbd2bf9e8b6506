"""The contract: what a model sees, what a good answer becomes, and how each failure is told."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from jsonschema import Draft202012Validator

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Context, Error, Ok, Partial
from inquest.domain.signals import signal_content
from inquest.domain.window import Window
from inquest.ports import InvalidQuery
from inquest.wire.execute import disagreement
from inquest.wire.observe import content_bytes
from inquest.wire.redaction import REDACTION_VERSION
from inquest.wire.refusals import MAX_SPAN, SKEW
from tests.connectors.contract_base import (
    READABLE_FAILURES,
    WORDS_OF_CREDENTIALS,
    Contract,
    broken_forms,
    code,
    observed,
    within_a_step,
    words_shared,
)
from tests.connectors.harness import (
    CONTEXT,
    NOW,
    WINDOW,
    Grip,
    StandingClock,
    query_for,
)
from tests.fakes.connections import watch_connections
from tests.fakes.loopback import Act, Raw, Reply, Stream, loopback


class ReadingContract(Contract):
    # ---- what a model sees

    async def test_every_tool_has_a_closed_schema_and_names_no_credential_or_host(self) -> None:
        async with self.connected() as (_, connector):
            specs = [tool.spec for tool in connector.tools]
        assert len({spec.name for spec in specs}) == len(specs) > 0
        assert {spec.name for spec in specs} == set(self.harness.arguments)
        for spec in specs:
            Draft202012Validator.check_schema(spec.parameters)
            assert spec.parameters["type"] == "object"
            assert spec.parameters["additionalProperties"] is False
            assert {"start", "end"} <= set(spec.parameters["properties"])  # type: ignore[arg-type]
            assert spec.source == self.harness.source
            assert len(spec.description) > 40
            shown = spec.model_dump_json().lower()
            assert [word for word in WORDS_OF_CREDENTIALS if word in shown] == []

    async def test_the_connector_says_who_it_is(self) -> None:
        async with self.connected() as (_, connector):
            assert (connector.name, connector.type, connector.context) == (
                self.harness.source,
                self.harness.vendor,
                CONTEXT,
            )

    async def test_preparing_what_is_prepared_changes_nothing(self) -> None:
        async with self.connected() as (_, connector):
            for tool, query in self.tools(connector):
                assert tool.prepare(query.arguments, query) == query
                assert query.time_range == WINDOW

    async def test_arguments_outside_the_schema_are_refused(self) -> None:
        async with self.connected() as (fake, connector):
            for tool, query in self.tools(connector):
                for wrong in (
                    {"tenant": "other"},
                    {"url": "http://169.254.169.254/"},
                    {"workspace": "x", **query.arguments},
                ):
                    with pytest.raises(InvalidQuery):
                        tool.prepare(wrong, query)
        assert fake.seen == []

    # ---- a good answer

    async def test_the_envelope_is_complete_and_the_digest_recomputes(self) -> None:
        async with self.connected() as (fake, connector):
            for tool, query in self.tools(connector):
                before = len(fake.seen)
                reading = await self.read(connector, query)

                assert isinstance(reading.outcome, Ok), (tool.spec.name, reading.outcome)
                (one,) = reading.outcome.observations
                full = reading.contents[one.digest]
                assert (one.source, one.tenant, one.workspace, one.service) == (
                    self.harness.source,
                    "shop",
                    "main",
                    "web",
                )
                assert (one.signal, one.tool, one.time_range, one.cursor) == (
                    tool.spec.signal,
                    tool.spec.name,
                    WINDOW,
                    None,
                )
                assert (one.trust, one.retrieved_at, one.redaction_version) == (
                    "untrusted-provider-output",
                    NOW,
                    REDACTION_VERSION,
                )
                assert one.expression
                assert (one.error, one.truncated, one.truncation.original_items) == (
                    None,
                    False,
                    one.truncation.kept_items,
                )
                assert one.truncation.original_items > 0
                assert one.digest == digest_of(full)
                assert content_bytes(one.content) == full
                assert canonical_json(signal_content.validate_json(full).model_dump(mode="json")) == full
                assert disagreement(one, query, CONTEXT, tool.spec, reading.contents) is None
                assert reading.exchanges == len(fake.seen) - before > 0

    async def test_the_same_answer_at_another_time_is_the_same_observation(self) -> None:
        async with loopback(self.harness.good) as fake:
            ids = []
            for later in (timedelta(), timedelta(minutes=3)):
                connector = self.harness.connect(Grip(url=fake.url, clock=StandingClock(NOW + later)))
                _, query = self.tools(connector)[0]
                ids.append([one.observation_id for one in observed(await self.read(connector, query))])
                await connector.aclose()
        assert ids[0] == ids[1] != []

    async def test_a_broken_answer_is_never_an_exception(self) -> None:
        async with self.connected() as (fake, connector):
            for tool, query in self.tools(connector):
                for broken in broken_forms(self.harness.good_json(tool.spec.name)):
                    body = json.dumps(broken).encode()
                    fake.handler = lambda _, body=body: Reply(200, body)  # type: ignore[misc]
                    reading = await self.read(connector, query)
                    assert code(reading) in {"ok", *READABLE_FAILURES}, (tool.spec.name, broken)

    async def test_every_tool_asks_over_the_window_that_it_was_given(self) -> None:
        narrow = Window(start=WINDOW.start + timedelta(minutes=30), end=WINDOW.end - timedelta(minutes=15))
        for window in (WINDOW, narrow):
            async with self.connected() as (fake, connector):
                for tool in connector.tools:
                    del fake.seen[:]
                    query = query_for(tool, self.harness.arguments[tool.spec.name], window=window)
                    await self.read(connector, query)
                    asked = self.harness.asked_window(tool.spec.name, fake.seen)
                    assert asked is None or within_a_step(asked, window, tool.spec.step_ms), (tool.spec.name, asked)

    async def test_a_window_in_the_future_or_too_long_sends_nothing(self) -> None:
        async with self.connected() as (fake, connector):
            for tool, query in self.tools(connector):
                for window in (
                    Window(start=NOW, end=NOW + SKEW + timedelta(seconds=1)),
                    Window(start=NOW - MAX_SPAN - timedelta(1), end=NOW),
                ):
                    reading = await tool.read(CONTEXT, query.but(time_range=window))
                    assert code(reading) is FailureCode.INVALID_QUERY
        assert fake.seen == []

    # ---- failures

    @pytest.mark.parametrize("wanted", list(FailureCode))
    async def test_each_failure_code_has_a_cause(self, wanted: FailureCode) -> None:
        if wanted in self.harness.cannot_fail_as:
            assert wanted is FailureCode.CANCELLED
            return
        fails = self.harness.fails()[wanted]
        async with self.connected(fails.act) as (fake, connector):
            reading = await self.read(connector, self.case(connector, fails))

        assert code(reading) is wanted
        assert isinstance(reading.outcome, Error)
        assert bool(fake.seen) is fails.sent
        assert reading.exchanges == len(fake.seen) or wanted is FailureCode.TIMEOUT
        assert (reading.outcome.error.retry_after_ms is None) or wanted is FailureCode.RATE_LIMITED
        assert words_shared(fails.act, reading.outcome.error.hint) == []

    async def test_partial_keeps_what_came_and_says_what_is_missing(self) -> None:
        fails = self.harness.partial()
        if fails is None:
            return
        async with self.connected(fails.act) as (_, connector):
            reading = await self.read(connector, self.case(connector, fails))

        assert isinstance(reading.outcome, Partial)
        assert [one.error for one in reading.outcome.observations] == [reading.outcome.error]
        assert reading.contents

    @pytest.mark.parametrize("field", list(Context.model_fields))
    async def test_another_context_is_a_mismatch_and_sends_nothing(self, field: str) -> None:
        other = CONTEXT.but(**{field: "other"})
        async with self.connected() as (fake, connector):
            for tool, query in self.tools(connector):
                assert code(await self.read(connector, query, other)) is FailureCode.CONTEXT_MISMATCH
                assert code(await tool.read(other, query)) is FailureCode.CONTEXT_MISMATCH
        assert fake.seen == []

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_a_redirect_is_refused_and_not_followed(self, status: int) -> None:
        async with loopback(self.harness.good) as elsewhere:
            moved = Reply(status, b"", {"Location": f"{elsewhere.url}/api/v1/query"})
            async with self.connected(moved) as (fake, connector):
                with watch_connections() as watch:
                    codes = {code(await self.read(connector, query)) for _, query in self.tools(connector)}
        assert codes == {FailureCode.CAPABILITY_DENIED}
        assert elsewhere.seen == []
        assert set(watch.opened) == {f"127.0.0.1:{fake.port}"}

    @pytest.mark.parametrize(
        ("act", "wanted"),
        [
            (
                Reply(200, b"<!doctype html><title>Log in</title>", {"Content-Type": "text/html"}),
                FailureCode.MALFORMED_RESULT,
            ),
            (Reply(200, b"<html>", {"Content-Type": "application/json"}), FailureCode.MALFORMED_RESULT),
            (Reply(200, b'{"a":', {"Content-Type": "application/json"}), FailureCode.MALFORMED_RESULT),
            (Reply(200, b"[" * 100_000), FailureCode.MALFORMED_RESULT),
            (Reply(200, b"\xff\xfe"), FailureCode.MALFORMED_RESULT),
            (Reply(200, b""), FailureCode.MALFORMED_RESULT),
            (Reply(200, b"null"), FailureCode.MALFORMED_RESULT),
            (Reply(401, b"no"), FailureCode.CAPABILITY_DENIED),
            (Reply(403, b"{}"), FailureCode.CAPABILITY_DENIED),
            (Reply(500, b"<html>"), FailureCode.PROVIDER_ERROR),
            (Reply(502, b""), FailureCode.PROVIDER_ERROR),
            (Raw(), FailureCode.PROVIDER_ERROR),
            (Stream([b'{"a'], length=100), FailureCode.PROVIDER_ERROR),
        ],
    )
    async def test_what_is_no_answer_is_the_same_failure_everywhere(self, act: Act, wanted: FailureCode) -> None:
        if isinstance(act, Reply):
            wanted = self.harness.own_statuses.get(act.status, wanted)
        async with self.connected(act) as (_, connector):
            for tool, query in self.tools(connector):
                assert code(await self.read(connector, query)) is wanted, tool.spec.name
