"""Stage 5: the structured diagnosis: asked, read, checked, and never more than the evidence carries.

A separate request with a closed schema and no tools. An answer that cannot be read gets one repair, then its
whole parts are salvaged, then the analyst's proposal takes its place. Whoever proposes, `verdict.conclude`
checks every claim.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from inquest.domain.diagnosis import Proposal, Verdict
from inquest.domain.effect import ModelFailed
from inquest.domain.investigation import Diagnosed
from inquest.domain.transcript import AssistantTurn, Reply, UserText
from inquest.errors import BudgetExhausted
from inquest.stages import fold
from inquest.stages.cost import Cost, most_of, short_of
from inquest.stages.coverage import coverage
from inquest.stages.diagnosis_parse import Unparsed, parse_proposal, salvage_proposal
from inquest.stages.diagnosis_wire import read_proposal
from inquest.stages.exhibits import Exhibits, held_at_once
from inquest.stages.gather_evidence.limits import answer_tokens
from inquest.stages.gather_evidence.spending import guarded_tokens
from inquest.stages.present import why_not_now
from inquest.stages.publishable import clean
from inquest.stages.verdict import Basis, conclude

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquest.domain.evidence import EvidenceItem
    from inquest.domain.investigation import Investigation
    from inquest.domain.transcript import ModelRequest
    from inquest.ports import Acts, Investigator, LoopView
    from inquest.stages.cost import Price
    from inquest.stages.diagnosis_schema import WireProposal
    from inquest.stages.kit import Stage

ASK_TIMEOUT_S = 60.0
REPAIR_TIMEOUT_S = 30.0
SHORTEST_ASK_S = 3.0
"""With less than this before the deadline a model is not asked any more."""
ANALYST_TIMEOUT_S = 20.0
MAX_SHOWN_REPLY_CHARS = 16_384
"""Of a broken answer that is shown again for repair."""
ANALYST = ("analyst",)
USD_MICROS = 1_000_000


@dataclass(frozen=True)
class DiagnoseKit:
    """What stage 5 is bound to: who is asked, who stands in, and the view that both look at.

    `count_tokens` and `price` are the investigator's.
    """

    investigator: Investigator
    analyst: Investigator
    view: Callable[[Investigation], Awaitable[LoopView]]
    count_tokens: Callable[[ModelRequest], int]
    price: Price


@dataclass(frozen=True)
class _Proposed:
    """A proposal with what of it could not be read, and why nobody better made it."""

    proposal: Proposal
    notes: tuple[str, ...] = ()
    degraded: str = ""


def bind(kit: DiagnoseKit, acts: Acts) -> Stage:
    """Give stage 5 as a function of the state."""

    async def diagnose(state: Investigation) -> Diagnosed:
        view = await kit.view(state)
        proposed = await _Asking(state, view, kit, acts).propose()
        contents = await acts.contents(held_at_once(_cited_first(view.evidence, proposed.proposal)))
        basis = Basis(
            exhibits=Exhibits(view.evidence, contents, None if state.facts is None else state.facts.window),
            coverage=coverage(
                view.asked,
                view.evidence,
                view.excluded,
                state.integrations,
                not_now=why_not_now(state.facts, state.started_at),
            ),
            ledger=view.ledger,
            facts=state.facts,
            service=None if state.integrations is None else state.integrations.service,
        )
        # In a thread: claims are checked on full contents, and the worker's other investigations go on meanwhile.
        diagnosis = await asyncio.to_thread(
            conclude, proposed.proposal, basis, degraded=proposed.degraded, notes=proposed.notes
        )
        return Diagnosed(diagnosis=diagnosis)

    return diagnose


@dataclass(frozen=True)
class _Asking:
    """One stage's asking: what it is about, whom it asks, and its door to the outside."""

    state: Investigation
    view: LoopView
    kit: DiagnoseKit
    acts: Acts

    async def propose(self) -> _Proposed:
        """Ask the investigator; where it cannot answer, take the analyst's proposal and say why."""
        already = "" if self.state.gathered is None else self.state.gathered.degraded
        if already or self.kit.investigator.models == ANALYST:
            return await self._analyst(degraded=already)
        request = self.kit.investigator.diagnose_request(self.view)
        used = Cost(tokens=self.view.guarded_tokens, usd_micros=self.view.spend.usd_micros)
        first = await self._ask("diagnose/1", request, used, ASK_TIMEOUT_S)
        if isinstance(first, ModelFailed):
            return await self._analyst(degraded=f"the model failed: {first.message}")
        found = parse_proposal(first.content)
        if isinstance(found, Unparsed):
            used = await asyncio.to_thread(self._with, used, request, first)
            return await self._repaired(request, first, found, used)
        return self._read(found, first)

    async def _repaired(self, request: ModelRequest, first: Reply, broken: Unparsed, used: Cost) -> _Proposed:
        """Ask once for a better answer, then salvage what the answers hold, then take the analyst's."""
        second = await self._ask("diagnose/2", repair_request(request, first, broken), used, REPAIR_TIMEOUT_S)
        replies: Sequence[Reply] = [first]
        if isinstance(second, Reply):
            found = parse_proposal(second.content)
            if not isinstance(found, Unparsed):
                return self._read(found, second)
            replies = [second, first]
        for reply in replies:
            salvaged = salvage_proposal(reply.content)
            if salvaged is not None:
                return self._read(salvaged, reply, "the answer was broken: only its whole parts were read")
        return await self._analyst(degraded="the model's diagnosis could not be read")

    async def _ask(self, key: str, request: ModelRequest, used: Cost, timeout_s: float) -> Reply | ModelFailed:
        """Ask once under `key` and commit the receipt; near the deadline, or above a ceiling, do not ask.

        The loop has set aside what a last turn, this and its repair cost; beyond it nothing is bought.
        """
        left_s = (fold.deadline(self.state) - self.acts.clock.now()).total_seconds()
        most = Cost(tokens=0, usd_micros=0)
        if not _is_committed(self.acts, key):
            if left_s < SHORTEST_ASK_S:
                return ModelFailed(kind="deadline", message="no time was left to ask it")
            # In a thread, as in the loop: counting tokens takes a while.
            most = await asyncio.to_thread(self._most_of, request)
            short = self._short_of(most, used)
            if short is not None:
                return _no_budget(short)

        async def ask(seconds: float) -> Reply:
            return await self.kit.investigator.diagnose(request, self.view, timeout_s=seconds)

        try:
            answered = await self.acts.model(
                key,
                request,
                ask,
                timeout_s=min(timeout_s, max(left_s, SHORTEST_ASK_S)),
                most_usd_micros=most.usd_micros,
            )
        except BudgetExhausted as spent:
            return _no_budget(spent)
        if answered.fresh:
            await self.acts.keep(answered)
        return answered.outcome

    def _most_of(self, request: ModelRequest) -> Cost:
        """Give the most that this request may cost."""
        return most_of(
            self.kit.count_tokens(request),
            answer_tokens(self.state.limits),
            self.kit.price,
            dearest_usd_micros=self.view.dearest_turn_usd_micros,
        )

    def _short_of(self, ask: Cost, used: Cost) -> BudgetExhausted | None:
        """Name the ceiling that such a request could cross, dollars in dollars."""
        limits = self.state.limits
        match short_of(used, ask, limits):
            case "max_tokens":
                return BudgetExhausted("max_tokens", used=used.tokens, allowed=limits.max_tokens)
            case "max_usd":
                allowed = limits.max_usd_micros / USD_MICROS
                return BudgetExhausted("max_usd", used=used.usd_micros / USD_MICROS, allowed=allowed)
            case None:
                return None
            case unknown:
                assert_never(unknown)

    def _with(self, used: Cost, request: ModelRequest, reply: Reply) -> Cost:
        return Cost(
            tokens=used.tokens + guarded_tokens(reply, self.kit.count_tokens(request)),
            usd_micros=used.usd_micros + (reply.cost_usd_micros or 0),
        )

    async def _analyst(self, *, degraded: str) -> _Proposed:
        """Take the analyst's proposal: a pure reading of the view, no effect and no reservation."""
        request = self.kit.analyst.diagnose_request(self.view)
        reply = await self.kit.analyst.diagnose(request, self.view, timeout_s=ANALYST_TIMEOUT_S)
        found = parse_proposal(reply.content)
        if isinstance(found, Unparsed):
            nothing = Proposal(verdict=Verdict.INCONCLUSIVE, root_cause="")
            return _Proposed(nothing, found.problems, degraded)
        read = read_proposal(found, self._items(), "analyst")
        return _Proposed(read.proposal, read.notes, degraded)

    def _read(self, wire: WireProposal, reply: Reply, *notes: str) -> _Proposed:
        read = read_proposal(wire, self._items(), clean(reply.model) or "model")
        return _Proposed(read.proposal, (*notes, *read.notes))

    def _items(self) -> dict[str, EvidenceItem]:
        return {item.name: item for item in self.view.evidence}


