"""What a model is shown when not everything fits: never more than its window, calls and answers together."""

from __future__ import annotations

import pytest

from inquest.domain.budget import RESULT_CONTEXT_SHARE, Limits
from inquest.domain.event import Evicted
from inquest.domain.observation import Query
from inquest.domain.signals import SignalContent
from inquest.domain.transcript import AssistantTurn, Message, ModelRequest, Reply, ToolResult
from inquest.errors import ModelError
from inquest.models.scripted import Line, count_tokens, in_order
from inquest.ports import LoopView, ModelFailure
from tests.builders import T0, logs
from tests.loop_host import Host, call, calls, judged, reply, tool

SMALL = Limits(context_window_tokens=8_000)


def long_answer(query: Query) -> SignalContent:
    return logs(*((T0, f"{query.expression} line {n} {'word ' * 30}") for n in range(50)), pod="p")


def many_observations(view: LoopView) -> Line:
    """Ask three new things a turn, the last time with a judgement by the very first answer; then conclude."""
    asked = [call("logs_query", f"id-{view.turn}-{n}", expression=f"q{view.turn}_{n}") for n in range(3)]
    if view.turn < 18:
        return calls(*asked)
    return calls(*asked, *judged("h1")) if view.turn == 18 else reply("E1 decides it.")


