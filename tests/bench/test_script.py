from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.door import covered
from bench.errors import BenchBroken
from bench.installation import Installation
from bench.script import BATCHES, CONCLUSION, DIAGNOSIS, SEQUENTIAL, TWENTY_TURNS, Shape, calls, replies
from bench.scripted import Ran, bench, checked
from bench.stand_in import TOOL, completion
from inquest.domain.budget import MAX_CONCURRENT_CALLS, MAX_TOOL_CALLS
from tests.postgres import NewDatabase

RAN = Ran(seconds=2, cpu_s=1, door_s=0.6, turns=20, queries=40, effects=60)


def test_the_script_of_the_aim_has_twenty_turns_and_forty_calls() -> None:
    assert (TWENTY_TURNS.turns, TWENTY_TURNS.queries) == (20, 40)


def test_no_two_calls_of_a_script_are_the_same() -> None:
    for shape in (TWENTY_TURNS, SEQUENTIAL, BATCHES):
        said = [call for turn in range(1, shape.turns + 1) for call in calls(shape, turn, "t")]
        assert len({call.arguments for call in said}) == len({call.call_id for call in said}) == shape.queries


def test_a_batch_is_as_large_as_runs_at_once_and_all_of_them_use_the_calls_up() -> None:
    assert max(BATCHES.calls) == MAX_CONCURRENT_CALLS
    assert BATCHES.queries == MAX_TOOL_CALLS


def test_a_script_ends_with_the_conclusion_and_the_diagnosis() -> None:
    shape = Shape(calls=(2, 1))

    assert [(reply.content, len(reply.tool_calls)) for reply in replies(shape, "t")] == [
        ("", 2),
        ("", 1),
        (CONCLUSION, 0),
        (DIAGNOSIS, 0),
    ]


def test_the_stand_in_says_the_turn_that_the_conversation_has_come_to() -> None:
    def said(replies_before: int, *, tools: bool) -> tuple[object, int]:
        history = [{"role": "system"}, *[{"role": "assistant"}, {"role": "tool"}] * replies_before]
        asked: dict[str, Any] = {"model": "m", "messages": history, "tools": [{}] if tools else []}
        answer: Any = completion(asked)
        message = answer["choices"][0]["message"]
        return message["content"], len(message["tool_calls"] or ())

    assert [said(before, tools=True) for before in range(20)] == [
        *[(None, count) for count in TWENTY_TURNS.calls],
        (CONCLUSION, 0),
    ]
    assert said(20, tools=False) == (DIAGNOSIS, 0)


def test_the_stand_in_calls_what_the_script_calls() -> None:
    answer: Any = completion({"model": "m", "messages": [{"role": "user"}], "tools": [{}]})

    found = answer["choices"][0]["message"]["tool_calls"]
    assert [(one["id"], one["function"]["name"], json.loads(one["function"]["arguments"])) for one in found] == [
        (call.call_id, TOOL, json.loads(call.arguments)) for call in calls(TWENTY_TURNS, 1, TOOL)
    ]


def test_time_in_which_several_acts_are_under_way_counts_once() -> None:
    assert covered([]) == 0.0
    assert covered([(5.0, 6.0), (0.0, 2.0), (1.0, 3.0), (1.5, 1.6)]) == 4.0


def test_an_effect_costs_the_time_in_the_door_over_all_of_them() -> None:
    assert RAN.ms_an_effect == pytest.approx(10.0)


def test_a_run_of_other_turns_or_calls_than_scripted_measures_nothing() -> None:
    assert checked(RAN, TWENTY_TURNS) == RAN
    for other in (RAN.but(turns=19), RAN.but(queries=39)):
        with pytest.raises(BenchBroken):
            checked(other, TWENTY_TURNS)


@pytest.mark.parametrize("shape", [TWENTY_TURNS, SEQUENTIAL, BATCHES])
async def test_an_investigation_makes_the_turns_and_calls_of_its_script(
    shape: Shape, database: NewDatabase, tmp_path: Path
) -> None:
    made = database()
    one = Installation(tmp_path, 1, made.conninfo, made.url, "token")

    async with bench(one) as investigations:
        ran = await investigations.run(shape)

    assert (ran.turns, ran.queries) == (shape.turns, shape.queries)
    assert ran.effects == shape.turns + shape.queries + 1  # and the diagnosis
    assert 0 < ran.door_s < ran.seconds
