"""When a diagnosis is right about a recording."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from inquest.domain.claim import ChangeEvent, Citation
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.scenarios.judge import wrong_with
from inquest.scenarios.pack.format import Truth

T0 = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
DIGEST = "sha256:" + "0" * 64


def blamed(change_id: str) -> ChangeEvent:
    cited = Citation(evidence="E1", observation_id=DIGEST, content_digest=DIGEST, pointer="", quoted="")
    return ChangeEvent(text="It was.", citations=(cited,), change_id=change_id, what="deployment", at=T0)


RELEASE = Truth(
    verdict=Verdict.CAUSE_FOUND,
    root_cause="The release.",
    category="change.deployment",
    also_accepted=("change.*",),
    affected_object="deployment/shop/payments",
    culprit_change="shop/payments!7",
    onset=T0,
)
SURGE = RELEASE.but(category="traffic.surge", also_accepted=(), culprit_change="")
UNSEEN = Truth(
    verdict=Verdict.INCONCLUSIVE, root_cause="Unknown.", category="other.unknown", missing=("logs",), onset=T0
)
RIGHT = Diagnosis(
    verdict=Verdict.CAUSE_FOUND,
    root_cause="The release.",
    root_cause_category="change.deployment",
    affected_object="service/shop/payments",
    validated_claims=(blamed("shop/payments!7"),),
)
A_SURGE = RIGHT.but(root_cause_category="traffic.surge", validated_claims=())
NOTHING = Diagnosis(
    verdict=Verdict.INCONCLUSIVE, root_cause="?", missing_evidence=("loki_query (logs) failed: the source is down",)
)


@pytest.mark.parametrize(
    ("diagnosis", "truth"),
    [
        (RIGHT, RELEASE),
        (RIGHT.but(root_cause_category="change.release"), RELEASE),
        (A_SURGE, SURGE),
        (NOTHING, UNSEEN),
        (NOTHING.but(missing_evidence=("The log of checkout.",)), UNSEEN),
        # What did not bring it may be mentioned, as long as no cause is claimed to be found.
        (NOTHING.but(validated_claims=(blamed("shop/x!1"),)), UNSEEN),
    ],
)
def test_what_is_right_has_nothing_wrong(diagnosis: Diagnosis, truth: Truth) -> None:
    assert wrong_with(diagnosis, truth) == ()


@pytest.mark.parametrize(
    ("diagnosis", "truth", "said"),
    [
        (RIGHT.but(verdict=Verdict.CONTRIBUTING_ONLY), RELEASE, "the verdict is contributing_only"),
        (RIGHT.but(root_cause_category="resource.cpu_exhausted"), RELEASE, "the cause is resource.cpu_exhausted"),
        (RIGHT.but(affected_object="deployment/shop/checkout"), RELEASE, "the culprit is deployment/shop/checkout"),
        (RIGHT.but(affected_object=""), RELEASE, "the culprit is nobody"),
        (RIGHT.but(validated_claims=()), RELEASE, "it does not name shop/payments!7"),
        (RIGHT.but(validated_claims=(blamed("shop/checkout!3"),)), RELEASE, "it does not name shop/payments!7"),
        (A_SURGE.but(validated_claims=(blamed("shop/x!1"),)), SURGE, "it blames shop/x!1, and no change did it"),
        (NOTHING.but(root_cause_category="change.deployment"), UNSEEN, "it blames a change, and no change did it"),
        (NOTHING.but(missing_evidence=()), UNSEEN, "it does not say that logs are missing"),
        (NOTHING.but(missing_evidence=("no catalogue was given",)), UNSEEN, "it does not say that logs are missing"),
        (NOTHING.but(affected_object="deployment/shop/checkout"), UNSEEN, "it should be nobody"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(diagnosis: Diagnosis, truth: Truth, said: str) -> None:
    assert said in "; ".join(wrong_with(diagnosis, truth))