def orphans(messages: tuple[Message, ...]) -> list[str]:
    """Name calls without an answer right behind them, and answers without a call."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in messages:
        match message:
            case ToolResult(call_id=call_id):
                wrong += [] if waiting and waiting.pop(0) == call_id else [call_id]
            case AssistantTurn(tool_calls=asked):
                wrong += waiting
                waiting = [one.call_id for one in asked]
            case _:
                wrong += waiting
                waiting = []
    return wrong + waiting


def small_host(**more: object) -> Host:
    return Host(
        [tool("logs_query", long_answer, signal="logs")],
        limits=SMALL,
        signals=("logs",),
        seeds=tuple(f"seed{n}" for n in range(6)),
    )


async def test_sixty_observations_fit_a_window_of_8000_tokens_by_the_servers_own_count() -> None:
    host = small_host()

    gathered = await host.gather(many_observations)

    assert host.investigator is not None
    requests = host.investigator.requests
    state = await host.state()
    assert (gathered.turns, len(state.evidence)) == (19, 60)
    assert max(count_tokens(request) + request.max_output_tokens for request in requests) <= 8_000
    assert [orphans(request.messages) for request in requests] == [[]] * len(requests)
    assert any(isinstance(one, Evicted) for one in state.steering)


async def test_an_early_observation_can_still_be_cited_at_the_end() -> None:
    host = small_host()

    await host.gather(many_observations)

    state = await host.state()
    last = host.views[-1]
    assert state.ledger.entries[0].evidence == ("E1",)
    assert last.evidence[0].name == "E1"
    assert last.evidence[0].observation.digest in last.contents
    text = str(last.messages[-1])
    assert all(f"- E{n} ok logs_query" in text for n in range(1, 61))


async def test_the_newest_answers_are_shown_even_when_older_ones_have_to_go() -> None:
    host = small_host()

    await host.gather(many_observations)

    assert host.investigator is not None
    for request, view in list(zip(host.investigator.requests, host.views, strict=True))[1:18]:
        shown = {message.call_id for message in request.messages if isinstance(message, ToolResult)}
        assert {f"id-{view.turn - 1}-{n}" for n in range(3)} <= shown


async def test_an_evicted_exchange_leaves_a_line_with_its_evidence() -> None:
    host = small_host()

    await host.gather(many_observations)

    gone = [one for one in host.views[-1].exchanges if "not shown" in one.shown]
    assert gone
    assert all(one.evidence[0] in one.shown for one in gone if one.how == "receipt")


async def test_one_answer_takes_no_more_than_its_share_of_the_window() -> None:
    host = Host([tool("logs_query", long_answer, signal="logs")], limits=SMALL, signals=("logs",))

    await host.gather(in_order([calls(call("logs_query", expression="q")), reply("")]))

    assert host.investigator is not None
    results = [one for one in host.investigator.requests[1].messages if isinstance(one, ToolResult)]
    assert len(results[0].text) / 4 <= 8_000 * RESULT_CONTEXT_SHARE
    assert "read_evidence E1 reads all of it" in results[0].text


async def test_a_request_that_fits_evicts_nothing() -> None:
    host = Host([tool("logs_query", signal="logs")], signals=("logs",))

    await host.gather(many_observations)

    assert not any(isinstance(one, Evicted) for one in (await host.state()).steering)


async def test_a_repeated_call_is_not_forgotten_when_its_answer_was_evicted() -> None:
    host = small_host()

    def repeat_the_first(view: LoopView) -> Line:
        return calls(call("logs_query", expression="q1_0")) if view.turn > 15 else many_observations(view)

    await host.gather(repeat_the_first)

    state = await host.state()
    assert "turn/1/call/1" in state.evicted
    assert [one.how for one in state.answers if one.batch == "turn/16"] == ["replay"]
    assert sum(query.expression == "q1_0" for query in host.tools[0].ran) == 1


async def test_what_no_hypothesis_cites_goes_before_what_one_cites() -> None:
    host = small_host()

    def judge_early(view: LoopView) -> Line:
        return calls(*judged("h1", evidence=["E8"])) if view.turn == 2 else many_observations(view)

    await host.gather(judge_early)

    cited = next(one.path for one in (await host.state()).answers if one.evidence == ("E8",))
    state = await host.state()
    first_gone = next(one for one in state.steering if isinstance(one, Evicted))
    assert cited not in first_gone.keys
    assert cited.startswith("turn/1/")


async def test_a_request_without_tools_has_no_calls_in_its_history_and_still_tells_all() -> None:
    host = Host([tool("logs_query", signal="logs")], signals=("logs",))

    await host.gather(
        in_order([calls(call("logs_query", expression="first")), calls(call("logs_query", expression="first"))])
    )

    last = host.views[-1]
    assert (last.last, last.tools) == (True, ())
    assert {message.role for message in last.messages} == {"user", "assistant"}
    assert not any(isinstance(one, AssistantTurn) and one.tool_calls for one in last.messages)
    told = "\n".join(message.text for message in last.messages)
    assert 'turn/1/call/1: logs_query {"expression": "first"}' in told
    assert "turn/1/call/1: E1 from synthetic (logs)" in told


async def test_an_id_that_a_provider_uses_again_in_a_later_turn_names_one_call_only() -> None:
    host = Host([tool("logs_query", signal="logs")], signals=("logs",))

    await host.gather(lambda view: calls(call("logs_query", "call_0", expression=f"q{view.turn}")))

    named = [one.call_id for one in host.views[-2].messages if isinstance(one, ToolResult)]
    assert len(named) == len(set(named)) > 10


# ---- the provider says that it is too much ---------------------------------------------------------------


class Strict:
    """A script whose provider takes at most `most` tokens, fewer than we count on."""

    def __init__(self, host: Host, most: int) -> None:
        self._host = host
        self._most = most

    def __call__(self, view: LoopView) -> Line:
        asked: ModelRequest = self._host.investigator.requests[-1]  # type: ignore[union-attr]  # set when asked
        if count_tokens(asked) > self._most:
            return ModelError(ModelFailure.CONTEXT_OVERFLOW, "the request is larger than the model's window")
        return many_observations(view)


async def test_an_overflow_shrinks_once_and_asks_once_more() -> None:
    host = Host([tool("logs_query", long_answer, signal="logs")], limits=Limits(context_window_tokens=24_000))

    gathered = await host.gather(Strict(host, 12_000))

    state = await host.state()
    assert gathered.stop_reason == "max_turns"
    sizes = [count_tokens(request) for request in host.investigator.requests]  # type: ignore[union-attr]
    over = [at for at, size in enumerate(sizes) if size > 12_000]
    assert over
    assert all(sizes[at + 1] <= 12_000 for at in over)
    assert any(isinstance(one, Evicted) for one in state.steering)
    assert len(state.turns) == 20


async def test_a_second_overflow_ends_degraded() -> None:
    host = Host([tool("logs_query", long_answer, signal="logs")])
    overflow = ModelError(ModelFailure.CONTEXT_OVERFLOW, "the request is larger than the model's window")

    gathered = await host.gather(in_order([calls(call("logs_query", expression="q")), overflow]))

    assert gathered.stop_reason == "model_failed"
    assert gathered.degraded.startswith("the model failed (context_overflow)")
    assert len(host.views) == 3


@pytest.mark.parametrize("window", [4_000, 8_000, 32_000])
async def test_forty_long_answers_in_one_turn_fit_every_window(window: int) -> None:
    host = Host(
        [tool("logs_query", long_answer, signal="logs")], limits=Limits(context_window_tokens=window), signals=("logs",)
    )
    asked: Reply = calls(*(call("logs_query", f"id-{n}", expression=f"q{n}") for n in range(40)))

    await host.gather(in_order([asked, reply("")]))

    assert host.investigator is not None
    assert max(count_tokens(one) + one.max_output_tokens for one in host.investigator.requests) <= window
    assert orphans(host.investigator.requests[1].messages) == []
