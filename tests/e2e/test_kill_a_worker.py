"""A worker is killed between two answers of a batch: another one goes on, and buys nothing a second time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Row

from inquest.entrypoints.cli.exits import Exit
from tests.e2e.journals import Entry
from tests.e2e.prometheus_proxy import is_health_check
from tests.e2e.servers import Running, needs_servers
from tests.e2e.stand_ins import StandIn, journalling_proxy, model_provider
from tests.e2e.store import Store, opened
from tests.e2e.world import World, world
from tests.waiting import until

pytestmark = [pytest.mark.e2e, needs_servers]

PATIENCE_S = 60.0
TAKEN_OVER_WITHIN_S = 10.0
"""The issue's bound on the take-over: that it happens, not how fast it is."""
RANGE, ANSWERED, HELD = "prometheus_query_range", "turn/3/call/1", "turn/3/call/2"
HELD_QUERY = "max(checkout_db_pool_connections_in_use)"


def _judge(hypothesis: str, judgement: str, *evidence: str) -> tuple[str, dict[str, Any]]:
    arguments = {"hypothesis": hypothesis, "judgement": judgement, "evidence": evidence, "reason": "as scripted"}
    return "judge", arguments


SCRIPT: list[dict[str, Any]] = [
    {"calls": [("prometheus_rules", {}), ("prometheus_series", {"selector": '{service="checkout"}'})]},
    {"calls": [_judge("h1", "open"), _judge("h3", "open"), _judge("h4", "open")]},
    {
        "calls": [
            (RANGE, {"expression": "sum(rate(checkout_http_requests_total[30s]))"}),
            (RANGE, {"expression": HELD_QUERY}),
        ]
    },
    {"calls": [_judge("h2", "supported", "E6", "E7")]},
    {"content": "The pool of connections looks full, but its baseline was not looked at."},
    {
        "content": json.dumps(
            {"verdict": "inconclusive", "root_cause": "Not shown.", "next_checks": ["Look at the pool's baseline."]}
        )
    },
]
"""Five turns and the diagnosis. The third asks two queries, the second of which is held."""


@dataclass(frozen=True)
class Rig:
    """The world with a scripted model, a door before Prometheus that holds one query, and two workers."""

    world: World
    provider: StandIn
    proxy: StandIn

    def worker_of(self, owner_id: str) -> Running:
        """Give the worker that calls itself so in its log."""
        (found,) = [one for one in self.world.workers if f'"owner": "{owner_id}"' in one.output()]
        return found


@contextmanager
def rigged(folder: Path) -> Iterator[Rig]:
    proxies: list[StandIn] = []

    @contextmanager
    def held(upstream: str) -> Iterator[str]:
        with journalling_proxy(folder, upstream, held=HELD_QUERY) as proxy:
            proxies.append(proxy)
            yield proxy.url

    with ExitStack() as starts:
        provider = starts.enter_context(model_provider(folder, SCRIPT))
        model = {
            "names": ["scripted"],
            "base_url": provider.url,
            "context_window_tokens": 128_000,
            "price": {"input_usd": 1.0, "output_usd": 10.0},
        }
        running = starts.enter_context(world(folder, workers=2, model=model, before_prometheus=held))
        yield Rig(world=running, provider=provider, proxy=proxies[0])


