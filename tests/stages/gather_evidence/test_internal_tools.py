"""The tools that we answer ourselves: the ledger, reading evidence, and what they refuse."""

from __future__ import annotations

import pytest

from inquest.domain.hypothesis import LedgerEntry
from inquest.domain.value import Json
from inquest.models.scripted import Line, in_order
from inquest.ports import LoopView
from inquest.stages.gather_evidence.state import Answer, LoopState
from tests.builders import T0, logs
from tests.loop_host import Host, call, called, calls, judged, reply, tool

UP = calls(call("metrics_query", expression="up"))


async def after(*lines: Line, host: Host | None = None) -> LoopState:
    host = host or Host([tool("metrics_query")], hypotheses=("h1", "h2"))
    await host.gather(in_order([*lines, reply("")]))
    return await host.state()


def entry(state: LoopState, name: str) -> LedgerEntry:
    return next(one for one in state.ledger.entries if one.hypothesis.name == name)


def answers(state: LoopState, name: str) -> list[Answer]:
    return [one for one in state.answers if one.name == name]


async def test_the_ledger_is_the_fold_of_the_judge_calls() -> None:
    state = await after(UP, calls(*judged("h1"), *judged("h1", "h2", evidence=["E1", "E1"])))

    assert entry(state, "h1").judgement == entry(state, "h2").judgement == "refuted"
    assert entry(state, "h2").evidence == ("E1",)
    assert answers(state, "judge")[0].text == "h1 is refuted. Not judged yet: h2."


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"hypothesis": "h7", "judgement": "refuted", "reason": "r", "evidence": ["E1"]}, "there are h1, h2"),
        ({"hypothesis": "h1", "judgement": "refuted", "reason": "r", "evidence": ["E9"]}, "no evidence E9"),
        ({"hypothesis": "h1", "judgement": "supported", "reason": "r"}, "needs the evidence"),
    ],
)
async def test_a_judgement_that_cites_nothing_real_is_refused(arguments: dict[str, Json], hint: str) -> None:
    state = await after(UP, calls(called("judge", arguments)))

    refused = answers(state, "judge")[0]
    assert (refused.code, entry(state, "h1").judgement) == ("invalid_query", "open")
    assert hint in refused.text


async def test_open_with_a_reason_is_a_judgement() -> None:
    host = Host([tool("metrics_query")])
    said = calls(call("judge", hypothesis="h1", judgement="open", reason="no traces are connected"))

    gathered = await host.gather(in_order([UP, said, reply("Nothing shows it.")]))

    assert gathered.stop_reason == "concluded"


async def test_six_hypotheses_are_the_most_and_the_same_one_is_not_opened_twice() -> None:
    opened = [call("open_hypothesis", text=f"Cause {n}.", refuted_by="x") for n in range(6)]

    state = await after(UP, calls(call("open_hypothesis", text="H1 BROKE IT", refuted_by="x"), *opened))

    assert [one.hypothesis.name for one in state.ledger.entries] == ["h1", "h2", "h3", "h4", "h5", "h6"]
    assert [one.code for one in answers(state, "open_hypothesis")] == [
        "invalid_query",
        *[None] * 4,
        *["invalid_query"] * 2,
    ]


async def test_a_hypothesis_opened_in_a_batch_can_be_judged_in_it() -> None:
    state = await after(UP, calls(call("open_hypothesis", text="New.", refuted_by="x"), *judged("h3")))

    assert entry(state, "h3").judgement == "refuted"


READS = [
    ({"id": "E1"}, "60 lines, the first"),
    ({"id": "E1", "grep": "LINE 42"}, "1 lines contain it; 60 in all\n/lines/42 "),
    ({"id": "E1", "range": [58, 70]}, "2 lines are in the range; 60 in all\n/lines/58 "),
    ({"id": "E1", "pointer": "/lines/7/line"}, '/lines/7/line "line 7 '),
    ({"id": "E1", "pointer": "/lines"}, "60 items, the first"),
]


@pytest.mark.parametrize(("arguments", "shown"), READS)
async def test_evidence_is_read_by_pointer_fragment_and_range(arguments: dict[str, Json], shown: str) -> None:
    many = logs(*((T0, f"line {n} {'x' * 700}") for n in range(60)), pod="p")
    host = Host([tool("metrics_query", lambda _: many)])

    state = await after(UP, calls(called("read_evidence", arguments)), host=host)

    read = answers(state, "read_evidence")[0]
    assert (read.code, read.foreign, read.evidence) == (None, True, ("E1",))
    assert read.text.startswith(shown)
    assert len(read.text.encode()) < 34_000


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"id": "E7"}, "there is E1 to E1"),
        ({"id": "E1", "pointer": "/nowhere/3"}, "leads nowhere"),
        ({"id": "E1", "pointer": "/series", "grep": "x"}, "give one of"),
        ({"id": "E1", "range": [5, 5]}, "first < last"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_a_hint(arguments: dict[str, Json], hint: str) -> None:
    state = await after(UP, calls(called("read_evidence", arguments)))

    refused = answers(state, "read_evidence")[0]
    assert refused.code == "invalid_query"
    assert hint in refused.text


async def test_internal_calls_cost_no_effects_and_repeated_ones_are_stagnant() -> None:
    def read_for_ever(view: LoopView) -> Line:
        return UP if view.turn == 1 else calls(call("read_evidence", id="E1"))

    host = Host([tool("metrics_query")])
    gathered = await host.gather(read_for_ever)

    state = await host.state()
    assert (gathered.stop_reason, gathered.turns) == ("stagnant", 5)
    assert (state.spend.connector_effects, state.spend.internal_calls) == (1, 3)
