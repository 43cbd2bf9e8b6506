"""Models that never stop, never conclude, or write garbage: exact counts of what they bring about."""

from __future__ import annotations

import json

import pytest

from inquest.domain.event import Nudge, ToolsWithdrawn
from inquest.domain.failure import FailureCode
from inquest.domain.transcript import Reply, ToolCall
from inquest.models.scripted import in_order
from inquest.ports import LoopView
from tests.builders import matrix
from tests.loop_host import Host, call, calls, judged, raw_call, reply, tool


async def test_the_same_call_for_ever_runs_once_and_ends_by_turn_four() -> None:
    host = Host([tool("metrics_query")])

    gathered = await host.gather(in_order([calls(call("metrics_query", expression="up"))]))

    state = await host.state()
    assert host.executions == 1
    assert [nudge.why for nudge in state.nudges] == ["stagnant", "stagnant"]
    assert gathered.stop_reason == "stagnant"
    assert gathered.turns == 4


async def test_the_same_call_spelled_anew_each_time_runs_once() -> None:
    spellings = [
        '{"expression": "sum(rate(x[5m]))", "start": "2026-03-01T09:00:00Z", "end": "2026-03-01T10:00:00Z"}',
        '{"end":"2026-03-01T10:00:07Z","start":"2026-03-01T09:00:09.5Z","expression":"sum( rate( x[5m] ) )"}',
        '{\n"start":"2026-03-01T10:00:14+01:00",\t"expression":"sum (rate (x [5m]))","end":"2026-03-01T11:00:00+01:00"}',
    ]
    host = Host([tool("metrics_query")])
    lines = [calls(raw_call("metrics_query", spelling)) for spelling in spellings]

    gathered = await host.gather(in_order(lines))

    assert host.executions == 1
    assert len((await host.state()).nudges) == 2
    assert (gathered.stop_reason, gathered.turns) == ("stagnant", 4)


async def test_always_a_new_call_ends_at_turn_twenty_which_has_no_tools() -> None:
    host = Host([tool("metrics_query")])

    def three_new_calls(view: LoopView) -> Reply:
        return calls(*(call("metrics_query", expression=f"up{view.turn}_{n}") for n in range(3)))

    gathered = await host.gather(three_new_calls)

    assert (gathered.stop_reason, gathered.turns) == ("max_turns", 20)
    assert host.executions == 57
    assert host.investigator is not None
    assert [bool(request.tools) for request in host.investigator.requests] == [True] * 19 + [False]


async def test_sixty_calls_are_the_end_of_calls() -> None:
    host = Host([tool("metrics_query")])

    gathered = await host.gather(
        lambda view: calls(*(call("metrics_query", expression=f"up{view.turn}_{n}") for n in range(40)))
    )

    state = await host.state()
    assert host.executions == 60
    assert (gathered.stop_reason, gathered.turns) == ("max_calls", 3)
    refused = [answer for answer in state.answers if answer.batch == "turn/2" and answer.how == "refusal"]
    assert [answer.code for answer in refused] == [FailureCode.BUDGET_EXHAUSTED] * 20
    assert gathered.limits_hit == ("max_calls",)


async def test_forty_calls_in_one_turn_give_forty_results_in_asked_order_eight_at_once() -> None:
    one = tool("metrics_query")
    host = Host([one])
    asked = calls(*(call("metrics_query", f"id-{n}", expression=f"up{n}") for n in range(40)))

    await host.gather(in_order([asked, calls(*judged("h1")), reply("It broke.")]))

    assert one.most_at_once == 8
    assert host.investigator is not None
    results = [message for message in host.investigator.requests[1].messages if message.role == "tool"]
    assert [result.call_id for result in results] == [f"id-{n}" for n in range(40)]
    assert all(f'up{n}"' in result.text for n, result in enumerate(results))


async def test_calls_past_forty_in_a_turn_are_refused_and_past_two_hundred_only_counted() -> None:
    host = Host([tool("metrics_query")])
    asked = calls(*(call("metrics_query", f"id-{n}", expression=f"up{n}") for n in range(230)))

    await host.gather(in_order([asked, reply("")]))

    state = await host.state()
    refused = [answer for answer in state.answers if answer.batch == "turn/1" and answer.how == "refusal"]
    assert host.executions == 40
    assert [answer.ordinal for answer in refused] == list(range(41, 201))
    assert {answer.code for answer in refused} == {"budget_exhausted"}
    assert state.turns[0].unlisted_calls == 30
    assert host.investigator is not None
    assert "30 more calls were not read" in str(host.investigator.requests[1].messages)