async def test_a_killed_worker_is_followed_by_another_that_repeats_no_recorded_call(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    with rigged(tmp_path) as rig:
        rig.world.shop.break_it()
        async with opened(rig.world.inquest) as store:
            await until(store.investigation, patience_s=PATIENCE_S)
            row = await only(store)
            with rig.world.inquest.command("show", row.investigation_id, "--follow", name="follow") as follower:
                before = await between_two_answers(store, rig)
                await kill_the_owner(store, rig, say)
                await until(store.has_ended, patience_s=PATIENCE_S)
                await until(store.nothing_to_deliver, patience_s=PATIENCE_S)
                assert follower.process.wait(PATIENCE_S) == Exit.OPEN, follower.output()

            asked_for_each_turn_once(rig.provider.entries())
            asked_no_recorded_query_again(rig.proxy.entries())
            row, after = await only(store), await store.effects()
            assert (row.status, row.verdict, row.generation) == ("succeeded", "inconclusive", 2)
            keeps_every_receipt(before, after)
            delivered_once(rig, row.investigation_id, await store.deliveries())
        assert follower.output().count("another worker goes on") == 1
        replayed = rig.world.inquest.run("replay", row.investigation_id, "--json")
        assert (replayed.returncode, json.loads(replayed.stdout)["equal"]) == (Exit.ANSWERED, True)


async def only(store: Store) -> Row[Any]:
    row = await store.investigation()
    assert row is not None
    return row


async def between_two_answers(store: Store, rig: Rig) -> dict[str, Row[Any]]:
    """Wait until turn 3 is answered and one of its two queries has its receipt; the other one is on its way."""

    async def is_there() -> bool:
        found = {key: row.state for key, row in (await store.effects()).items()}
        held = any(HELD_QUERY in str(entry) for entry in rig.proxy.entries())
        return held and (found.get(ANSWERED), found.get(HELD)) == ("committed", "reserved")

    await until(is_there, patience_s=PATIENCE_S)
    return await store.effects()


async def kill_the_owner(store: Store, rig: Rig, say: Callable[[str], None]) -> None:
    """Kill the worker that owns the investigation, and wait for the other one to begin."""
    row = await only(store)
    killed_at = await store.now()
    rig.worker_of(row.owner_id).kill()
    await until(lambda: store.taken_over_at(row.generation + 1), patience_s=TAKEN_OVER_WITHIN_S)
    began_at = await store.taken_over_at(row.generation + 1)
    assert began_at is not None
    say(f"kill -9 to taken over: {(began_at - killed_at).total_seconds():.1f} s")


# ---- nothing twice ---------------------------------------------------------------------------------------


def keeps_every_receipt(before: dict[str, Row[Any]], after: dict[str, Row[Any]]) -> None:
    """Check that what was recorded before the kill stands as it was, and that the rest was taken up once."""
    recorded = {key: row for key, row in before.items() if row.state == "committed"}
    assert {"turn/1", "turn/2", "turn/3", ANSWERED} <= recorded.keys()
    assert {key: after[key] for key in recorded} == recorded
    assert (after[HELD].state, after[HELD].generation, after[HELD].dispatches) == ("committed", 2, 2)
    assert {row.dispatches for key, row in after.items() if key != HELD} == {1}


def asked_for_each_turn_once(provider: list[Entry]) -> None:
    assert [entry["reply"] for entry in provider] == list(range(1, len(SCRIPT) + 1))


def asked_no_recorded_query_again(proxy: list[Entry]) -> None:
    """Check that only the query without a receipt was sent twice."""
    sent = Counter(json.dumps([entry["path"], entry["params"]]) for entry in proxy if is_of_an_effect(entry))
    held = {query: count for query, count in sent.items() if HELD_QUERY in query}
    assert list(held.values()) == [2]
    assert {count for query, count in sent.items() if query not in held} == {1}
    assert sum("sum(rate(checkout_http_requests_total[30s]))" in query for query in sent) == 1


def is_of_an_effect(entry: Entry) -> bool:
    """Tell a query from an answer, and from a worker's question whether Prometheus is well."""
    return entry["what"] == "asked" and not is_health_check(entry["params"])


def delivered_once(rig: Rig, investigation: str, deliveries: Sequence[Row[Any]]) -> None:
    """Check that there is one report, in one folder, and one delivery for it."""
    planned = [row.kind for row in deliveries]
    assert planned == ["received", "progress", "report"]
    assert deliveries[-1].state == "sent"
    written = [one.kind for one in rig.world.inquest.revisions(investigation)]
    assert written == [row.kind for row in deliveries if row.state == "sent"]
    verified = rig.world.inquest.run("verify", str(rig.world.inquest.reports / investigation))
    assert verified.returncode == Exit.ANSWERED, verified.stdout
