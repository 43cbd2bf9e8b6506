"""Stage 5: asked once, repaired once, salvaged, and then the analyst; every receipt is kept."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pytest
from typing_extensions import override

from inquest.domain.budget import Limits, Spend
from inquest.domain.canonical import digest_of
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.domain.effect import EffectKind, EffectRow, EffectState, ModelFailed, Receipt, Reservation
from inquest.domain.event import EventBody
from inquest.domain.investigation import Diagnosed, Gathered, Investigation
from inquest.domain.observation import Query
from inquest.domain.transcript import AssistantTurn, ModelRequest, Reply, Usage, UserText
from inquest.errors import BudgetExhausted, FenceLost
from inquest.ports import Answered, Chronicle, Clock, LoopView, RecordedReading, Revision
from inquest.stages import exhibits
from inquest.stages.diagnose import DiagnoseKit, bind
from inquest.stages.diagnosis_schema import DIAGNOSIS_SCHEMA
from inquest.stages.diagnosis_wire import write_proposal
from tests.builders import MODEL, NOW, Shelf, at, facts, investigation
from tests.incident import ERRORS, incident_shelf, ledger, proposal
from tests.reading import Watched

SHELF = incident_shelf()
GOOD = write_proposal(proposal(SHELF))
OF_ANALYST = write_proposal(proposal(SHELF).but(root_cause="deploy-77 came before the errors.", author="analyst"))
DIGEST = digest_of(b"")


class FixedClock:
    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0


@dataclass
class Scripted:
    """An investigator that answers from a list; a ModelFailed in it is one."""

    replies: list[str]
    models: tuple[str, ...] = (MODEL,)
    asked: list[ModelRequest] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cost_usd_micros: int | None = None

    def request(self, view: LoopView) -> ModelRequest:
        raise NotImplementedError

    async def answer(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:
        raise NotImplementedError

    def diagnose_request(self, view: LoopView) -> ModelRequest:
        return ModelRequest(
            purpose="diagnose",
            models=self.models,
            messages=(UserText(text=f"{len(view.evidence)} items"),),
            tool_choice="none",
            response_schema=DIAGNOSIS_SCHEMA,
        )

    async def diagnose(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:
        self.asked.append(request)
        return Reply(
            content=self.replies[len(self.asked) - 1],
            model=self.models[0],
            usage=self.usage,
            cost_usd_micros=self.cost_usd_micros,
        )


@dataclass
class RecordingActs:
    """Acts that keep what a port promises of model effects: a kept key answers without asking."""

    clock: Clock
    stored: Mapping[str, bytes]
    refuse: dict[str, Exception | ModelFailed] = field(default_factory=dict)
    known: dict[str, Reply | ModelFailed] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)

    @property
    def chronicle(self) -> Chronicle:
        rows = tuple(
            EffectRow(
                key=key,
                kind=EffectKind.MODEL,
                fingerprint=DIGEST,
                state=EffectState.COMMITTED,
                dispatches=1,
                generation=1,
                attempt=1,
                expected_version=1,
                outcome_digest=DIGEST,
            )
            for key in self.known
        )
        return Chronicle(investigation_id="inv-1", version=1, events=(), effects=rows)

    async def contents(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        return {digest: self.stored[digest] for digest in digests}

    async def model(
        self,
        key: str,
        request: ModelRequest,
        ask: Callable[[float], Awaitable[Reply]],
        *,
        timeout_s: float,
        most_usd_micros: int = 0,
    ) -> Answered:
        self.timeouts.append(timeout_s)
        receipt = Receipt(key=key, fingerprint=DIGEST, outcome_digest=DIGEST)
        if key in self.known:
            return Answered(outcome=self.known[key], receipt=receipt, contents={}, fresh=False)
        refusal = self.refuse.get(key)
        if isinstance(refusal, Exception):
            raise refusal
        self.known[key] = refusal if refusal is not None else await ask(timeout_s)
        return Answered(outcome=self.known[key], receipt=receipt, contents={})

    async def keep(self, answered: Answered) -> None:
        self.kept.append(answered.receipt.key)

    async def append(
        self,
        *events: EventBody,
        receipts: Sequence[Receipt] = (),
        reservations: Sequence[Reservation] = (),
        contents: Mapping[str, bytes] | None = None,
        revisions: Sequence[Revision] = (),
        spend: Spend | None = None,
    ) -> None:
        raise NotImplementedError

    async def query(self, key: str, query: Query) -> RecordedReading:
        raise NotImplementedError


def state(**changed: object) -> Investigation:
    return investigation(facts=facts(expression=f"{ERRORS} > 0.05"), **changed)


def view(shelf: Shelf, about: Investigation) -> LoopView:
    return LoopView(
        investigation=about,
        turn=4,
        last=True,
        tools=(),
        messages=(),
        exchanges=(),
        evidence=shelf.evidence,
        excluded=(),
        asked=tuple(shelf.asked),
        contents={},
        ledger=ledger(),
        spend=Spend(),
    )


def kit(investigator: Scripted, analyst: Scripted, look: Callable[[Investigation], Awaitable[LoopView]]) -> DiagnoseKit:
    return DiagnoseKit(
        investigator, analyst, look, count_tokens=lambda _: 1_000, price=lambda asked, said: 10 * (asked + said)
    )


@dataclass
class Stage:
    """The stage with its scripted model and analyst, at a moment before the deadline (T0 + 10 min)."""

    model: Scripted
    acts: RecordingActs
    analyst: Scripted = field(default_factory=lambda: Scripted([OF_ANALYST], models=("analyst",)))
    limits: Limits = field(default_factory=Limits)
    used: tuple[int, int, int] = (0, 0, 0)
    """Tokens and dollars of the loop, and its dearest turn."""

    async def run(self, about: Investigation | None = None) -> Diagnosis:
        before = (about or state()).but(limits=self.limits)
        tokens, usd_micros, dearest = self.used

        async def look(investigated: Investigation) -> LoopView:
            return view(SHELF, investigated).model_copy(
                update={
                    "spend": Spend(usd_micros=usd_micros),
                    "guarded_tokens": tokens,
                    "dearest_turn_usd_micros": dearest,
                }
            )

        update = await bind(kit(self.model, self.analyst, look), self.acts)(before)
        assert isinstance(update, Diagnosed)
        return update.diagnosis


def stage(*replies: str, minute: float = 5, **refuse: Exception | ModelFailed) -> Stage:
    refusals = {key.replace("_", "/"): why for key, why in refuse.items()}
    return Stage(Scripted(list(replies)), RecordingActs(FixedClock(at(minute)), SHELF.contents, refuse=refusals))


async def test_a_good_answer_is_checked_and_taken() -> None:
    one = stage(GOOD)
    found = await one.run()

    assert (found.verdict, found.author, found.degraded) == (Verdict.CAUSE_FOUND, MODEL, "")
    assert len(found.validated_claims) == 6
    assert one.acts.kept == ["diagnose/1"]
    assert one.acts.timeouts == [60.0]
    assert one.analyst.asked == []


async def test_the_event_loop_goes_on_while_claims_are_checked() -> None:
    contents = Watched(SHELF.contents)

    class WatchedActs(RecordingActs):
        @override
        async def contents(self, digests: Sequence[str]) -> Mapping[str, bytes]:
            return contents

    found = await Stage(Scripted([GOOD]), WatchedActs(FixedClock(at(5)), SHELF.contents)).run()

    assert found.verdict is Verdict.CAUSE_FOUND
    contents.check_left_this_thread_alone()


async def test_of_evidence_that_cannot_be_held_at_once_what_is_cited_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    uncited = SHELF.items[-1].observation
    last_first = Shelf()
    last_first.items, last_first.asked = SHELF.items[::-1], SHELF.asked
    sizes = {item.observation.digest: item.observation.truncation.original_bytes for item in SHELF.items}
    monkeypatch.setattr(exhibits, "MAX_HELD_CONTENT_BYTES", sum(sizes.values()) - sizes[uncited.digest])
    acts = RecordingActs(FixedClock(at(5)), {d: raw for d, raw in SHELF.contents.items() if d != uncited.digest})

    async def look(investigated: Investigation) -> LoopView:
        return view(last_first, investigated)

    update = await bind(kit(Scripted([GOOD]), Scripted([]), look), acts)(state())

    assert isinstance(update, Diagnosed)
    assert (update.diagnosis.verdict, update.diagnosis.non_validated_claims) == (Verdict.CAUSE_FOUND, ())


async def test_a_broken_answer_is_repaired_once() -> None:
    one = stage('{"rootCause":{}}', GOOD)
    found = await one.run()

    assert (found.verdict, found.degraded) == (Verdict.CAUSE_FOUND, "")
    assert one.acts.kept == ["diagnose/1", "diagnose/2"]
    repair = one.model.asked[1]
    assert repair.purpose == "repair"
    assert repair.messages[1] == AssistantTurn(text='{"rootCause":{}}')
    last = repair.messages[2]
    assert isinstance(last, UserText)
    assert "verdict: Field required" in last.text


async def test_an_answer_broken_twice_gives_its_whole_claims() -> None:
    found = await stage(GOOD[: GOOD.index('"ruled_out"') - 60], "nothing").run()

    assert found.degraded == ""
    assert found.notes[0] == "the answer was broken: only its whole parts were read"
    assert len(found.validated_claims) == 5
    assert found.verdict is Verdict.CONTRIBUTING_ONLY  # the onset was cut away


@pytest.mark.parametrize("reply", ['{"name":"kubectl_get","arguments":{}}', '{"rootCause":{}}', "", "It was DNS."])
async def test_an_answer_that_stays_unreadable_is_the_analysts_and_never_published(reply: str) -> None:
    one = stage(reply, reply)
    found = await one.run()

    assert found.degraded == "the model's diagnosis could not be read"
    assert found.author == "analyst"
    assert found.verdict is Verdict.CAUSE_FOUND
    assert not reply or reply not in found.model_dump_json()


async def test_a_failed_model_leaves_the_analyst_to_conclude() -> None:
    found = await stage(diagnose_1=ModelFailed(kind="overloaded", message="the provider is overloaded")).run()
    assert found.degraded == "the model failed: the provider is overloaded"
    assert found.author == "analyst"


async def test_a_failed_repair_still_salvages_the_first_answer() -> None:
    cut = GOOD[: GOOD.index('"ruled_out"') - 60]
    found = await stage(cut, diagnose_2=ModelFailed(kind="timeout", message="too slow")).run()
    assert (found.degraded, len(found.validated_claims)) == ("", 5)


async def test_a_spent_budget_is_a_reason_not_an_error() -> None:
    found = await stage(diagnose_1=BudgetExhausted("max_tokens", used=9, allowed=8)).run()
    assert "no budget was left to ask it (max_tokens: 9 of 8 used)" in found.degraded


def budgeted(one: Stage, *, tokens: int = 0, usd_micros: int = 0, dearest: int = 0, **limits: int) -> Stage:
    """Let `one` begin with so much used, each request being 1,000 tokens, 10 micros each."""
    one.limits = Limits(max_output_tokens=1_000).but(**limits)
    one.used = (tokens, usd_micros, dearest)
    return one


@pytest.mark.parametrize(
    ("budget", "ceiling"),
    [
        ({"max_tokens": 9_999, "tokens": 8_000}, "max_tokens: 8000 of 9999 used"),
        ({"max_usd_micros": 24_999, "usd_micros": 5_000}, "max_usd: 0.005 of 0.024999 used"),
        ({"max_usd_micros": 34_999, "usd_micros": 5_000, "dearest": 30_000}, "max_usd: 0.005 of 0.034999 used"),
        ({"max_usd_micros": 0}, "max_usd: 0 of 0 used"),
    ],
)
async def test_what_cannot_be_paid_for_is_not_asked_and_the_analyst_concludes(
    budget: dict[str, int], ceiling: str
) -> None:
    one = budgeted(stage(GOOD), **budget)
    found = await one.run()

    assert one.model.asked == []
    assert found.degraded == f"the model failed: no budget was left to ask it ({ceiling})"
    assert found.author == "analyst"


@pytest.mark.parametrize(
    "budget", [{"max_tokens": 10_000, "tokens": 8_000}, {"max_usd_micros": 25_000, "usd_micros": 5_000}]
)
async def test_what_was_set_aside_pays_for_the_diagnosis(budget: dict[str, int]) -> None:
    one = budgeted(stage(GOOD), **budget)
    assert (await one.run()).author == MODEL


@pytest.mark.parametrize(
    ("budget", "asked"),
    [
        ({"max_tokens": 11_000, "tokens": 8_000}, 1),
        ({"max_tokens": 12_000, "tokens": 8_000}, 2),
        ({"max_usd_micros": 29_999, "usd_micros": 0}, 1),
        ({"max_usd_micros": 30_000, "usd_micros": 0}, 2),
    ],
)
async def test_the_repair_is_paid_for_beside_the_first_answer(budget: dict[str, int], asked: int) -> None:
    one = budgeted(stage('{"rootCause":{}}', GOOD), **budget)
    one.model.usage = Usage(input_tokens=1_000, output_tokens=1_000)
    one.model.cost_usd_micros = 10_000
    await one.run()
    assert len(one.model.asked) == asked


async def test_an_answer_already_recorded_is_taken_whatever_is_left() -> None:
    one = budgeted(stage(), max_usd_micros=0)
    one.acts.known["diagnose/1"] = Reply(content=GOOD, model=MODEL)
    assert (await one.run()).degraded == ""


async def test_after_the_deadline_nobody_is_asked() -> None:
    one = stage(minute=10)
    found = await one.run()
    assert found.degraded == "the model failed: no time was left to ask it"
    assert one.model.asked == []


async def test_an_answer_already_recorded_is_taken_even_after_the_deadline() -> None:
    one = stage(minute=20)
    one.acts.known["diagnose/1"] = Reply(content=GOOD, model=MODEL)
    found = await one.run()

    assert found.degraded == ""
    assert (one.model.asked, one.acts.kept) == ([], [])


async def test_the_time_for_asking_ends_at_the_deadline() -> None:
    one = stage(GOOD, minute=9.5)
    await one.run()
    assert one.acts.timeouts == [30.0]


async def test_a_run_that_was_already_degraded_asks_no_model() -> None:
    one = stage()
    gathered = Gathered(stop_reason="model_failed", turns=2, degraded="the provider does not answer")
    found = await one.run(state(gathered=gathered))
    assert found.degraded == "the provider does not answer"
    assert one.model.asked == []


async def test_the_analyst_as_investigator_is_not_degraded_and_reserves_nothing() -> None:
    one = stage(minute=30)
    one.model.models = ("analyst",)
    found = await one.run()
    assert (found.degraded, found.author, found.verdict) == ("", "analyst", Verdict.CAUSE_FOUND)
    assert one.acts.known == {}


async def test_a_lost_fence_is_passed_on() -> None:
    with pytest.raises(FenceLost):
        await stage(diagnose_1=FenceLost("another worker")).run()


async def test_a_claim_of_a_model_that_does_not_hold_is_listed_with_its_reason() -> None:
    wire = json.loads(GOOD)
    wire["claims"][1]["after"] = 0.99
    wire["claims"][1]["text"] = "Errors rose to 0.99."
    found = await stage(json.dumps(wire)).run()

    assert [one.claim.text for one in found.non_validated_claims] == ["Errors rose to 0.99."]
    assert at(0) < NOW
