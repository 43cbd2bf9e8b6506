"""Every ceiling ends the loop with one turn that has no tools, and what concluding costs stays set aside."""

from __future__ import annotations

import pytest

from inquest.domain.budget import Limits
from inquest.domain.event import CeilingReached, EpisodeChanged, ToolsWithdrawn
from inquest.domain.transcript import Reply, Usage
from inquest.errors import ModelError
from inquest.models.scripted import Line, count_tokens, in_order
from inquest.ports import LoopView, ModelFailure
from tests.builders import T0, at, episode
from tests.loop_host import Host, call, calls, judged, reply, tool


def new_call(view: LoopView) -> Reply:
    return calls(call("metrics_query", expression=f"up{view.turn}"))


async def withdrawn_at(host: Host) -> tuple[str, int]:
    event = (await host.state()).withdrawn
    assert isinstance(event, ToolsWithdrawn)
    return event.why, event.turn


async def test_time_is_up_when_only_the_concluding_reserve_is_left() -> None:
    host = Host([tool("metrics_query")])

    def one_minute_a_turn(view: LoopView) -> Reply:
        host.clock.pass_(60)
        return new_call(view)

    gathered = await host.gather(one_minute_a_turn)

    # 10 minutes less 120 s: turns 1 to 8 have tools, turn 9 begins at 8:00 and is the last.
    assert (gathered.stop_reason, gathered.turns) == ("deadline", 9)
    assert await withdrawn_at(host) == ("deadline", 9)
    assert [view.last for view in host.views] == [False] * 8 + [True]


async def test_a_short_wall_clock_sets_a_fifth_of_itself_aside() -> None:
    host = Host([tool("metrics_query")], limits=Limits(wall_clock_s=100))

    def ten_seconds_a_turn(view: LoopView) -> Reply:
        host.clock.pass_(10)
        return new_call(view)

    assert (await host.gather(ten_seconds_a_turn)).turns == 9


async def test_at_the_deadline_itself_nobody_is_asked_any_more() -> None:
    host = Host([tool("metrics_query")])

    def too_long(view: LoopView) -> Reply:
        host.clock.pass_(700)
        return new_call(view)

    gathered = await host.gather(too_long)

    assert (gathered.stop_reason, gathered.turns, host.executions) == ("deadline", 1, 0)
    assert gathered.limits_hit == ("deadline",)


async def test_a_worker_that_comes_after_the_deadline_asks_nothing() -> None:
    host = Host([tool("metrics_query")], seeds=("errors",))
    fence = await host.start()
    host.clock.pass_(700)

    gathered = await host.gather(new_call, fence)

    assert (gathered.stop_reason, gathered.turns, len(host.views)) == ("deadline", 0, 0)


async def test_tokens_are_set_aside_for_concluding_before_they_are_spent() -> None:
    used = Usage(input_tokens=1_000, output_tokens=500)
    host = Host([tool("metrics_query")], limits=Limits(max_tokens=40_000, max_output_tokens=1_000))

    gathered = await host.gather(lambda view: new_call(view).but(usage=used))

    state = await host.state()
    assert gathered.stop_reason == "max_tokens"
    assert len(state.turns) > 5
    for number, turn in enumerate(state.turns):
        turns_set_aside = 1 if turn is state.turns[-1] else 4
        assert number * 1_500 + turns_set_aside * (turn.request_tokens + 1_000) <= 40_000


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=None, output_tokens=7)])
async def test_unknown_usage_counts_as_our_own_upper_estimate_and_never_as_nothing(usage: Usage) -> None:
    host = Host([tool("metrics_query")], limits=Limits(max_tokens=30_000, max_output_tokens=500))

    gathered = await host.gather(lambda view: new_call(view).but(usage=usage))

    state = await host.state()
    assert gathered.stop_reason == "max_tokens"
    assert state.spend.turns_of_unknown_usage == len(state.turns)
    assert state.spend.input_tokens == 0
    assert state.guarded_tokens >= sum(turn.request_tokens for turn in state.turns)


async def test_no_turn_is_asked_that_alone_would_cross_the_token_ceiling() -> None:
    host = Host([tool("metrics_query")], limits=Limits(max_tokens=1_000))

    gathered = await host.gather(new_call)

    assert (gathered.stop_reason, gathered.turns, len(host.views)) == ("max_tokens", 0, 0)


async def test_dollars_are_set_aside_at_the_price_of_the_dearest_turn() -> None:
    host = Host([tool("metrics_query")], limits=Limits(max_usd_micros=100_000))

    gathered = await host.gather(lambda view: new_call(view).but(cost_usd_micros=10_000))

    state = await host.state()
    # After 7 turns 70,000 are used; one more with tools and three to conclude would make 110,000.
    assert (gathered.stop_reason, gathered.turns) == ("max_usd", 8)
    assert state.spend.usd_micros == 80_000


def a_cent_a_thousand(input_tokens: int, output_tokens: int) -> int:
    return 10 * (input_tokens + output_tokens)


async def test_without_dollars_nobody_is_asked_even_once() -> None:
    host = Host([tool("metrics_query")], limits=Limits(max_usd_micros=0), price=a_cent_a_thousand)

    gathered = await host.gather(new_call)

    assert (gathered.stop_reason, gathered.turns, len(host.views)) == ("max_usd", 0, 0)
    assert gathered.limits_hit == ("max_usd",)


