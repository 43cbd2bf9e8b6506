"""Which change is suspect: the service's own, that runs, shortly before the onset."""

from __future__ import annotations

import pytest

from inquest.analysis.suspects import LIKELY, suspects
from inquest.domain.signals import ChangeRecord

MINUTE = 60_000
ONSET = 1_000 * MINUTE


def change(
    before: float, *, kind: str = "deployment", service: str = "checkout", status: str = "success"
) -> ChangeRecord:
    return ChangeRecord.model_validate(
        {
            "change": kind,
            "change_id": f"{service} {before}",
            "title": "t",
            "author": "a",
            "time": ONSET - int(before * MINUTE),
            "service": service,
            "status": status,
        }
    )


def test_the_services_own_deployment_comes_before_a_nearer_one_of_something_else() -> None:
    ranked = suspects([change(2, service="payments"), change(8)], onset_ms=ONSET, service="checkout")

    assert [one.change.service for one in ranked] == ["checkout", "payments"]
    assert ranked[0].score >= LIKELY > ranked[1].score


def test_what_runs_is_more_suspect_than_what_was_merged() -> None:
    ranked = suspects(
        [change(5, kind="merge_request"), change(5), change(5, kind="commit")], onset_ms=ONSET, service="checkout"
    )

    assert [one.change.change for one in ranked] == ["deployment", "merge_request", "commit"]


@pytest.mark.parametrize(
    "innocent",
    [
        change(-1),
        change(61),
        change(5, status="failed"),
        change(5, status="canceled"),
        change(5, status="created"),
        change(5, kind="merge_request", status="opened"),
        change(5, kind="merge_request", status="closed"),
    ],
)
def test_a_change_after_the_onset_long_before_it_or_that_never_ran_is_none(innocent: ChangeRecord) -> None:
    assert suspects([innocent], onset_ms=ONSET, service="checkout") == ()


def test_a_change_within_the_samples_own_distance_may_be_before() -> None:
    ranked = suspects([change(-0.5)], onset_ms=ONSET, service="checkout", slack_ms=MINUTE)

    assert [one.before_ms for one in ranked] == [-MINUTE // 2]


def test_a_dependency_weighs_between_the_service_and_a_stranger() -> None:
    found = suspects(
        [change(5), change(5, service="orders-db"), change(5, service="search")],
        onset_ms=ONSET, service="checkout", depends_on=("orders-db",),
    )  # fmt: skip

    assert [one.change.service for one in found] == ["checkout", "orders-db", "search"]
    assert [one.is_own for one in found] == [True, False, False]


def test_a_service_without_a_name_owns_nothing() -> None:
    (one,) = suspects([change(5, service="")], onset_ms=ONSET, service="")

    assert not one.is_own
    assert one.score < LIKELY


def test_a_project_path_ends_with_its_service() -> None:
    (one,) = suspects([change(5, service="shop/checkout")], onset_ms=ONSET, service="checkout")

    assert one.is_own