GARBAGE = {
    "truncated": raw_call("metrics_query", '{"expression": "up'),
    "broken quotes": raw_call("metrics_query", '{"q": "a"b"}'),
    "not an object": raw_call("metrics_query", '["up"]'),
    "a number of 5000 digits": raw_call("metrics_query", '{"expression": ' + "9" * 5000 + "}"),
    "deep": raw_call("metrics_query", '{"expression": ' + "[" * 5000 + "]" * 5000 + "}"),
    "too large": raw_call("metrics_query", json.dumps({"expression": "x" * 20_000})),
    "NaN": raw_call("metrics_query", '{"expression": NaN}'),
    "a lone surrogate": raw_call("metrics_query", '{"expression": "\\ud800"}'),
    "a NUL": raw_call("metrics_query", '{"expression": "\\u0000"}'),
    "schema": raw_call("metrics_query", '{"expression": 7}'),
    "no required field": raw_call("metrics_query", "{}"),
    "an unknown field": raw_call("metrics_query", '{"expression": "up", "tenant": "other"}'),
    "refused by the tool": raw_call("metrics_query", '{"expression": "invalid("}'),
    "outside the window": raw_call("metrics_query", '{"expression": "up", "start": "2020-01-01T00:00:00Z"}'),
    "backwards": raw_call(
        "metrics_query", '{"expression": "up", "start": "2026-03-01T10:00:00Z", "end": "2026-03-01T09:00:00Z"}'
    ),
    "no such tool": raw_call("kubectl_delete", '{"expression": "up"}'),
    "a trailing space": raw_call("metrics_query ", '{"expression": "up"}'),
    "a prefix": raw_call("functions.metrics_query", '{"expression": "up"}'),
    "no name": raw_call("", '{"expression": "up"}'),
    "not on offer": raw_call("hidden_query", '{"expression": "up"}'),
}


@pytest.mark.parametrize("bad", GARBAGE.values(), ids=GARBAGE)
async def test_a_bad_call_becomes_a_result_and_runs_nothing(bad: ToolCall) -> None:
    tools = [tool("metrics_query"), *(tool(f"t{n}_query") for n in range(28)), tool("hidden_query", cost=10)]
    host = Host(tools)

    gathered = await host.gather(in_order([calls(bad)]))

    state = await host.state()
    first = state.answers[0]
    assert host.executions == 0
    assert first.how == "refusal"
    assert first.code in ("invalid_query", "capability_denied")
    assert first.text
    assert (gathered.stop_reason, len(state.nudges)) == ("stagnant", 2)


async def test_an_unknown_tool_is_told_which_ones_are_allowed() -> None:
    host = Host([tool("metrics_query")])

    await host.gather(in_order([calls(raw_call("kubectl_delete", "{}"))]))

    assert "Allowed: search_tools, read_evidence, judge, open_hypothesis, metrics_query" in (
        (await host.state()).answers[0].text
    )


async def test_bad_calls_in_history_are_shown_as_what_strict_providers_take() -> None:
    host = Host([tool("metrics_query")])
    bad = calls(raw_call("query logs ", "{bad", "same"), raw_call("metrics_query", "[1]", "same"), raw_call("", "", ""))

    await host.gather(in_order([bad, reply("")]))

    assert host.investigator is not None
    turn = next(message for message in host.investigator.requests[1].messages if message.role == "assistant")
    assert [json.loads(one.arguments) for one in turn.tool_calls] == [{}, {}, {}]
    assert len({one.call_id for one in turn.tool_calls}) == 3
    assert all(one.name and " " not in one.name for one in turn.tool_calls)


async def test_a_model_that_never_judges_gets_two_nudges_and_ends_inconclusive() -> None:
    host = Host([tool("metrics_query")])

    gathered = await host.gather(in_order([reply("It was the network.")]))

    assert (gathered.stop_reason, gathered.turns) == ("never_concluded", 3)
    assert [nudge.why for nudge in (await host.state()).nudges] == ["unjudged", "unjudged"]


@pytest.mark.parametrize("nothing", ["", "   \n", '{"rootCause":{}}', '{"name":"kubectl_get","arguments":{}}', "[]"])
async def test_a_reply_that_says_nothing_is_nudged_and_never_becomes_the_conclusion(nothing: str) -> None:
    host = Host([tool("metrics_query")])

    gathered = await host.gather(in_order([reply(nothing)]))

    assert (gathered.stop_reason, gathered.conclusion) == ("never_concluded", "")
    assert [nudge.why for nudge in (await host.state()).nudges] == ["empty_reply", "empty_reply"]


async def test_a_conclusion_counts_when_all_is_judged_and_three_kinds_of_signal_were_asked() -> None:
    tools = [tool("metrics_query"), tool("logs_query", signal="logs"), tool("changes_query", signal="changes")]
    host = Host(tools, signals=("metrics", "logs", "changes"), hypotheses=("h1", "h2"))
    asked = calls(call("metrics_query", expression="up"), call("logs_query", expression="err"))

    gathered = await host.gather(
        in_order(
            [
                asked,
                calls(*judged("h1", "h2")),
                reply("Too early."),
                calls(call("changes_query", expression="deploys")),
                reply("The deployment broke it."),
            ]
        )
    )

    assert [nudge.why for nudge in (await host.state()).nudges] == ["signals"]
    assert (gathered.stop_reason, gathered.conclusion) == ("concluded", "The deployment broke it.")


async def test_calls_after_tools_are_withdrawn_are_refused() -> None:
    host = Host([tool("metrics_query")])

    await host.gather(in_order([calls(call("metrics_query", expression="up"))]))

    last = (await host.state()).answers[-1]
    assert (last.batch, last.how, last.code) == ("turn/4", "refusal", "capability_denied")


async def test_stagnation_is_forgotten_by_a_new_call_and_not_by_an_empty_answer() -> None:
    empty = tool("metrics_query", lambda _: matrix())
    host = Host([empty])
    same, other = (calls(call("metrics_query", expression=name)) for name in ("up", "down"))

    await host.gather(in_order([same, same, other, same, same]))

    state = await host.state()
    assert [nudge.turn for nudge in state.nudges] == [3, 5, 6]
    assert [one.turn for one in state.steering if isinstance(one, ToolsWithdrawn)] == [6]
    assert all(isinstance(nudge, Nudge) for nudge in state.nudges)
