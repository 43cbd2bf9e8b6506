"""One whole incident for tests: a deployment breaks checkout, and what is proposed about it.

E1 the error ratio (onset one minute after the deployment), E2 error lines, E3 the deployment, E4 an empty
query, E5 a truncated one. Every claim of `proposal` holds.
"""

from __future__ import annotations

from inquest.domain.claim import Absent, Change, ChangeEvent, Claim, Onset, Precedes, Present
from inquest.domain.diagnosis import ChainStep, OnsetAt, Proposal, Remediation, RuledOut, Verdict
from inquest.domain.hypothesis import Hypothesis, Ledger, LedgerEntry
from inquest.domain.signals import Logs
from inquest.stages.claims import render
from inquest.stages.coverage import coverage
from inquest.stages.exhibits import Exhibits
from inquest.stages.verdict import Basis
from tests.builders import MODEL, Shelf, at, changes, deployment, facts, integrations, logs, matrix, series, window

ERRORS = "http_errors_ratio"
QUIET: list[float | None] = [*([0.01, 0.012, 0.011, 0.009, 0.01, 0.011] * 20), 0.01, 0.011]
LOUD: list[float | None] = [0.31, 0.42, 0.45, 0.44, 0.45, 0.43] * 4
LINE = "connect to db-primary:5432 failed: too many connections"
NO_PANIC = '{service="checkout"} |= "panic"'


def incident_shelf() -> Shelf:
    """Give the evidence."""
    shelf = Shelf()
    errors = series(QUIET + LOUD, start=at(-120), metric=ERRORS, service="checkout")
    shelf.add(matrix(errors), expression=f'{ERRORS}{{service="checkout"}}')
    lines = logs(*((at(3 + minute), LINE) for minute in range(6)), service="checkout", namespace="shop")
    shelf.add(lines, source="loki", expression='{service="checkout"} |~ "error"')
    shelf.add(changes(deployment("deploy-77", at(1), "Deploy checkout v2.4.1")), source="gitlab", expression="")
    shelf.add(Logs(lines=()), source="loki", expression=NO_PANIC)
    many = logs(*((at(minute), f"line {minute}") for minute in range(20)), service="checkout", namespace="shop")
    shelf.add(many, source="loki", expression='{service="checkout"}', shown_items=3)
    return shelf


def ledger() -> Ledger:
    """Give how the hypotheses ended."""
    change = Hypothesis(name="h1", text="A change broke checkout", refuted_by="no change", category="change")
    traffic = Hypothesis(name="h2", text="More traffic than usual", refuted_by="no rise", category="traffic")
    return Ledger(
        entries=(
            LedgerEntry(hypothesis=change, judgement="supported", evidence=("E1", "E3"), reason="it came first"),
            LedgerEntry(hypothesis=traffic, judgement="refuted", evidence=("E1",), reason="traffic is as ever"),
        )
    )


def proposal(shelf: Shelf) -> Proposal:
    """Give a proposal that holds, in every part."""
    exhibits = Exhibits(shelf.evidence, shelf.contents, window())
    errors = exhibits.cite("E1", "/series/0")
    deployed = exhibits.cite("E3", "/changes/0")
    line = exhibits.cite("E2", "/lines/0/line")
    claims: list[Claim] = [
        Onset(text="-", citations=(errors,), subject=ERRORS, at=at(2)),
        Change(text="-", citations=(errors,), subject=ERRORS, at=at(2), before=0.01, after=0.45),
        ChangeEvent(text="-", citations=(deployed,), change_id="deploy-77", what="Deploy checkout v2.4.1", at=at(1)),
        Precedes(text="-", citations=(deployed, errors), first="deploy-77", first_at=at(1), then=ERRORS, then_at=at(2)),
        Present(text="-", citations=(line,), fragment="too many connections"),
        Absent(text="-", citations=(exhibits.cite("E4", ""),), query=NO_PANIC),
    ]
    return Proposal(
        verdict=Verdict.CAUSE_FOUND,
        root_cause="Deployment deploy-77 of checkout v2.4.1 made connections to db-primary:5432 run out.",
        root_cause_category="change.deployment",
        affected_object="deployment/shop/checkout",
        onset=OnsetAt(at=at(2), citation=errors),
        causal_chain=(
            ChainStep(at=at(1), text="deploy-77 was rolled out", citations=(deployed,)),
            ChainStep(at=at(2), text=f"{ERRORS} rose to 0.45", citations=(errors,)),
            ChainStep(at=at(3), text="connect to db-primary:5432 failed", citations=(line,)),
        ),
        claims=tuple(claim.but(text=render(claim)) for claim in claims),
        ruled_out=(
            RuledOut(
                hypothesis="A crash of the process", reason="no panic was logged", citations=(claims[5].citations)
            ),
        ),
        remediation_steps=(Remediation(text="Roll the deployment back.", risk="low"),),
        missing_evidence=("the pool settings of both versions",),
        next_checks=("Compare the pool settings.",),
        author=MODEL,
    )


def basis(shelf: Shelf) -> Basis:
    """Give what a proposal about the incident is judged on."""
    known = integrations()
    return Basis(
        exhibits=Exhibits(shelf.evidence, shelf.contents, window()),
        coverage=coverage(shelf.asked, shelf.evidence, (), known),
        ledger=ledger(),
        facts=facts(expression=f"{ERRORS} > 0.05"),
        service=known.service,
    )