async def test_the_first_turn_is_asked_only_when_concluding_can_be_paid_for_too() -> None:
    limits = Limits(max_output_tokens=1_000)
    first = Host([tool("metrics_query")], limits=limits, price=a_cent_a_thousand)
    await first.gather(in_order([calls(call("metrics_query", expression="up"))]))
    turn = a_cent_a_thousand((await first.state()).turns[0].request_tokens, 1_000)

    offered = []
    for most in (4 * turn, 4 * turn - 1):
        host = Host([tool("metrics_query")], limits=limits.but(max_usd_micros=most), price=a_cent_a_thousand)
        await host.gather(in_order([calls(call("metrics_query", expression="up"))]))
        offered.append(bool(host.views[0].tools))

    assert offered == [True, False]


async def test_dollars_are_never_passed_whatever_a_turn_costs() -> None:
    host = Host([tool("metrics_query")], limits=Limits(max_usd_micros=400_000), price=a_cent_a_thousand)

    def as_dear_as_can_be(view: LoopView) -> Reply:
        assert host.investigator is not None
        asked = count_tokens(host.investigator.requests[-1])
        return new_call(view).but(cost_usd_micros=a_cent_a_thousand(asked, view.max_output_tokens))

    gathered = await host.gather(as_dear_as_can_be)

    assert gathered.stop_reason == "max_usd"
    assert len((await host.state()).turns) > 1
    assert 0 < (await host.state()).spend.usd_micros <= 400_000


async def test_what_costs_nothing_needs_no_dollars() -> None:
    host = Host([tool("metrics_query")], limits=Limits(max_usd_micros=0))

    gathered = await host.gather(lambda view: new_call(view).but(cost_usd_micros=0))

    assert (gathered.stop_reason, gathered.turns) == ("max_turns", 20)


async def test_unknown_cost_is_counted_apart() -> None:
    host = Host([tool("metrics_query")])

    await host.gather(in_order([calls(call("metrics_query", expression="up")), calls(*judged("h1")), reply("Done.")]))

    spend = (await host.state()).spend
    assert (spend.usd_micros, spend.turns_of_unknown_cost, spend.model_turns) == (0, 3, 3)


async def test_the_last_turn_is_one_of_the_twenty() -> None:
    host = Host([tool("metrics_query")], limits=Limits(max_model_turns=1))

    gathered = await host.gather(in_order([reply("Nothing was asked.")]))

    assert (gathered.stop_reason, gathered.turns, gathered.conclusion) == ("max_turns", 1, "Nothing was asked.")
    assert host.views[0].tools == ()


async def test_seeds_count_as_calls() -> None:
    host = Host([tool("metrics_query")], seeds=("a", "b", "c"), limits=Limits(max_connector_effects=4))

    gathered = await host.gather(
        lambda view: calls(*(call("metrics_query", expression=f"u{view.turn}{n}") for n in range(3)))
    )

    assert (gathered.stop_reason, host.executions) == ("max_calls", 4)


async def test_the_footer_has_every_ceiling_with_what_was_used() -> None:
    host = Host([tool("metrics_query")], limits=Limits(max_model_turns=3))

    await host.gather(new_call)

    steering = (await host.state()).steering
    assert [one for one in steering if isinstance(one, CeilingReached)] == [
        CeilingReached(turn=3, ceiling="max_turns", used=2, allowed=3)
    ]


@pytest.mark.parametrize("kind", [ModelFailure.AUTHENTICATION, ModelFailure.QUOTA, ModelFailure.OVERLOADED])
async def test_a_model_that_fails_ends_degraded_with_the_evidence_so_far(kind: ModelFailure) -> None:
    host = Host([tool("metrics_query")], seeds=("errors",))
    failing: list[Line] = [calls(call("metrics_query", expression="up")), ModelError(kind, "what the table says")]

    gathered = await host.gather(in_order(failing))

    assert gathered.stop_reason == "model_failed"
    assert gathered.degraded == f"the model failed ({kind}): what the table says"
    assert len((await host.state()).evidence) == 2


async def test_members_that_join_between_turns_are_shown_and_move_the_window() -> None:
    other = episode().members[0].but(alert_id="a-9")
    change = EpisodeChanged(
        joined=(other,), resolved=("a-1",), fired_again=("a-3",), window_end=at(45), unlisted_resolved=4,
        unlisted_fired_again=1,
    )  # fmt: skip
    pending = [change]

    async def changes() -> EpisodeChanged | None:
        return pending.pop() if pending and len(host.views) == 1 else None

    host = Host([tool("metrics_query")], episode_changes=changes)

    await host.gather(in_order([calls(call("metrics_query", expression="up"))]))

    state = await host.state()
    members = state.investigation.episode.members
    assert [(one.alert_id, one.alert.status) for one in members] == [("a-1", "resolved"), ("a-9", "firing")]
    assert state.investigation.facts is not None
    assert state.investigation.facts.window.incident.end == at(45)
    assert "The episode changed" in str(host.views[1].messages)
    assert "5 resolved, 2 fire again" in str(host.views[1].messages)
    # The same words ask about a longer window now: this is a new call, and the next one is not.
    assert [query.time_range.end for query in host.tools[0].ran] == [at(30), at(45)]
    assert state.investigation.started_at == T0
