import pytest

from inquest.domain.evidence import Asked, CoverageRow, EvidenceItem, Excluded
from inquest.domain.failure import FailureCode, failure
from inquest.domain.signals import Logs
from inquest.stages.coverage import answered_share, coverage
from tests.builders import Shelf, at, integrations, logs, matrix, series


def table(shelf: Shelf, excluded: tuple[Excluded, ...] = ()) -> tuple[CoverageRow, ...]:
    return coverage(shelf.asked, shelf.evidence, excluded, None)


def test_each_query_says_how_it_ended() -> None:
    shelf = Shelf()
    shelf.add(matrix(series([1.0])))
    shelf.add(Logs(lines=()), source="loki")
    shelf.add(matrix(series([1.0]), series([2.0])), shown_items=1)
    shelf.add(logs((at(0), "a")), source="loki", error=failure(FailureCode.TIMEOUT))

    assert [row.status for row in table(shelf)] == ["answered", "empty", "truncated", "truncated"]
    assert table(shelf)[2].why.startswith("1 of 2 items")
    assert table(shelf)[3].why == "only a part came back: the read did not finish in its time"
    assert table(shelf)[3].code is FailureCode.TIMEOUT


def unanswered(**changed: object) -> Asked:
    shelf = Shelf()
    shelf.add(matrix(series([1.0])))
    return shelf.asked[0].but(evidence=(), **changed)


def test_a_failed_query_is_no_empty_answer() -> None:
    failed = unanswered(failure=failure(FailureCode.PROVIDER_ERROR, "expression: unknown function"))
    (row,) = coverage([failed], (), (), None)
    assert (row.status, row.code, row.why) == ("failed", FailureCode.PROVIDER_ERROR, "expression: unknown function")


def test_an_excluded_answer_is_a_failed_one() -> None:
    asked = unanswered()
    excluded = Excluded(effect_key=asked.effect_key, observation_id="sha256:x", reason="its tenant differs")
    (row,) = coverage([asked], (), [excluded], None)
    assert (row.status, row.why) == ("failed", "the answer may not be used: its tenant differs")


def test_connected_kinds_of_signal_that_were_never_asked_are_listed() -> None:
    shelf = Shelf()
    shelf.add(matrix(series([1.0])))
    rows = coverage(shelf.asked, shelf.evidence, (), integrations())

    assert [(row.source, row.signal, row.status) for row in rows] == [
        ("prometheus", "metrics", "answered"),
        ("loki", "logs", "never_asked"),
        ("gitlab", "changes", "never_asked"),
    ]
    assert rows[1].why == "not used: loki_query"


def test_a_source_that_is_only_asked_for_names_is_no_gap() -> None:
    connected = integrations()
    names = connected.sources[0].but(signals=("names", "rules"))
    assert coverage((), (), (), connected.but(sources=(names,))) == ()


@pytest.mark.parametrize(
    ("statuses", "share"),
    [((), 0.0), (("answered", "empty"), 1.0), (("answered", "failed", "never_asked", "truncated"), 0.25)],
)
def test_the_answered_share_counts_empty_as_an_answer(statuses: tuple[str, ...], share: float) -> None:
    shelf = Shelf()
    item: EvidenceItem = shelf.add(matrix(series([1.0])))
    (row,) = table(shelf)
    assert item.name == row.evidence
    assert answered_share([row.but(status=status) for status in statuses]) == share
