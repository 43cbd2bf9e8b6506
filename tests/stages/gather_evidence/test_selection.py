"""The cap on described tools, whatever is registered and whatever is searched for."""

from __future__ import annotations

import random

import pytest

from inquest.domain.budget import MAX_AGENT_TOOL_SCHEMAS
from inquest.domain.event import SelectionChanged
from inquest.domain.tool import RESERVED_TOOLS, ToolSpec
from inquest.models.scripted import in_order
from inquest.stages.gather_evidence.internal_tools import INTERNAL_TOOLS
from inquest.stages.gather_evidence.selection import find_tools, select, swap_in, tokens_of
from tests.loop_host import Host, call, calls, reply, spec, tool

ROOMY = 32_000
WORDS = ["disk", "queue", "cache", "node", "pod", "topic", "shard", "volume", "socket", "cron"]


def two_hundred(seed: int) -> dict[str, ToolSpec]:
    """Give 200 tools of which 60 speak of checkout errors."""
    chance = random.Random(seed)  # noqa: S311  # a seeded shuffle, no secret
    about = ["Errors of the checkout service."] * 60 + [f"Read the {chance.choice(WORDS)}." for _ in range(140)]
    chance.shuffle(about)
    made = [spec(f"tool_{n:03d}_query", description=text, cost=chance.randint(1, 10)) for n, text in enumerate(about)]
    return {one.name: one for one in made}


@pytest.mark.parametrize("seed", range(100))
def test_of_two_hundred_tools_exactly_32_are_offered_and_a_search_brings_any_in(seed: int) -> None:
    specs = two_hundred(seed)
    planned = random.Random(seed + 1000).sample(sorted(specs), 10)  # noqa: S311

    offered = select(specs, INTERNAL_TOOLS, planned=planned, about="CheckoutErrors checkout errors", most_tokens=ROOMY)

    assert len(offered) == MAX_AGENT_TOOL_SCHEMAS == 32
    assert offered[:4] == (*RESERVED_TOOLS, "open_hypothesis")
    assert list(offered[4:14]) == planned
    assert all("checkout" in specs[name].description for name in offered[14:])
    searched = sorted(specs) if seed % 10 == 0 else random.Random(seed).sample(sorted(specs), 20)  # noqa: S311
    for name in searched:
        found = tuple(one.name for one in find_tools(name, specs.values()))
        offered = swap_in(offered, found, specs, INTERNAL_TOOLS, most_tokens=ROOMY)
        assert name in offered
        assert len(set(offered)) == len(offered) == 32
        assert offered[:4] == (*RESERVED_TOOLS, "open_hypothesis")


@pytest.mark.parametrize("most_tokens", [600, 1_000, 2_000, 4_000])
def test_described_tools_fill_at_most_their_share_of_the_window(most_tokens: int) -> None:
    specs = {name: one.but(description="words " * 60) for name, one in two_hundred(1).items()}

    offered = select(specs, INTERNAL_TOOLS, planned=[], about="", most_tokens=most_tokens)

    own = sum(tokens_of(one) for one in INTERNAL_TOOLS.values())
    known = {**specs, **INTERNAL_TOOLS}
    assert sum(tokens_of(known[name]) for name in offered) <= max(most_tokens, own)
    assert set(RESERVED_TOOLS) <= set(offered)


async def test_a_searched_tool_is_on_offer_from_the_next_turn_and_can_be_called() -> None:
    host = Host([tool(f"t{n:02d}_query", cost=1) for n in range(40)] + [tool("hidden_query", cost=10)])

    await host.gather(
        in_order(
            [
                calls(call("search_tools", query="hidden_query")),
                calls(call("hidden_query", expression="up")),
                reply(""),
            ]
        )
    )

    first, second = (view.tools for view in host.views[:2])
    assert "hidden_query" not in {one.name for one in first}
    assert "hidden_query" in {one.name for one in second}
    assert len(first) == len(second) == 32
    assert [query.tool for query in host.tools[-1].ran] == ["hidden_query"]
    swaps = [one for one in (await host.state()).steering if isinstance(one, SelectionChanged)]
    assert [one.turn for one in swaps] == [1, 2]


async def test_a_search_that_finds_nothing_says_which_sources_there_are() -> None:
    host = Host([tool("metrics_query")])

    await host.gather(in_order([calls(call("search_tools", query="zzzz")), reply("")]))

    assert (await host.state()).answers[0].text == "No tool matches. Sources with tools: synthetic."


async def test_a_tool_that_is_gone_after_a_new_release_is_not_offered() -> None:
    host = Host([tool("metrics_query"), tool("old_query")])
    fence = await host.start()
    host.connector.tools = host.tools[:1]

    await host.gather(in_order([calls(call("old_query", expression="up")), reply("")]), fence)

    assert {one.name for one in host.views[0].tools} == {*INTERNAL_TOOLS, "metrics_query"}
    assert (await host.state()).answers[0].code == "invalid_query"
