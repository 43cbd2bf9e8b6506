"""Two reports compared: what is the same, what is not, and what only one of them has."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from inquest.domain.claim import Unvalidated
from inquest.domain.diagnosis import Diagnosis, RuledOut, Verdict
from inquest.domain.evidence import EvidenceItem
from inquest.domain.hypothesis import Ledger
from inquest.domain.report import Report
from inquest.stages.comparison import Comparison, compare
from tests.incident import incident_shelf
from tests.reports import whole_report

SHELF = incident_shelf()
REPORT = whole_report(SHELF)


def diagnosis() -> Diagnosis:
    assert REPORT.diagnosis is not None
    return REPORT.diagnosis


def with_diagnosis(**changed: object) -> Report:
    return REPORT.but(diagnosis=diagnosis().but(**changed))


def with_evidence(change: Callable[[EvidenceItem], EvidenceItem | None], name: str = "E2") -> Report:
    """Give the report with one item changed, or without it."""
    kept = [change(item) if item.name == name else item for item in REPORT.evidence]
    return REPORT.but(evidence=tuple(item for item in kept if item is not None))


def told(found: Comparison) -> set[str]:
    """Name the fields that differ."""
    return {f"{one.part}.{one.name}" for one in found.fields if not one.same}


def test_a_report_is_the_same_as_itself() -> None:
    found = compare(REPORT, REPORT)

    assert (found.is_same, found.same_conclusion, told(found)) == (True, True, set())
    assert (found.claims, found.evidence) == ((), ())
    assert (found.claims_alike, found.evidence_alike) == (len(diagnosis().validated_claims), len(REPORT.evidence))
    assert (found.ruled_out.in_both, found.ruled_out.only_a, found.ruled_out.only_b) == (2, (), ())


OTHERS: dict[str, tuple[Report, set[str], bool]] = {
    "another run": (
        REPORT.but(investigation_id="inv-2", stop_reason="deadline", model="another"),
        {"identity.investigation", "run.stop_reason", "run.model"},
        True,
    ),
    "another service": (REPORT.but(service="payments"), {"identity.service"}, True),
    "another verdict": (with_diagnosis(verdict=Verdict.INCONCLUSIVE), {"conclusion.verdict"}, False),
    "another category": (
        with_diagnosis(root_cause_category="traffic.surge"), {"conclusion.category"}, False
    ),
    "another object": (
        with_diagnosis(affected_object="deployment/shop/payments"), {"conclusion.affected_object"}, False
    ),
    "other words for the same cause": (with_diagnosis(root_cause="It was deploy-77."), {"conclusion.root_cause"}, True),
    "another score": (with_diagnosis(validity_score=0.1), {"conclusion.validity_score"}, True),
    "degraded": (with_diagnosis(degraded="the key is not taken"), {"run.degraded"}, True),
    "no onset": (with_diagnosis(onset=None), {"conclusion.onset"}, True),
    "another spend": (REPORT.but(spend=REPORT.spend.but(model_turns=9)), {"spend.model_turns"}, True),
    "no window": (
        REPORT.but(window=None), {"window.anchor", "window.incident", "window.baseline"}, True
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_what_differs_is_told_by_its_name_both_ways(what: str) -> None:
    other, names, same_conclusion = OTHERS[what]

    for found in (compare(REPORT, other), compare(other, REPORT)):
        assert (told(found), found.same_conclusion) == (names, same_conclusion)


def test_a_report_without_a_diagnosis_has_another_conclusion() -> None:
    bare = REPORT.but(diagnosis=None, kind="failed")
    found = compare(REPORT, bare)

    assert not found.same_conclusion
    assert [(one.a, one.b) for one in found.fields if one.name == "verdict"] == [("cause_found", None)]
    assert {one.b for one in found.claims} == {"not_made"}
    assert compare(bare, bare).same_conclusion


# ---- claims


def test_a_claim_that_only_one_could_confirm_is_told_with_the_reason() -> None:
    first, *rest = diagnosis().validated_claims
    weaker = with_diagnosis(
        validated_claims=tuple(rest), non_validated_claims=(Unvalidated(claim=first, reason="too few samples"),)
    )
    found = compare(REPORT, weaker)

    (one,) = found.claims
    assert (one.text, one.a, one.b, one.reason) == (first.text, "validated", "not_validated", "too few samples")
    assert found.claims_alike == len(rest)
    assert not found.is_same


def test_a_claim_that_only_one_made_is_told() -> None:
    without = with_diagnosis(validated_claims=diagnosis().validated_claims[1:])

    assert [(one.a, one.b) for one in compare(REPORT, without).claims] == [("validated", "not_made")]
    assert [(one.a, one.b) for one in compare(without, REPORT).claims] == [("not_made", "validated")]


def test_a_claim_about_the_same_thing_with_other_figures_is_one_difference_and_not_two() -> None:
    first, *rest = diagnosis().validated_claims
    again = with_diagnosis(validated_claims=(first.model_copy(update={"text": "the same, a minute later"}), *rest))
    found = compare(REPORT, again)

    (one,) = found.claims
    assert (one.text, one.other_text, one.a, one.b) == (
        first.text, "the same, a minute later", "validated", "validated"
    )  # fmt: skip
    assert found.claims_alike == len(rest)
    assert not found.is_same


def test_a_claim_of_the_same_words_is_never_paired_with_another_of_its_subject() -> None:
    first, *rest = diagnosis().validated_claims
    more = first.model_copy(update={"text": "said before it, about the same"})
    found = compare(REPORT, with_diagnosis(validated_claims=(more, first, *rest)))

    assert [(one.text, one.a, one.b) for one in found.claims] == [(more.text, "not_made", "validated")]


# ---- evidence


def _later(item: EvidenceItem) -> EvidenceItem:
    seen = item.observation
    moved = seen.time_range.but(end=seen.time_range.end + timedelta(minutes=5))
    return item.but(observation=seen.but(time_range=moved, digest="sha256:" + "9" * 64))


EVIDENCE: dict[str, tuple[Callable[[EvidenceItem], EvidenceItem | None], str]] = {
    "another answer": (
        lambda item: item.but(observation=item.observation.but(digest="sha256:" + "9" * 64)), "other_answer"
    ),
    "another range": (_later, "other_range"),
    "none": (lambda _: None, "only_in_a"),
}  # fmt: skip


@pytest.mark.parametrize("what", EVIDENCE)
def test_a_query_with_another_answer_is_told(what: str) -> None:
    change, told_as = EVIDENCE[what]
    found = compare(REPORT, with_evidence(change))

    (one,) = found.evidence
    assert (one.tool, one.what, one.a is not None) == ("loki_query", told_as, True)
    assert found.evidence_alike == len(REPORT.evidence) - 1
    (back,) = compare(with_evidence(change), REPORT).evidence
    assert back.what == {"only_in_a": "only_in_b"}.get(told_as, told_as)


def test_a_query_that_was_asked_twice_is_paired_by_its_range() -> None:
    twice = next(item for item in REPORT.evidence if item.name == "E2")
    earlier, later = twice, _later(twice.but(name="E9"))
    a, b = REPORT.but(evidence=(earlier, later)), REPORT.but(evidence=(later, earlier))

    assert (compare(a, b).evidence, compare(a, b).evidence_alike) == ((), 2)
    (only,) = compare(a, REPORT.but(evidence=(later,))).evidence
    assert (only.what, only.a and only.a.evidence) == ("only_in_a", "E2")


# ---- texts


def test_what_was_ruled_out_and_which_limits_were_hit_is_told_by_side() -> None:
    other = with_diagnosis(ruled_out=(RuledOut(hypothesis="A full disk.", reason="it is empty"),)).but(
        ledger=Ledger(), limits_hit=("deadline",)
    )
    found = compare(REPORT, other)

    assert found.ruled_out.only_b == ("A full disk",)
    assert found.ruled_out.only_a == ("A crash of the process", "More traffic than usual")
    assert (found.limits_hit.only_a, found.limits_hit.only_b) == ((), ("deadline",))
    assert (found.is_same, found.same_conclusion) == (False, True)


def test_it_is_a_value_that_can_be_read_back() -> None:
    found = compare(REPORT, with_evidence(lambda _: None))

    assert Comparison.parse(found.canonical()) == found
    assert found.schema_version == 1
