"""Alertmanager's posts, the recorded ones and any other."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.alert import Alert, AlertStatus
from inquest.domain.intake import MAX_ALERTS, MAX_WARNINGS
from inquest.domain.value import Json
from inquest.sources import SOURCES, alertmanager
from inquest.sources.alertmanager import parse
from inquest.sources.shared.source import Source

POSTS = Path(__file__).parent.parent / "data" / "alertmanager"
INJECTIONS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/bugs/intake_injection.jsonl").read_text().splitlines()
]


def post(*alerts: Json, **fields: Json) -> bytes:
    return json.dumps({"version": "4", "groupKey": "{}", "alerts": list(alerts), **fields}).encode()


def one(**fields: Json) -> Alert:
    (alert,) = parse(post({"status": "firing", "labels": {"alertname": "A"}, "fingerprint": "f1", **fields})).alerts
    return alert


def warnings(**fields: Json) -> tuple[str, ...]:
    return parse(post({"status": "firing", "labels": {"alertname": "A"}, "fingerprint": "f1", **fields})).parse_warnings


@pytest.mark.parametrize(
    ("file", "firing", "resolved", "truncated"),
    [
        ("bearer_auth_firing", 1, 0, 0),
        ("group12_firing", 12, 0, 0),
        ("group30_firing", 30, 0, 0),
        ("group30_resolved", 0, 30, 0),
        ("group_14firing_16staleresolved", 14, 16, 0),
        ("group_grows_14_firing", 14, 0, 0),
        ("group_mixed_6firing_8resolved", 6, 8, 0),
        ("max_alerts10_of30_firing", 10, 0, 20),
        ("max_alerts10_resolved", 0, 10, 20),
        ("single_firing", 1, 0, 0),
        ("single_resolved", 0, 1, 0),
    ],
)
def test_recorded_posts_are_understood_without_a_warning(file: str, firing: int, resolved: int, truncated: int) -> None:
    read = parse((POSTS / f"{file}.json").read_bytes())

    assert (read.quarantine, read.parse_warnings, read.quarantined_alerts) == (None, (), 0)
    assert sum(alert.status is AlertStatus.FIRING for alert in read.alerts) == firing
    assert sum(alert.status is AlertStatus.RESOLVED for alert in read.alerts) == resolved
    assert read.truncated_alerts == truncated
    assert all((alert.ends_at is None) == (alert.status is AlertStatus.FIRING) for alert in read.alerts)


def test_a_recorded_alert_is_read_whole() -> None:
    (alert,) = parse((POSTS / "single_resolved.json").read_bytes()).alerts

    assert (alert.fingerprint, alert.name, alert.severity) == ("03a283e568c6e1c6", "CheckoutErrorRateHigh", "critical")
    assert alert.starts_at == datetime(2026, 11, 30, 15, 8, 41, 704000, tzinfo=UTC)
    assert alert.ends_at == datetime(2026, 11, 30, 15, 9, 32, 704000, tzinfo=UTC)
    assert alert.labels["pod"] == "checkout-7d9f-ok"
    assert alert.annotations["description"].count("\n") == 1
    assert alert.generator_url.startswith("http://vm:19090/graph?")


def test_facts_of_the_post_are_kept() -> None:
    read = parse((POSTS / "single_firing.json").read_bytes())
    assert read.sender == {
        "group_key": '{}/{target="ok"}:{alertname="CheckoutErrorRateHigh", target="ok"}',
        "receiver": "ok",
        "external_url": "http://127.0.0.1:19093",
        "status": "firing",
    }


def test_unknown_fields_and_those_of_later_releases_are_accepted() -> None:
    read = parse(
        post(
            {"labels": {"a": "b"}, "status": "firing", "new": [1]},
            notification_reason="new alerts added",
            routeLabels={},
        )
    )
    assert (read.parse_warnings, read.sender["notification_reason"]) == ((), "new alerts added")


@pytest.mark.parametrize("year", ["0001-01-01T00:00:00Z", "", None])
def test_year_one_is_no_end(year: Json) -> None:
    assert one(status="resolved", endsAt=year).ends_at is None


def test_the_end_of_a_firing_alert_is_when_its_sender_would_give_it_up_and_no_end() -> None:
    assert one(endsAt="2026-03-01T10:05:00Z").ends_at is None
    assert one(status="resolved", endsAt="2026-03-01T10:05:00Z").ends_at is not None


def test_a_year_out_of_range_is_none_and_a_warning() -> None:
    assert one(startsAt="99999-01-01T00:00:00Z").starts_at is None
    assert warnings(startsAt="99999-01-01T00:00:00Z") == ("startsAt is outside the years 1970 to 2200",)


@pytest.mark.parametrize("url", ["?orgId=1", "//collect.example/x", "javascript:alert(1)", "/graph", ""])
def test_links_are_kept_as_opaque_text(url: str) -> None:
    assert one(generatorURL=url).generator_url == url


@pytest.mark.parametrize(
    ("own", "group", "read", "said"),
    [
        ("resolved", "firing", AlertStatus.RESOLVED, ()),
        ("FIRING", "resolved", AlertStatus.FIRING, ()),
        (None, "resolved", AlertStatus.RESOLVED, ("an alert has no status of its own: the post's is taken",)),
        ("suppressed", None, AlertStatus.FIRING, ("an alert has no status: taken as firing",)),
    ],
)
def test_an_alerts_own_status_goes_before_the_posts(
    own: Json, group: Json, read: AlertStatus, said: tuple[str, ...]
) -> None:
    taken = parse(post({"labels": {"a": "b"}, "status": own}, status=group))
    assert (taken.alerts[0].status, taken.parse_warnings) == (read, said)


def test_an_alert_without_a_name_says_so() -> None:
    assert one(labels={"job": "x"}).name == "(no alertname)"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "invalid_json at byte 1"),
        (b"[]", "not_v4: the body is no object"),
        (b"null", "not_v4: the body is no object"),
        (b'{"alerts": []}', "not_v4: missing version"),
        (b'{"version": "4"}', "not_v4: missing alerts"),
        (b'{"version": "1", "alerts": [{}]}', "not_v4: another version"),
        (b'{"version": ["4"], "alerts": [{}]}', "not_v4: another version"),
        (b'{"version": "4", "alerts": {}}', "not_v4: alerts is no list"),
        (b'{"version": "4", "alerts": []}', "no_alerts: the list is empty"),
        (b'{"version": "4", "alerts": [1, null, {}, {"labels": {}}]}', "no_alerts: none of them is understood"),
    ],
)
def test_what_is_not_understood_is_quarantined_with_the_reason(body: bytes, reason: str) -> None:
    read = parse(body)
    assert (read.quarantine, read.alerts) == (reason, ())


def test_members_that_are_not_understood_are_counted_beside_those_that_are() -> None:
    read = parse(post("no object", {"labels": {"alertname": "A"}, "status": "firing"}, {"labels": {}}))
    assert (len(read.alerts), read.quarantined_alerts, read.quarantine) == (1, 2, None)


def test_alerts_above_the_cap_are_counted_and_those_under_it_taken() -> None:
    entry = b'{"status":"firing","labels":{"a":"b"},"fingerprint":"%d"}'
    body = b'{"version":"4","alerts":[' + b",".join(entry % n for n in range(MAX_ALERTS + 3)) + b"]}"
    read = parse(body)

    assert (len(read.alerts), read.quarantined_alerts) == (MAX_ALERTS, 3)
    assert read.parse_warnings == (f"3 alerts above {MAX_ALERTS} are quarantined",)


def test_warnings_are_bounded_and_say_how_many_there_were() -> None:
    alerts: list[Json] = [{"labels": {f"l{n}": "a\u200b"}, "status": "firing"} for n in range(50)]
    read = parse(post(*alerts))
    assert len(read.parse_warnings) == MAX_WARNINGS
    assert read.parse_warnings[-1] == "and 31 more warnings"


@pytest.mark.parametrize("case", INJECTIONS, ids=lambda case: case["id"])
def test_injected_text_stays_text_and_shows_what_it_hides(case: dict[str, str]) -> None:
    text = case["text"]
    alert = one(labels={"alertname": text, "pod": text}, annotations={"summary": text}, generatorURL=text)

    for kept in (alert.name, alert.labels["pod"], alert.annotations["summary"], alert.generator_url):
        assert not any(hidden in kept for hidden in "\x1b\x07\u202e\u202c")
        assert kept.count("\n") == text.count("\n")


def test_a_watchdog_is_a_heartbeat() -> None:
    assert one(labels={"alertname": "Watchdog"}).is_heartbeat


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
FIELDS = st.sampled_from(["status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint"])


@given(
    st.lists(st.dictionaries(FIELDS, JSON) | JSON, max_size=4),
    st.dictionaries(st.sampled_from(["version", "status", "groupKey", "truncatedAlerts"]), JSON),
)
def test_parse_never_raises_and_accounts_for_every_member(alerts: list[Json], fields: dict[str, Json]) -> None:
    read = parse(json.dumps({"version": "4", "alerts": alerts, **fields}).encode())

    read.canonical()
    if read.quarantine is None:
        assert len(read.alerts) + read.quarantined_alerts == len(alerts)
        assert read.alerts


@given(st.binary(max_size=300))
def test_parse_never_raises_for_any_bytes(body: bytes) -> None:
    assert parse(body).quarantine is not None


def test_the_vendor_file_is_a_source() -> None:
    source: Source = alertmanager
    assert SOURCES["alertmanager"] is source
