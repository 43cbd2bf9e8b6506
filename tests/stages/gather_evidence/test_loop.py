"""The rules of the loop as a table: state and time in, the next step out. Nothing acts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inquest.domain.effect import ModelFailed
from inquest.domain.event import Nudge, Steering, ToolsWithdrawn
from inquest.domain.failure import FailureCode
from inquest.domain.hypothesis import Ledger, LedgerEntry
from inquest.domain.planned import Dispatch, PlannedCall, Refuse, ReplayOf
from inquest.domain.transcript import Reply
from inquest.stages.gather_evidence.calls import Offer, plan_calls
from inquest.stages.gather_evidence.loop import Ask, Conclude, RunBatch, Select, Steer, next_step
from inquest.stages.gather_evidence.record import Record
from inquest.stages.gather_evidence.state import LoopState, Turn, begin
from inquest.stages.tools import bound_tools
from tests.builders import T0, at, investigation
from tests.loop_host import SyntheticConnector, call, calls, reply, tool

DIGEST = "sha256:" + "0" * 64


def fresh(**changed: object) -> LoopState:
    """Give a loop whose tools are selected, before its first turn."""
    state = begin(investigation(gathered=None), Record(effects={}, contents={}))
    return state.but(**{"offered": ("judge", "metrics_query"), **changed})


def turn(outcome: Reply | ModelFailed, *, number: int = 1, planned: int = 0) -> Turn:
    refuse = Refuse(code=FailureCode.INVALID_QUERY, hint="no")
    return Turn(
        number=number,
        key=f"turn/{number}",
        outcome=outcome,
        calls=tuple(PlannedCall(ordinal=n, call_id="c", name="x", plan=refuse) for n in range(1, planned + 1)),
        offered=(),
        request_digest=DIGEST,
        request_tokens=10,
    )


def settled(state: LoopState) -> LoopState:
    entries = tuple(
        LedgerEntry(hypothesis=one.hypothesis, judgement="refuted", evidence=("E1",), reason="r")
        for one in state.ledger.entries
    )
    return state.but(ledger=Ledger(entries=entries))


CALLED = calls(call("x"), content="")
WITHDRAWN = ToolsWithdrawn(turn=2, why="stagnant")
UNJUDGED = Nudge(turn=1, why="unjudged", text="judge")
FAILED = ModelFailed(kind="quota", message="used up")


def after(
    outcome: Reply | ModelFailed, *, planned: int = 0, steering: tuple[Steering, ...] = (), stagnant: int = 0
) -> LoopState:
    return fresh(turns=(turn(outcome, planned=planned),), steering=steering, stagnant=stagnant)


def word(state: LoopState, minutes: float = 1, *, decisive: bool = False) -> str:
    """Give the step in a word or two."""
    match next_step(state, at(minutes), decisive=decisive):
        case Ask(turn=number, last=last):
            return f"ask {number}{' last' if last else ''}"
        case Conclude(gathered=gathered):
            return f"conclude {gathered.stop_reason}"
        case Steer(steerings=steerings):
            return "steer " + " ".join(getattr(one, "why", None) or one.steer for one in steerings)
        case RunBatch(batch=batch):
            return f"run {batch}"
        case Select():
            return "select"


TABLE = {
    "the seeds come first": (fresh(open_batch="seed", offered=None), 1, "run seed"),
    "then the first offer": (fresh().but(offered=None), 1, "select"),
    "then the first turn": (fresh(), 1, "ask 1"),
    "an open batch is joined before all else": (
        after(CALLED, planned=1).but(open_batch="turn/1"),
        99,
        "run turn/1",
    ),
    "a turn with news is followed by the next": (after(CALLED, planned=1), 1, "ask 2"),
    "a stagnant turn is nudged": (after(CALLED, planned=1, stagnant=1), 1, "steer stagnant"),
    "a second one in a row loses the tools": (after(CALLED, planned=1, stagnant=2), 1, "steer stagnant stagnant"),
    "what was nudged is asked": (
        after(CALLED, planned=1, stagnant=1, steering=(UNJUDGED.but(turn=2, why="stagnant"),)),
        1,
        "ask 2",
    ),
    "without tools the next turn is the last": (after(CALLED, planned=1, steering=(WITHDRAWN,)), 1, "ask 2 last"),
    "the last turn ends it whatever it says": (
        after(CALLED, planned=1, steering=(WITHDRAWN.but(turn=1),)),
        1,
        "conclude stagnant",
    ),
    "an unjudged conclusion is nudged": (after(reply("Done.")), 1, "steer unjudged"),
    "a second one too": (after(reply("Done."), steering=(UNJUDGED,)), 1, "steer unjudged"),
    "the third ends it": (after(reply("Done."), steering=(UNJUDGED, UNJUDGED)), 1, "conclude never_concluded"),
    "stagnation does not use up the nudges of conclusions": (
        after(reply("Done."), steering=(UNJUDGED.but(why="stagnant"),) * 3),
        1,
        "steer unjudged",
    ),
    "too few kinds of signal are nudged": (settled(after(reply("Done."))), 1, "steer signals"),
    "an empty reply is nudged": (settled(after(reply(" "))), 1, "steer empty_reply"),
    "a failed model ends it": (after(FAILED), 1, "conclude model_failed"),
    "a failed model ends the last turn too": (
        after(FAILED, steering=(WITHDRAWN.but(turn=1),)),
        1,
        "conclude model_failed",
    ),
    "the reserve is kept": (fresh(), 8, "steer ceiling_reached deadline"),
    "just before it tools are on offer": (fresh(), 7.99, "ask 1"),
    "the deadline ends it": (fresh(), 10, "conclude deadline"),
    "the deadline ends it before a last turn": (fresh(steering=(WITHDRAWN.but(turn=1),)), 10, "conclude deadline"),
}


@pytest.mark.parametrize(("state", "minutes", "step"), TABLE.values(), ids=TABLE)
def test_the_next_step(state: LoopState, minutes: float, step: str) -> None:
    assert word(state, minutes) == step


def test_one_decisive_observation_stands_for_three_kinds_of_signal() -> None:
    assert word(settled(after(reply("Done."))), decisive=True) == "conclude concluded"


def test_the_step_depends_on_nothing_but_state_and_time() -> None:
    for state, minutes, _ in TABLE.values():
        assert next_step(state, at(minutes)) == next_step(LoopState.parse(state.canonical()), at(minutes))


def test_two_equal_calls_of_one_batch_are_one_call() -> None:
    asked = [call("metrics_query", expression=text) for text in ("up", "up ", "down", "up")]
    offer = Offer(tools=bound_tools([SyntheticConnector([tool("metrics_query")])]), offered=("metrics_query",))

    plans = [one.plan for one in plan_calls(fresh(), calls(*asked), offer)]

    assert [type(plan) for plan in plans] == [Dispatch, ReplayOf, Dispatch, ReplayOf]
    assert {plan.key for plan in plans if isinstance(plan, ReplayOf)} == {"turn/1/call/1"}


def test_a_call_after_tools_are_withdrawn_is_told_so() -> None:
    offer = Offer(tools=bound_tools([SyntheticConnector([tool("metrics_query")])]), offered=())

    plan = plan_calls(fresh(), calls(call("metrics_query", expression="up")), offer)[0].plan

    assert plan == Refuse(code=FailureCode.CAPABILITY_DENIED, hint="tools are withdrawn: conclude from what there is")


def test_an_extended_deadline_moves_the_reserve_with_it() -> None:
    state = fresh()
    later = state.but(investigation=state.investigation.but(deadline_at=T0 + timedelta(minutes=30)))

    assert (word(state, 9), word(later, 9), word(later, 28)) == (
        "steer ceiling_reached deadline",
        "ask 1",
        "steer ceiling_reached deadline",
    )