def _cited_first(evidence: Sequence[EvidenceItem], proposal: Proposal) -> list[EvidenceItem]:
    """Put what the proposal cites first: should not all contents be held, these are. A claim without one fails."""
    parts = (*proposal.causal_chain, *proposal.claims, *proposal.ruled_out)
    cited = {citation.evidence for part in parts for citation in part.citations}
    if proposal.onset is not None:
        cited.add(proposal.onset.citation.evidence)
    return sorted(evidence, key=lambda item: item.name not in cited)  # stable: in order of admission within


def _no_budget(short: BudgetExhausted) -> ModelFailed:
    return ModelFailed(kind="budget_exhausted", message=f"no budget was left to ask it ({short})")


def repair_request(request: ModelRequest, reply: Reply, broken: Unparsed) -> ModelRequest:
    """Write the one request for a better answer: the conversation, what came, and what is wrong with it."""
    shown = clean(reply.content)
    if len(shown) > MAX_SHOWN_REPLY_CHARS:
        shown = f"{shown[:MAX_SHOWN_REPLY_CHARS]} [cut: {len(shown)} characters]"
    complaint = "Your answer cannot be read:\n" + "\n".join(f"- {problem}" for problem in broken.problems)
    ask = "\nAnswer again with one JSON object that satisfies the schema, and nothing else."
    return request.but(
        purpose="repair",
        messages=(*request.messages, AssistantTurn(text=shown or "(empty)"), UserText(text=complaint + ask)),
    )


def _is_committed(acts: Acts, key: str) -> bool:
    """Say whether the answer is already recorded: then it costs nothing, and is taken whatever the time."""
    return any(
        row.outcome_digest is not None and (row.key == key or row.key.startswith(f"{key}/try/"))
        for row in acts.chronicle.effects
    )
