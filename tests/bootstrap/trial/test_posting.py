"""What is posted of an alert is what an Alertmanager would have sent: the intake understands it, the stages its expression."""

from __future__ import annotations

from datetime import timedelta

from inquest.analysis.expression import expression_of
from inquest.bootstrap.trial.choosing import AlertRule, Group
from inquest.bootstrap.trial.posting import fingerprint_of, posts_of
from inquest.domain.alert import Alert, AlertStatus, Post
from inquest.sources import alertmanager
from tests.builders import T0

URL = "http://prometheus.example.com/prefix/"
EXPRESSION = 'sum by (service) (rate(errors_total{code=~"5.."}[5m])) > 0.2'
RULE = AlertRule(
    name="Down", expression=EXPRESSION, labels={"severity": "critical"},
    annotations={"summary": "It is down", "description": "{{ $labels.pod }} is down"},
)  # fmt: skip


def one(pod: str, *, ended: bool = False, **annotations: str) -> Alert:
    labels = {"alertname": "Down", "severity": "critical", "service": "checkout", "pod": pod}
    return Alert(
        fingerprint=fingerprint_of(labels), name="Down", labels=labels, annotations=annotations, starts_at=T0,
        status=AlertStatus.RESOLVED if ended else AlertStatus.FIRING,
        ends_at=T0 + timedelta(minutes=7) if ended else None,
    )  # fmt: skip


def posted(*alerts: Alert, rules: tuple[AlertRule, ...] = (RULE,)) -> list[Post]:
    return [alertmanager.parse(body) for body in posts_of(Group(alerts=alerts), rules, URL)]


def test_what_fires_is_one_post_that_is_understood_as_it_was() -> None:
    a, b = one("a", summary="a is down"), one("b")

    (post,) = posted(a, b)

    assert (post.quarantine, post.parse_warnings, post.quarantined_alerts) == (None, (), 0)
    written = {"summary": "It is down"}
    expected = [a.but(annotations={"summary": "a is down"}), b.but(annotations=written)]
    assert [alert.but(generator_url="") for alert in post.alerts] == expected


def test_the_expression_of_its_rule_is_found_again_in_its_link() -> None:
    (post,) = posted(one("a"))

    assert post.alerts[0].generator_url.startswith("http://prometheus.example.com/prefix/graph?g0.expr=sum")
    assert expression_of(post.alerts[0].generator_url) == EXPRESSION


def test_without_its_rule_an_alert_says_no_expression() -> None:
    (post,) = posted(one("a"), rules=())

    assert post.alerts[0].generator_url == ""


def test_what_has_ended_is_told_to_fire_first_and_then_to_be_resolved() -> None:
    firing, resolved = posted(one("a", ended=True), one("b"))

    assert [(str(alert.status), alert.ends_at) for alert in firing.alerts] == [("firing", None), ("firing", None)]
    assert [(alert.labels["pod"], alert.ends_at) for alert in resolved.alerts] == [("a", T0 + timedelta(minutes=7))]
    assert resolved.alerts[0].status is AlertStatus.RESOLVED
    assert resolved.alerts[0].fingerprint == firing.alerts[0].fingerprint


def test_alerts_of_different_labels_have_different_fingerprints() -> None:
    assert fingerprint_of({"pod": "a"}) != fingerprint_of({"pod": "b"})
    assert fingerprint_of({"a": "1", "b": "2"}) == fingerprint_of({"b": "2", "a": "1"})
