"""The contract: time, size, pages, hosts, hostile text and secrets."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from inquest.domain.canonical import canonical_json
from inquest.domain.failure import FailureCode
from inquest.domain.observation import Ok, QueryBudget
from inquest.ports import Connector, InvalidQuery, Tool
from tests.connectors.contract_base import (
    LIMIT_S,
    SHORT,
    Contract,
    code,
    observed,
)
from tests.connectors.harness import (
    CONTEXT,
    PUBLIC_URL,
    SECRET,
    query_for,
)
from tests.connectors.hostile import HOSTILE, UNSAFE, forms_of, peak_growth_bytes
from tests.fakes.connections import watch_connections
from tests.fakes.loopback import Act, Handler, Hang, Loopback, Raw, Reply, Seen, Stream


class SafetyContract(Contract):
    # ---- time, size, cancel

    async def test_a_hanging_and_a_dripping_source_end_in_the_querys_time_and_peers_are_not_affected(self) -> None:
        async with self.connected() as (fake, connector):
            _, query = self.tools(connector)[0]
            slow = query.but(budget=SHORT)

            for act in (Hang(), Stream((b" " for _ in range(10**6)), pause_s=0.02)):
                acts: list[Act | None] = [act, None]

                def first_is_slow(seen: Seen, acts: list[Act | None] = acts) -> Act:
                    return acts.pop(0) or self.harness.good(seen) if acts else self.harness.good(seen)

                fake.handler = first_is_slow
                late = asyncio.create_task(self.read(connector, slow))
                while len(acts) == 2:
                    await asyncio.wait_for(fake.asked.wait(), LIMIT_S)
                    await asyncio.sleep(0)
                assert isinstance((await self.read(connector, query)).outcome, Ok)
                assert code(await late) is FailureCode.TIMEOUT

    async def test_thirty_two_hung_calls_end_in_their_time_beside_a_peer_and_leave_the_source_free(self) -> None:
        async with self.connected(Hang()) as (fake, connector), self.connected() as (_, other):
            _, query = self.tools(connector)[0]
            slow = query.but(budget=QueryBudget(timeout_ms=1_000))
            hung = [asyncio.create_task(self.read(connector, slow)) for _ in range(32)]
            assert isinstance((await self.read(other, query)).outcome, Ok)
            assert {code(one) for one in await asyncio.gather(*hung)} == {FailureCode.TIMEOUT}

            fake.handler = self.harness.good
            assert isinstance((await self.read(connector, query)).outcome, Ok)

    async def test_a_cancel_passes_and_is_no_timeout(self) -> None:
        async with self.connected(Hang()) as (fake, connector):
            tool, query = self.tools(connector)[0]
            task = asyncio.create_task(tool.read(CONTEXT, query))
            await asyncio.wait_for(fake.asked.wait(), LIMIT_S)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(fake.left.wait(), LIMIT_S)

    async def test_fifty_megabytes_are_cut_at_the_transport_cap_in_bounded_memory(self) -> None:
        async with self.connected(Stream(b'{"x":"' + b"y" * 65_530 for _ in range(800))) as (fake, connector):
            _, query = self.tools(connector)[0]
            reading, grown = await peak_growth_bytes(
                self.read(connector, query.but(budget=QueryBudget(timeout_ms=30_000)))
            )
            await asyncio.wait_for(fake.left.wait(), LIMIT_S)

        assert code(reading) is FailureCode.BUDGET_EXHAUSTED
        assert grown < 100_000_000

    async def test_a_small_budget_shows_less_and_digests_the_same(self) -> None:
        async with self.connected(self.harness.telling("long " * 400)) as (_, connector):
            for _, query in self.tools(connector):
                whole = observed(await self.read(connector, query.but(budget=QueryBudget(max_bytes=1_000_000))))
                small = observed(await self.read(connector, query.but(budget=QueryBudget(max_bytes=300))))
                assert [one.digest for one in whole] == [one.digest for one in small]
                for one in small:
                    assert one.truncated is (one.truncation.original_bytes > 300)
                    assert one.truncated or query.tool in self.harness.holds_no_text
                    assert len(canonical_json(one.content.body)) <= 300
                    assert one.truncation.kept_bytes <= 300

    # ---- pages

    async def test_a_cursor_that_was_not_given_sends_nothing(self) -> None:
        async with self.connected() as (fake, connector):
            for _, query in self.tools(connector):
                for cursor in ("", "x", "eyJwYWdlIjoyfQ==", "a" * 5000):
                    assert code(await self.read(connector, query.but(cursor=cursor))) is FailureCode.INVALID_QUERY
        assert fake.seen == []

    async def test_pages_follow_each_other_to_the_end_of_the_budget(self) -> None:
        pages = self.harness.pages()
        if pages is None:
            return
        async with self.connected(pages.handler) as (fake, connector):
            tool = next(one for one in connector.tools if one.spec.name == pages.tool)
            query = query_for(tool, self.harness.arguments[pages.tool], budget=QueryBudget(max_pages=2))
            first = await self.read(connector, query)
            assert isinstance(first.outcome, Ok)
            cursor = first.outcome.next_cursor
            assert cursor is not None
            changed = cursor[:10] + ("A" if cursor[10] != "A" else "B") + cursor[11:]
            for wrong in (query.but(cursor=changed), query.but(cursor=cursor, service_id="db")):
                assert code(await self.read(connector, wrong)) is FailureCode.INVALID_QUERY
            second = await self.read(connector, query.but(cursor=cursor))
            assert isinstance(second.outcome, Ok)
            assert [one.cursor for one in second.outcome.observations] == [cursor]
            assert {one.digest for one in first.outcome.observations}.isdisjoint(
                one.digest for one in second.outcome.observations
            )
            sent = len(fake.seen)
            third = await self.read(connector, query.but(cursor=second.outcome.next_cursor))
        assert second.outcome.next_cursor is not None
        assert code(third) is FailureCode.BUDGET_EXHAUSTED
        assert len(fake.seen) == sent

    # ---- hosts, hostile text, secrets

    async def test_no_text_in_an_argument_reaches_another_host_or_another_door(self) -> None:
        async with self.connected() as (fake, connector):
            good = {(seen.method, seen.path) for seen in await self.all_requests(fake, connector)}
            with watch_connections() as watch:
                for tool in connector.tools:
                    for name in self.harness.foreign_texts[tool.spec.name]:
                        for text in HOSTILE:
                            await self.try_text(connector, tool, {**self.harness.arguments[tool.spec.name], name: text})
        assert set(watch.opened) <= {f"127.0.0.1:{fake.port}"}
        assert set(watch.resolved) <= {"127.0.0.1"}
        assert {seen.headers["host"] for seen in fake.seen} == {f"127.0.0.1:{fake.port}"}
        assert {seen.method for seen in fake.seen} <= {"GET", "POST"}
        assert {seen.path for seen in fake.seen if seen.method == "POST"} <= self.harness.post_paths
        assert {method for method, _ in good} <= {"GET", "POST"}

    async def test_hostile_text_in_an_answer_is_only_content(self) -> None:
        for text in HOSTILE:
            async with self.connected(self.harness.telling(text)) as (fake, connector):
                with watch_connections() as watch:
                    for _, query in self.tools(connector):
                        reading = await self.read(connector, query)
                        for one in observed(reading):
                            assert one.trust == "untrusted-provider-output"
                        shown = reading.outcome.model_dump_json() + "".join(
                            map(bytes.decode, reading.contents.values())
                        )
                        assert not set(json.loads(json.dumps(shown))) & UNSAFE
            assert set(watch.opened) <= {f"127.0.0.1:{fake.port}"}

    async def test_the_credential_is_sent_and_seen_nowhere(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        shown: list[str] = []
        acts: list[Handler | Act] = [
            self.harness.good,
            self.harness.telling(f"it said {SECRET}"),
            Reply(500, SECRET.encode()),
            Raw(SECRET.encode()),
        ]
        for act in acts:
            async with self.connected(act) as (fake, connector):
                for tool, query in self.tools(connector):
                    reading = await self.read(connector, query)
                    shown += [f"{reading!r}", *map(bytes.decode, reading.contents.values()), f"{tool!r} {tool.spec!r}"]
                    shown.append(connector.link(query))
                shown += [f"{connector!r} {connector}", f"{vars(connector)!r}"]
            assert any(
                SECRET in str(seen.headers) or forms_of(SECRET) & set(str(seen.headers).split("'"))
                for seen in fake.seen
            )
        everything = "\n".join([*shown, caplog.text])
        assert [form for form in forms_of(SECRET) if form in everything] == []

    async def test_a_secret_in_an_argument_is_refused_and_not_repeated(self) -> None:
        async with self.connected() as (fake, connector):
            for tool in connector.tools:
                for name in self.harness.foreign_texts[tool.spec.name]:
                    for secret in (SECRET, "AKIA" + "Q" * 16, "glpat-" + "a1" * 10):
                        query = query_for(tool, self.harness.arguments[tool.spec.name])
                        reading = await self.read(
                            connector, query.but(arguments={**query.arguments, name: f"x {secret}"})
                        )
                        assert code(reading) is FailureCode.INVALID_QUERY
                        assert secret not in reading.model_dump_json()
                        with pytest.raises(InvalidQuery) as refused:
                            tool.prepare({**query.arguments, name: f"x {secret}"}, query)
                        assert secret not in refused.value.hint
        assert fake.seen == []

    # ---- the rest of the port

    async def test_a_link_is_a_page_of_the_source_or_nothing(self) -> None:
        async with self.connected() as (fake, connector):
            links = [connector.link(query) for _, query in self.tools(connector)]
        assert all(link == "" or link.startswith(PUBLIC_URL) for link in links)
        assert any(links)
        assert fake.seen == []

    async def test_health_asks_and_never_raises(self) -> None:
        async with self.connected() as (fake, connector):
            assert await connector.health() == "ok"
            assert len(fake.seen) == 1
            for act in (
                Reply(401, b"{}"),
                Reply(500, b""),
                Raw(),
                Reply(200, b"<html>", {"Content-Type": "text/html"}),
            ):
                fake.handler = lambda _, act=act: act  # type: ignore[misc]
                assert await connector.health() == "failing"

    # ---- pieces

    async def all_requests(self, fake: Loopback, connector: Connector) -> list[Seen]:
        for _, query in self.tools(connector):
            await self.read(connector, query)
        return list(fake.seen)

    async def try_text(self, connector: Connector, tool: Tool, arguments: dict[str, object]) -> None:
        try:
            query = tool.prepare(arguments, query_for(tool, self.harness.arguments[tool.spec.name]))
        except InvalidQuery:
            return
        await self.read(connector, query)
