"""Each claim type: what holds, what is false, what is nearly right, and citations that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from inquest.domain.claim import (
    Absent,
    Change,
    ChangeEvent,
    Citation,
    Claim,
    CorrelatesInTime,
    Onset,
    Precedes,
    Present,
    StateIs,
    ValueAt,
)
from inquest.domain.failure import FailureCode, failure
from inquest.domain.signals import FiringAlert, FiringAlerts, Logs, Other
from inquest.domain.value import Json, epoch_ms
from inquest.domain.window import Window
from inquest.stages.claims import check_claim, render
from inquest.stages.exhibits import Exhibits
from tests.builders import Shelf, at, changes, deployment, logs, matrix, series, window

CALM: list[float | None] = [0.01, 0.012, 0.011, 0.009, 0.01, 0.011, 0.01, 0.012, 0.01, 0.011]
BROKEN: list[float | None] = [0.01, 0.011, 0.012, 0.31, 0.4123, 0.45, 0.44]
ERRORS = "http_request_errors_ratio"


@pytest.fixture
def shelf() -> Shelf:
    """E1 errors, E2 their baseline, E3 latency, E4 logs, E5 a deployment, E6 an empty log query, E7 workloads."""
    made = Shelf()
    made.add(matrix(series(BROKEN, metric=ERRORS, service="checkout")), expression=ERRORS)
    made.add(matrix(series(CALM, start=at(-30), metric=ERRORS, service="checkout")), expression=ERRORS)
    rising: list[float | None] = [0.1 * n for n in range(12)]
    made.add(
        matrix(
            series(rising, metric="latency_seconds", service="checkout"),
            series(rising[::-1], metric="throughput_bytes", service="checkout"),
            series([1.0, 2.0] * 6, metric="noise", service="payments"),
        ),
        expression='{service="checkout"}',
    )
    made.add(
        logs(
            (at(2), "connect to db-primary:5432 failed: Connection refused after 250ms"),
            (at(3), "pool exhausted: 50 of 50 connections in use"),
            service="checkout",
        ),
        source="loki",
        expression='{service="checkout"} |~ "error"',
    )
    made.add(changes(deployment("deploy-77", at(1), "Deploy checkout v2.4.1")), source="gitlab", expression="")
    made.add(Logs(lines=()), source="loki", expression='{service="payments"} |= "panic"')
    pods: Json = {"pods": [{"name": "checkout-7d9f-x2", "state": "OOMKilled", "restarts": 4, "ready": False}]}
    made.add(Other(value=pods), source="kubernetes", expression="")
    return made


def cite(shelf: Shelf, name: str, pointer: str, quoted: str | None = None) -> Citation:
    made = Exhibits(shelf.evidence, shelf.contents).cite(name, pointer)
    return made if quoted is None else made.but(quoted=quoted)


def reason(shelf: Shelf, claim: Claim) -> str:
    """Give "" when the claim holds, else why not. Its text is the one that code writes."""
    checked = check_claim(claim.but(text=render(claim)), Exhibits(shelf.evidence, shelf.contents, window()))
    assert checked.is_valid == (not checked.reason)
    return checked.reason


def value_at(shelf: Shelf, pointer: str = "/series/0/points/4") -> ValueAt:
    """Give a claim that holds."""
    return ValueAt(text="-", citations=(cite(shelf, "E1", pointer),), subject=ERRORS, at=at(4), value=0.4123)


@pytest.mark.parametrize(
    ("rule", "changed", "said"),
    [
        ("the value as it is", {}, ""),
        ("rounded to the digits written", {"value": 0.41}, ""),
        ("rounded wrongly", {"value": 0.42}, "the value there is 0.4123"),
        ("another value", {"value": 0.9}, "the value there is 0.4123"),
        ("zero where it is not zero", {"value": 0.0}, "the value there is 0.4123"),
        ("the wrong sample's time", {"at": at(5)}, "not of 2026-03-01T10:05"),
        ("a second too late", {"at": at(4) + timedelta(seconds=1)}, "the sample is of"),
        ("the same second", {"at": at(4) + timedelta(milliseconds=300)}, ""),
        ("a unit that the name carries", {"unit": "ratio"}, ""),
        ("a unit that nothing carries", {"unit": "%"}, "does not say that the value is in '%'"),
        ("another metric's name", {"subject": "latency_seconds"}, "the name 'latency_seconds'"),
        ("a subject that no word of is cited", {"subject": "saturation"}, "nothing of 'saturation'"),
        ("a subject that is not named", {"subject": " "}, "not named"),
    ],
)
def test_value_at(shelf: Shelf, rule: str, changed: dict[str, object], said: str) -> None:
    found = reason(shelf, value_at(shelf).but(**changed))
    assert said in found if said else found == "", (rule, found)


def test_value_at_needs_a_sample_not_a_series(shelf: Shelf) -> None:
    assert "no sample" in reason(shelf, value_at(shelf, "/series/0"))


def test_value_at_takes_the_value_inside_the_point_too(shelf: Shelf) -> None:
    assert reason(shelf, value_at(shelf, "/series/0/points/4/1")) == ""


def test_a_gap_has_no_value() -> None:
    shelf = Shelf()
    shelf.add(matrix(series([1.0, None], metric="up")), expression="up")
    claim = ValueAt(text="-", citations=(cite(shelf, "E1", "/series/0/points/1"),), subject="up", at=at(1), value=0.0)
    assert "no sample with a value" in reason(shelf, claim)


WINDOW_AND_BASELINE = (("E1", "/series/0"), ("E2", "/series/0"))


def on_series(shelf: Shelf, places: tuple[tuple[str, str], ...] = WINDOW_AND_BASELINE) -> tuple[Citation, ...]:
    return tuple(cite(shelf, name, pointer) for name, pointer in places)


@pytest.mark.parametrize(
    ("rule", "changed", "said"),
    [
        ("median before, extreme after", {}, ""),
        ("rounded, a half upwards", {"before": 0.01, "after": 0.5}, ""),
        ("rounded, a half downwards", {"after": 0.4}, ""),
        ("rounded wrongly", {"after": 0.46}, "the extreme after it is 0.45, not 0.46"),
        ("the last value is not the extreme", {"after": 0.44}, "the extreme after it is 0.45, not 0.44"),
        ("a wrong baseline", {"before": 0.1}, "the median before it is 0.0105"),
        ("before zero", {"before": 0.0}, "the median before"),
        ("a time after the series", {"at": at(60)}, "no sample at or after"),
    ],
)
def test_change(shelf: Shelf, rule: str, changed: dict[str, object], said: str) -> None:
    holds = Change(text="-", citations=on_series(shelf), subject=ERRORS, at=at(3), before=0.0105, after=0.45)
    found = reason(shelf, holds.but(**changed))
    assert said in found if said else found == "", (rule, found)


def test_a_change_is_measured_on_one_series(shelf: Shelf) -> None:
    mixed = on_series(shelf, (("E1", "/series/0"), ("E3", "/series/0")))
    claim = Change(text="-", citations=mixed, subject=ERRORS, at=at(3), before=0.0105, after=0.45)
    assert reason(shelf, claim) == "the series of the baseline is another one"


def test_an_aggregate_is_not_measured_against_the_baseline_of_another_query() -> None:
    shelf = Shelf()
    shelf.add(matrix(series([30.0] * 20)), expression="sum(errors)")
    shelf.add(matrix(series([200.0] * 20, start=at(-30))), expression="sum(requests)")
    shelf.add(matrix(series([1.0] * 20, start=at(-30))), expression="sum(errors)")

    def said(baseline: str, before: float) -> str:
        cited = on_series(shelf, (("E1", "/series/0"), (baseline, "/series/0")))
        return reason(shelf, Change(text="-", citations=cited, subject="errors", at=at(3), before=before, after=30.0))

    assert said("E2", 200.0) == "the series of the baseline is another one"
    assert said("E3", 1.0) == ""


def test_a_baseline_comes_before_the_window(shelf: Shelf) -> None:
    swapped = on_series(shelf, (("E2", "/series/0"), ("E1", "/series/0")))
    claim = Change(text="-", citations=swapped, subject=ERRORS, at=at(3), before=0.31, after=0.01)
    assert "does not begin before" in reason(shelf, claim)


def test_equal_numbers_are_no_change() -> None:
    shelf = Shelf()
    shelf.add(matrix(series([0.0] * 18, metric="errors_total")), expression="errors_total")
    claim = Change(
        text="-", citations=(cite(shelf, "E1", "/series/0"),), subject="errors_total", at=at(9), before=0.0, after=0.0
    )
    assert "no change" in reason(shelf, claim)


@pytest.mark.parametrize(
    ("rule", "minute", "said"),
    [
        ("the first sample that is away", 3, ""),
        ("one step beside it", 4, ""),
        ("two steps beside it", 5, "leaves its baseline at 2026-03-01T10:03"),
        ("before it", 0, "leaves its baseline at"),
    ],
)
def test_onset(shelf: Shelf, rule: str, minute: float, said: str) -> None:
    found = reason(shelf, Onset(text="-", citations=on_series(shelf), subject=ERRORS, at=at(minute)))
    assert said in found if said else found == "", (rule, found)


def test_a_series_that_never_leaves_its_baseline_has_no_onset(shelf: Shelf) -> None:
    claim = Onset(text="-", citations=on_series(shelf, (("E2", "/series/0"),)), subject=ERRORS, at=at(-25))
    assert "never leaves its baseline" in reason(shelf, claim)


def test_the_part_before_the_incident_window_is_a_baseline() -> None:
    shelf, start = Shelf(), window().incident.start
    whole = series([*CALM, *BROKEN], start=start - timedelta(minutes=10), metric=ERRORS)
    shelf.add(matrix(whole), expression=ERRORS)
    onset_at = start + timedelta(minutes=3)
    assert (
        reason(shelf, Onset(text="-", citations=(cite(shelf, "E1", "/series/0"),), subject=ERRORS, at=onset_at)) == ""
    )


@pytest.mark.parametrize(
    ("rule", "first", "then", "minutes", "said"),
    [
        ("a deployment before an onset", ("E5", "/changes/0"), ("E1", "/series/0/points/3"), (1, 3), ""),
        ("a log line after a deployment", ("E5", "/changes/0/time"), ("E4", "/lines/0/line"), (1, 2), ""),
        ("the other way round", ("E4", "/lines/0"), ("E5", "/changes/0"), (2, 1), "not before the second"),
        ("not the time of the record", ("E5", "/changes/0"), ("E4", "/lines/0"), (0, 2), "not of 2026-03-01T10:00"),
        ("the same moment", ("E4", "/lines/0"), ("E4", "/lines/0"), (2, 2), "not before the second"),
        ("a place without a time", ("E7", "/value/pods/0/state"), ("E4", "/lines/0"), (1, 2), "has no time"),
    ],
)
def test_precedes(
    shelf: Shelf,
    rule: str,
    first: tuple[str, str],
    then: tuple[str, str],
    minutes: tuple[float, float],
    said: str,
) -> None:
    claim = Precedes(
        text="-",
        citations=(cite(shelf, *first), cite(shelf, *then)),
        first="checkout",
        first_at=at(minutes[0]),
        then="checkout",
        then_at=at(minutes[1]),
    )
    found = reason(shelf, claim)
    assert said in found if said else found == "", (rule, found)


@pytest.mark.parametrize(
    ("rule", "second", "at_least", "said"),
    [
        ("one rises as the other falls", "/series/1", 0.9, ""),
        ("what moves by itself", "/series/2", 0.9, "the correlation is"),
        ("a bar so low that it says nothing", "/series/1", 0.2, "says nothing"),
        ("a series with itself", "/series/0", 0.9, "with itself"),
    ],
)
def test_correlates_in_time(shelf: Shelf, rule: str, second: str, at_least: float, said: str) -> None:
    claim = CorrelatesInTime(
        text="-",
        citations=(cite(shelf, "E3", "/series/0"), cite(shelf, "E3", second)),
        first="latency_seconds",
        second={"/series/2": "noise", "/series/0": "latency_seconds"}.get(second, "throughput_bytes"),
        at_least=at_least,
    )
    found = reason(shelf, claim)
    assert said in found if said else found == "", (rule, found)


@pytest.mark.parametrize(
    ("rule", "pointer", "fragment", "said"),
    [
        ("a part of the line", "/lines/0/line", "Connection refused", ""),
        ("another line's words", "/lines/1/line", "Connection refused", "does not contain"),
        ("nearly the words", "/lines/0/line", "connection refused", "does not contain"),
        ("two characters", "/lines/0/line", "db", "says nothing"),
        ("no text there", "/lines/0", "Connection refused", "no text"),
    ],
)
def test_present(shelf: Shelf, rule: str, pointer: str, fragment: str, said: str) -> None:
    found = reason(shelf, Present(text="-", citations=(cite(shelf, "E4", pointer),), fragment=fragment))
    assert said in found if said else found == "", (rule, found)


QUERY = '{service="payments"} |= "panic"'


def absent(shelf: Shelf, name: str, query: str = QUERY) -> str:
    return reason(shelf, Absent(text="-", citations=(cite(shelf, name, ""),), query=query))


def test_absent_is_a_complete_empty_answer_over_the_window(shelf: Shelf) -> None:
    assert absent(shelf, "E6") == ""
    assert "answers another query" in absent(shelf, "E6", '{service="checkout"} |= "panic"')
    assert "is not empty" in absent(shelf, "E4", '{service="checkout"} |~ "error"')


@pytest.mark.parametrize(
    ("rule", "about", "said"),
    [
        ("a partial answer", {"error": failure(FailureCode.TIMEOUT)}, "only a part"),
        ("a truncated answer", {"shown_items": 0}, "was truncated"),
        ("a later page", {"cursor": "next"}, "a later page"),
        ("a narrower window", {"time_range": Window(start=at(-5), end=at(30))}, "does not cover"),
        ("a window that ended too early", {"time_range": Window(start=at(-120), end=at(10))}, "does not cover"),
        ("asked while it went on", {"time_range": Window(start=at(-120), end=at(28))}, ""),
    ],
)
def test_could_not_look_is_not_nothing_found(rule: str, about: dict[str, object], said: str) -> None:
    shelf = Shelf()
    shelf.add(Logs(lines=()), source="loki", expression=QUERY, **about)
    found = absent(shelf, "E1")
    assert said in found if said else found == "", (rule, found)


def test_that_a_tool_found_nothing_is_no_more_than_that_one_query_did() -> None:
    shelf = Shelf()
    shelf.add(Logs(lines=()), source="loki", tool="loki_query", expression=QUERY)
    assert "answers another query" in absent(shelf, "E1", "loki_query")


def test_content_without_a_list_of_matches_cannot_show_absence(shelf: Shelf) -> None:
    shelf.add(Other(value={}), source="kubernetes", expression=QUERY)
    assert "cannot show absence" in absent(shelf, "E8")


@pytest.mark.parametrize(
    ("rule", "pointer", "subject", "state", "said"),
    [
        ("the state that is there", "/value/pods/0/state", "checkout-7d9f-x2", "OOMKilled", ""),
        ("in other letters", "/value/pods/0/state", "checkout-7d9f-x2", "oomkilled", ""),
        ("another state", "/value/pods/0/state", "checkout-7d9f-x2", "Running", "says 'oomkilled' there"),
        ("a part of the state", "/value/pods/0/state", "checkout-7d9f-x2", "OOM", "says 'oomkilled' there"),
        ("a number as it is", "/value/pods/0/restarts", "checkout-7d9f-x2", "4", ""),
        ("a truth value", "/value/pods/0/ready", "checkout-7d9f-x2", "false", ""),
        ("a whole record has no state", "/value/pods/0", "checkout-7d9f-x2", "OOMKilled", "no single value"),
        ("another pod", "/value/pods/0/state", "payments-1", "OOMKilled", "the name 'payments-1'"),
    ],
)
def test_state(shelf: Shelf, rule: str, pointer: str, subject: str, state: str, said: str) -> None:
    found = reason(shelf, StateIs(text="-", citations=(cite(shelf, "E7", pointer),), subject=subject, state=state))
    assert said in found if said else found == "", (rule, found)


@pytest.mark.parametrize(
    ("rule", "changed", "said"),
    [
        ("the change that is there", {}, ""),
        ("another change", {"change_id": "deploy-78"}, "of another change"),
        ("another time", {"at": at(2)}, "the change is of"),
        ("another version", {"what": "Deploy checkout v2.4.2"}, "the name 'v2.4.2'"),
    ],
)
def test_change_event(shelf: Shelf, rule: str, changed: dict[str, object], said: str) -> None:
    holds = ChangeEvent(
        text="-",
        citations=(cite(shelf, "E5", "/changes/0"),),
        change_id="deploy-77",
        what="Deploy checkout v2.4.1",
        at=at(1),
    )
    found = reason(shelf, holds.but(**changed))
    assert said in found if said else found == "", (rule, found)


@pytest.mark.parametrize(
    ("kind", "title", "what", "said"),
    [
        ("merge_request", "Fix cart", "deployment of checkout", "is of a merge_request, not of a deployment"),
        ("merge_request", "Fix cart", "merge request of checkout", ""),
        ("deployment", "Fix cart", "rollback of checkout", ""),
        ("deployment", "Fix cart", "merge of checkout", "is of a deployment, not of a merge_request"),
        ("deployment", "Merge the carts", "checkout: Merge the carts", ""),
        ("commit", "Fix cart", "checkout deployed", "is of a commit, not of a deployment"),
    ],
)
def test_a_merge_is_not_called_a_deployment(kind: str, title: str, what: str, said: str) -> None:
    shelf = Shelf()
    shelf.add(changes(deployment("c-1", at(1), title).but(change=kind)), source="gitlab", expression="changes")
    claim = ChangeEvent(text="-", citations=(cite(shelf, "E1", "/changes/0"),), change_id="c-1", what=what, at=at(1))
    found = reason(shelf, claim)
    assert said in found if said else found == "", found


def test_a_change_event_is_a_change_record(shelf: Shelf) -> None:
    claim = ChangeEvent(
        text="-", citations=(cite(shelf, "E4", "/lines/0"),), change_id="deploy-77", what="checkout", at=at(2)
    )
    assert "no change record" in reason(shelf, claim)


# ---- citations -------------------------------------------------------------------------------------------

ZERO = "sha256:" + "0" * 64
Edit = Callable[[Shelf, Citation], Citation]


@pytest.mark.parametrize(
    ("rule", "edit", "said"),
    [
        ("an unknown name", lambda _, c: c.but(evidence="E99"), "E99 is no evidence"),
        (
            "another item's identity",
            lambda s, c: c.but(observation_id=s.items[1].observation_id),
            "another observation",
        ),
        ("an invented identity", lambda _, c: c.but(observation_id=ZERO), "another observation"),
        ("another content", lambda s, c: c.but(content_digest=s.items[1].observation.digest), "another content"),
        ("a pointer past the end", lambda _, c: c.but(pointer="/series/0/points/99"), "leads nowhere"),
        ("a pointer into a number", lambda _, c: c.but(pointer="/series/0/points/4/1/x"), "leads nowhere"),
        ("a negative index", lambda _, c: c.but(pointer="/series/-1"), "leads nowhere"),
        ("a leading zero", lambda _, c: c.but(pointer="/series/00"), "leads nowhere"),
        ("no slash", lambda _, c: c.but(pointer="series"), "begins with /"),
        ("a deep pointer", lambda _, c: c.but(pointer="/0" * 80), "at most 64 steps"),
        ("a long pointer", lambda _, c: c.but(pointer="/" + "x" * 600), "at most 512 characters"),
        ("a wrong quote", lambda _, c: c.but(quoted="0.9"), "says '0.4123' where '0.9' is quoted"),
        ("a rounded quote", lambda _, c: c.but(quoted="0.41"), ""),
        ("a quote with the unit that is carried", lambda _, c: c.but(quoted="0.41 ratio"), ""),
        ("a quote with another unit", lambda _, c: c.but(quoted="0.41 ms"), "does not say that the value is in 'ms'"),
        ("a quote of words", lambda _, c: c.but(quoted="high"), "where 'high' is quoted"),
        ("an empty quote of a number", lambda _, c: c.but(quoted=""), "is quoted"),
    ],
)
def test_a_citation_leads_to_what_it_quotes(shelf: Shelf, rule: str, edit: Edit, said: str) -> None:
    holds = value_at(shelf)
    found = reason(shelf, holds.but(citations=(edit(shelf, holds.citations[0]),)))
    assert said in found if said else found == "", (rule, found)


def test_a_content_that_is_not_its_digest_confirms_nothing(shelf: Shelf) -> None:
    claim = value_at(shelf)
    digest = claim.citations[0].content_digest
    shelf.contents[digest] = shelf.contents[digest].replace(b"0.4123", b"0.9999")
    assert "does not have the digest" in reason(shelf, claim)


def test_an_envelope_that_was_changed_confirms_nothing(shelf: Shelf) -> None:
    claim = value_at(shelf)
    first = shelf.items[0]
    shelf.items[0] = first.but(observation=first.observation.but(service="payments"))
    assert "does not have the identity" in reason(shelf, claim)


def test_a_missing_content_is_said(shelf: Shelf) -> None:
    claim = value_at(shelf)
    shelf.contents.clear()
    assert reason(shelf, claim) == "the full content is not at hand"


def test_a_pointer_addresses_the_full_content_not_what_was_shown() -> None:
    shelf = Shelf()
    long = series([float(n) for n in range(100)], metric="queue_depth")
    shelf.add(matrix(series([1.0], metric="other"), long), expression="queue_depth", shown_items=1)
    claim = ValueAt(
        text="-",
        citations=(cite(shelf, "E1", "/series/1/points/99"),),
        subject="queue_depth",
        at=at(99),
        value=99.0,
    )
    assert reason(shelf, claim) == ""


def test_a_claim_has_at_most_eight_citations(shelf: Shelf) -> None:
    claim = value_at(shelf)
    assert "at most 8" in reason(shelf, claim.but(citations=claim.citations * 9))


def test_an_alert_dates_by_when_it_became_active() -> None:
    shelf = Shelf()
    firing = FiringAlert(
        name="CheckoutErrors", state="firing", labels={}, annotations={}, active_at=epoch_ms(at(0)), value="0.31"
    )
    shelf.add(FiringAlerts(alerts=(firing,)), signal="alerts", expression="")
    claim = ValueAt(
        text="-", citations=(cite(shelf, "E1", "/alerts/0/value"),), subject="CheckoutErrors", at=at(0), value=0.31
    )
    assert reason(shelf, claim) == ""


def test_a_contradiction_is_told_from_what_cannot_be_confirmed(shelf: Shelf) -> None:
    exhibits = Exhibits(shelf.evidence, shelf.contents, window())
    wrong, unnamed = value_at(shelf).but(value=0.9), value_at(shelf).but(unit="%")

    assert check_claim(wrong.but(text=render(wrong)), exhibits).contradicted
    assert not check_claim(unnamed.but(text=render(unnamed)), exhibits).contradicted
