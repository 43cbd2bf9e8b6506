"""What is read of a notification: who it is about, whether it fires, since when, and how bad it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from inquest.domain.alert import AlertStatus, severity_rank
from inquest.domain.value import Json
from inquest.sources import SOURCES, datadog
from inquest.sources.datadog import parse
from inquest.sources.datadog.payload import tags
from inquest.sources.shared.source import Source
from tests.sources.datadog.notifications import RECOVERED, RENOTIFY, TRIGGERED, alert, alert_of, filled, warnings

FIRING, RESOLVED = AlertStatus.FIRING, AlertStatus.RESOLVED
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def own(**fields: Json) -> bytes:
    """Write a payload of a template that is not ours."""
    return json.dumps(fields).encode()


def test_a_triggered_notification_is_read_whole() -> None:
    read = parse(filled(TRIGGERED))

    (found,) = read.alerts
    assert (read.source, read.quarantine, read.parse_warnings, read.delivery_id) == ("datadog", None, (), None)
    assert (found.fingerprint, found.name, found.status) == ("7716548234011230001", "Checkout error rate", FIRING)
    assert (found.starts_at, found.ends_at) == (NEW_YEAR, None)
    assert found.labels == {
        "alertname": "Checkout error rate", "monitor_id": "148275309", "severity": "critical", "env": "prod",
        "service": "checkout", "cluster": "eu-1", "namespace": "shop", "team": "payments",
    }  # fmt: skip
    assert found.annotations == {
        "summary": TRIGGERED["ALERT_TITLE"], "description": TRIGGERED["TEXT_ONLY_MSG"],
        "status": TRIGGERED["ALERT_STATUS"], "metric": TRIGGERED["ALERT_METRIC"], "query": TRIGGERED["ALERT_QUERY"],
        "transition": "Triggered", "priority": "P1", "scope": TRIGGERED["ALERT_SCOPE"], "tags": TRIGGERED["TAGS"],
        "snapshot": TRIGGERED["SNAPSHOT"],
    }  # fmt: skip
    assert found.generator_url == TRIGGERED["LINK"]
    assert read.sender == {
        "event_id": "7716548234011234567", "event_type": "query_alert_monitor", "org_id": "421337", "org_name": "Shop",
        "alert_cycle_key": "7716548234011230001", "aggreg_key": "9bd4ac313a4d1e8fae2482df7b77628",
    }  # fmt: skip


def test_all_notifications_of_a_cycle_are_one_alert() -> None:
    found = [alert_of(filled(values)) for values in (TRIGGERED, RENOTIFY, RECOVERED)]

    assert len({one.fingerprint for one in found}) == 1
    assert len({one.name for one in found}) == 1
    assert [one.status for one in found] == [FIRING, FIRING, RESOLVED]


# ---- whether it fires


@pytest.mark.parametrize(
    ("transition", "status", "begins"),
    [
        ("Triggered", FIRING, True),
        ("Re-Triggered", FIRING, False),
        ("No Data", FIRING, True),
        ("Re-No Data", FIRING, False),
        ("Warn", FIRING, True),
        ("Re-Warn", FIRING, False),
        ("Renotify", FIRING, False),
        ("Recovered", RESOLVED, False),
        ("Recovered on {host:web-1}", RESOLVED, False),
        ("Warn Recovered", RESOLVED, False),
        ("re_no_data", FIRING, False),
        ("TRIGGERED", FIRING, True),
    ],
)
def test_each_transition_says_whether_it_fires_and_whether_its_date_is_a_start(
    transition: str, status: AlertStatus, begins: bool
) -> None:
    found = alert(ALERT_TRANSITION=transition)

    assert found.status is status
    assert found.starts_at == (NEW_YEAR if begins else None)
    assert found.ends_at == (NEW_YEAR if status is RESOLVED else None)
    assert warnings(ALERT_TRANSITION=transition) == ()


@pytest.mark.parametrize("transition", ["Muted", "unRecoverednt", "Escalated"])
def test_an_unknown_transition_fires_with_a_warning(transition: str) -> None:
    assert alert(ALERT_TRANSITION=transition).status is FIRING
    assert warnings(ALERT_TRANSITION=transition) == ("alert_transition is an unknown word: taken as firing",)


@pytest.mark.parametrize("missing", ["$ALERT_TRANSITION", "null", "Null", ""])
@pytest.mark.parametrize(
    ("title", "kind", "status", "said"),
    [
        ("[P1] [Recovered on {service:a}] X", "error", RESOLVED, ()),
        ("[Warn on {service:a}] X", "success", FIRING, ()),
        ("Deployed", "success", RESOLVED, ()),
        ("Deploy failed", "error", FIRING, ("alert_transition is missing: taken as firing",)),
    ],
)
def test_without_a_transition_the_title_says_it_then_the_type_and_else_it_fires(
    missing: str, title: str, kind: str, status: AlertStatus, said: tuple[str, ...]
) -> None:
    changed = {"ALERT_TRANSITION": missing, "ALERT_TITLE": title, "ALERT_TYPE": kind}

    assert alert(**changed).status is status
    assert warnings(**changed) == said


# ---- titles


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("[Triggered on {host:ip-012345}] Host is Down", "Host is Down"),
        ("[P1] [Triggered on {env:prod,service:api}] [Memory Alert] api", "[Memory Alert] api"),
        ("[Re-Triggered] [P2] Disk", "Disk"),
        ("[No data on {url:http://x/[1]}] Probe", "Probe"),
        ("[TEST] [Triggered] Disk", "[TEST] [Triggered] Disk"),
        ("[1] Disk", "[1] Disk"),
        ("[Triggered", "[Triggered"),
        ("[Triggered]", "Datadog monitor 148275309"),
        ("<b>Disk</b> **full** on `db`", "<b>Disk</b> **full** on `db`"),
        ("Watchdog", "Datadog Watchdog"),
    ],
)
def test_the_title_without_its_state_names_the_alert(title: str, name: str) -> None:
    found = alert(ALERT_TITLE=title)

    assert (found.name, found.labels["alertname"], found.annotations["summary"]) == (name, name, title)
    assert not found.is_heartbeat


# ---- how bad


@pytest.mark.parametrize(
    ("priority", "kind", "transition", "tagged", "severity"),
    [
        ("P1", "error", "Triggered", "", "critical"),
        ("P2", "error", "Triggered", "", "high"),
        ("P3", "error", "Triggered", "", "medium"),
        ("P4", "error", "Triggered", "", "low"),
        ("p5", "error", "No Data", "", "info"),
        ("P1", "warning", "Warn", "", "warning"),
        ("P4", "warning", "Re-Warn", "", "low"),
        ("", "error", "Triggered", "severity:critical", "critical"),
        ("", "error", "Triggered", "severity:none", "error"),
        ("P2", "error", "Triggered", "severity:critical", "high"),
        ("", "warning", "Triggered", "", "warning"),
        ("$ALERT_PRIORITY", "$ALERT_TYPE", "Triggered", "", "error"),
        ("", "", "Renotify", "", ""),
        ("normal", "user_update", "Warn", "", "warning"),
        ("P1", "success", "Recovered", "", ""),
    ],
)
def test_severity_is_the_priority_else_the_tag_else_what_was_crossed_and_a_warning_is_no_more(
    priority: str, kind: str, transition: str, tagged: str, severity: str
) -> None:
    found = alert(ALERT_PRIORITY=priority, ALERT_TYPE=kind, ALERT_TRANSITION=transition, TAGS=tagged)

    assert found.severity == severity
    assert not severity or severity_rank(severity) in range(1, 5)
    assert not found.is_heartbeat


# ---- tags


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ("k:v,", {"k": "v"}),
        (",, k : v ,", {"k": "v"}),
        ("monitor,k:,flag", {}),
        ("url:http://x:80/a", {"url": "http://x:80/a"}),
        ("k:$VALUE,l:null,m:$TAGS[m],n:1", {"n": "1"}),
        ("kube_namespace:a,namespace:b", {"namespace": "b"}),
        ("namespace:b,kube_namespace:a", {"namespace": "b"}),
        ("pod_name:web-0,kube_deployment:web,cluster_name:eu", {"pod": "web-0", "deployment": "web", "cluster": "eu"}),
        ("alertname:Other,monitor_id:1", {}),
        ("*", {}),
    ],
)
def test_tags_become_labels_and_those_without_a_value_do_not(given: str, labels: dict[str, str]) -> None:
    found = alert(TAGS=given, ALERT_SCOPE="")

    own_labels = {"alertname": "Checkout error rate", "monitor_id": "148275309", "severity": "critical"}
    # The scope is in the title too.
    assert found.labels == {**own_labels, "env": "prod", "service": "checkout", **labels}
    assert found.annotations["tags"] == given.strip()


def test_a_tag_that_comes_twice_is_kept_once_with_a_warning() -> None:
    assert alert(TAGS="team:a,team:b,team:a").labels["team"] == "a"
    assert warnings(TAGS="team:a,team:b,team:a") == ("tags: 'team' comes twice, the first is kept",)
    assert warnings(TAGS="team:a,team:a") == ()


def test_what_triggered_goes_before_what_the_monitor_is_tagged_with() -> None:
    assert alert(ALERT_SCOPE="service:payments,host:db-1", TAGS="service:checkout").labels["service"] == "payments"
    assert alert(ALERT_SCOPE="host:db-1", HOSTNAME="ip-10-0-0-1").labels["host"] == "db-1"
    assert alert(HOSTNAME="ip-10-0-0-1").labels["host"] == "ip-10-0-0-1"


def test_tags_beyond_the_bound_are_left_out_with_a_warning() -> None:
    many = ",".join(f"k{n}:v" for n in range(300))

    said: list[str] = []
    assert list(tags(many, said, "tags")) == [(f"k{n}", "v") for n in range(256)]
    assert said == ["tags: only the first 256 are taken"]
    assert "tags: only the first 256 are taken" in warnings(TAGS=many)
    assert list(tags(",".join(["k:v"] * 256) + ",,", said := [], "tags")) == [("k", "v")] * 256
    assert said == []


def test_a_list_of_tags_is_read_as_well() -> None:
    assert alert_of(own(alert_id=7, tags=["service:a", "x", 3, "env:b"])).labels == {
        "alertname": "Datadog monitor 7", "monitor_id": "7", "service": "a", "env": "b",
    }  # fmt: skip


# ---- what names it


def test_without_a_cycle_key_monitor_and_scope_name_it_in_any_order_of_tags() -> None:
    unset = {"ALERT_CYCLE_KEY": "$ALERT_CYCLE_KEY"}
    one = alert(**unset)

    assert (
        alert(**unset, ALERT_SCOPE="service:checkout, env:prod", TEXT_ONLY_MSG="other").fingerprint == one.fingerprint
    )
    assert alert(**unset, ALERT_SCOPE="env:prod,service:payments").fingerprint != one.fingerprint
    assert alert(**unset, ALERT_ID="2").fingerprint != one.fingerprint
    assert (
        alert(**unset, ALERT_ID="", AGGREG_KEY="k").fingerprint
        != alert(**unset, ALERT_ID="", AGGREG_KEY="l").fingerprint
    )
    assert warnings(**unset) == ("alert_cycle_key has no value: monitor and scope name the alert",)


def test_without_any_id_title_and_tags_name_it_whatever_the_text_and_state() -> None:
    unset = {"ALERT_CYCLE_KEY": "null", "ALERT_ID": "", "AGGREG_KEY": "$AGGREG_KEY"}
    firing, over = (alert_of(filled({**values, **unset})) for values in (TRIGGERED, RECOVERED))

    assert firing.fingerprint == over.fingerprint
    assert alert(**unset, TAGS="service:payments", ALERT_SCOPE="").fingerprint != firing.fingerprint
    assert alert(**unset, TAGS=TRIGGERED["TAGS"] + ",pod_name:web-7").fingerprint == firing.fingerprint


def test_without_ids_and_title_the_text_keeps_alerts_apart() -> None:
    unset = dict.fromkeys(("ALERT_CYCLE_KEY", "ALERT_ID", "AGGREG_KEY", "ALERT_TITLE", "EVENT_TITLE"), "")
    full, high = (alert(**unset, TEXT_ONLY_MSG=text) for text in ("disk full", "cpu high"))

    assert full.fingerprint != high.fingerprint
    assert full.labels == high.labels
    assert (full.name, "alertname" in full.labels) == ("(no title)", False)
    assert alert(**unset, TEXT_ONLY_MSG="\ud800\x00").fingerprint not in {full.fingerprint, high.fingerprint}


def test_no_tag_gives_the_name_the_monitor_or_a_severity_that_hides_it() -> None:
    unset = dict.fromkeys(("ALERT_ID", "ALERT_TITLE", "EVENT_TITLE", "ALERT_PRIORITY", "ALERT_TYPE", "ALERT_SCOPE"), "")
    tagged = "alertname:Watchdog,monitor_id:1,severity:none"

    for transition in ("Renotify", "Recovered", "Triggered"):
        found = alert(**unset, TAGS=tagged, ALERT_TRANSITION=transition)
        assert not found.is_heartbeat
        assert found.labels == ({"severity": "error"} if transition == "Triggered" else {})


def test_datadogs_own_default_payload_is_understood() -> None:
    fields: dict[str, Json] = {
        "id": "8306082202796025694", "last_updated": "1767225600000", "event_type": "query_alert_monitor",
        "date": "1767225600000", "org": {"id": "1", "name": "x"}, "body": "%%%\n**High** load\n%%%",
    }  # fmt: skip
    firing = alert_of(own(title="[Triggered on {host:a}] Load", **fields))
    over = alert_of(own(title="[Recovered on {host:a}] Load", **{**fields, "id": "9"}))

    assert (firing.status, over.status) == (FIRING, RESOLVED)
    assert firing.fingerprint == over.fingerprint
    assert firing.labels == {"alertname": "Load", "host": "a", "severity": "error"}
    assert firing.annotations["description"] == "%%%\n**High** load\n%%%"


def test_numbers_that_were_not_quoted_are_read_as_those_that_were() -> None:
    quoted = alert_of(own(alert_cycle_key="7716548234011230001", alert_id="12", date="1767225600"))
    bare = alert_of(b'{"alert_cycle_key": 7716548234011230001, "alert_id": 12, "date": 1767225600}')

    assert bare == quoted
    assert bare.starts_at == NEW_YEAR


# ---- what is not understood


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "invalid_json at byte 0"),
        (b"[]", "not_datadog: the body is no object"),
        (b'[{"alert_id": "1"}]', "not_datadog: the body is no object"),
        (b"{}", "not_datadog: it has no field of the payload template"),
        (b'{"version": "4", "alerts": [], "status": "firing"}', "not_datadog: it has no field of the payload template"),
        (b'{"alert_id": "$ALERT_ID", "title": null, "date": "1767225600000"}', "unset: no variable that could name the alert has a value"),
        (b'{"title": "[$ALERT_TRANSITION] $EVENT_TITLE", "tags": ""}', "unset: no variable that could name the alert has a value"),
        (b"payload=%7B%22alert_id%22%3A%221%22%7D", "form_encoded: switch 'Encode as form' off in the webhook, only JSON is read"),
        (b"alert_id=1&title=Disk+full", "form_encoded: switch 'Encode as form' off in the webhook, only JSON is read"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_quarantined_with_the_reason(body: bytes, reason: str) -> None:
    read = parse(body)

    assert (read.quarantine, read.alerts) == (reason, ())


def test_the_vendor_is_a_source() -> None:
    source: Source = datadog
    assert SOURCES["datadog"] is source
