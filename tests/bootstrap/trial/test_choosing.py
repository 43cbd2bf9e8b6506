"""Which alert is investigated: the most severe, then the oldest; heartbeats never; what is wanted, or why it is not there."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inquest.bootstrap.trial.choosing import (
    AlertRule,
    Near,
    Standing,
    Wanted,
    chosen,
    groups_of,
    rule_of,
    since_firing,
    written,
)
from inquest.bootstrap.trial.posting import fingerprint_of
from inquest.domain.alert import Alert, AlertStatus
from inquest.errors import ConfigurationError
from tests.builders import T0

T0_UTC, LATER_UTC = "2026-03-01 10:00:00 UTC", "2026-03-01 10:20:00 UTC"


def fires(name: str, *, minutes: float = 0, **labels: str) -> Alert:
    every = {"alertname": name, **labels}
    return Alert(
        fingerprint=fingerprint_of(every), name=name, status=AlertStatus.FIRING, labels=every,
        starts_at=T0 + timedelta(minutes=minutes),
    )  # fmt: skip


def standing(*firing: Alert, **more: object) -> Standing:
    return Standing(at=T0, firing=firing).but(**more)


def names(*alerts: Alert) -> list[str]:
    return [written(group, groups_of(alerts)) for group in groups_of(alerts)]


def test_the_most_severe_comes_first_and_of_equals_the_oldest() -> None:
    alerts = (
        fires("Slow", severity="warning"),
        fires("Down", severity="critical", minutes=5),
        fires("Full", severity="critical", minutes=3),
        fires("Odd", minutes=-60),
        fires("Note", severity="info", minutes=-90),
    )

    assert names(*alerts) == ["Full", "Down", "Odd", "Slow", "Note"]
    found = chosen(standing(*alerts), None)
    assert found is not None
    assert found.first.name == "Full"


@pytest.mark.parametrize("beat", [fires("Watchdog", severity="critical"), fires("Any", severity="none")])
def test_a_heartbeat_is_never_chosen(beat: Alert) -> None:
    assert chosen(standing(beat), None) is None
    with pytest.raises(ConfigurationError, match="is a heartbeat"):
        chosen(standing(beat), Wanted(name=beat.name))


def test_several_series_of_an_alert_are_one_group_where_an_intake_would_group_them() -> None:
    pods = [fires("Crash", service="checkout", pod=pod, minutes=at) for at, pod in enumerate("cab")]
    other = fires("Crash", service="payments")

    groups = groups_of([*pods, other])

    assert [[one.labels.get("pod") for one in group.alerts] for group in groups] == [["c", "a", "b"], [None]]
    assert [written(one, groups) for one in groups] == ['Crash{service="checkout"}', 'Crash{service="payments"}']


def test_what_the_words_name_is_what_they_were_written_for() -> None:
    alerts = [fires("Odd name", service='a"b\\c', namespace="x"), fires("Odd name", service="d")]
    groups = groups_of(alerts)

    for group in groups:
        assert chosen(standing(*alerts), Wanted.of(written(group, groups))) == group


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Down", Wanted(name="Down")),
        ("Host out of memory", Wanted(name="Host out of memory")),
        ('Down{service="a"}', Wanted(name="Down", labels={"service": "a"})),
        (' Down { service = "a" , env="b", } ', Wanted(name="Down", labels={"service": "a", "env": "b"})),
        ("Down{}", Wanted(name="Down")),
    ],
)
def test_an_alert_is_named_alone_or_with_labels(text: str, wanted: Wanted) -> None:
    assert Wanted.of(text) == wanted


@pytest.mark.parametrize(
    "text", ['Down{service="a"', "Down{service=a}", 'Down{service=~"a"}', 'Down{service="a" env="b"}']
)
def test_a_selector_that_is_none_is_told_by_its_option(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r'^--alert: write NAME or NAME\{label="value"\}'):
        Wanted.of(text)


RULES = (AlertRule(name="Down", expression="up == 0"), AlertRule(name="Slow", expression="latency > 1"))


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("Dwn", "--alert: there is no rule Dwn; did you mean Down?; what fires: Full"),
        ("Unheard", "--alert: there is no rule Unheard; what fires: Full"),
        ("Slow", "--alert: Slow is pending, it does not fire yet; what fires: Full"),
        ("Down", "--alert: Down does not fire at 2026-03-01 10:00:00 UTC; what fires: Full"),
        ('Full{service="x"}', "--alert: Full fires, but not with these labels: Full"),
    ],
)
def test_what_is_wanted_and_not_there_is_told_with_what_is(wanted: str, told: str) -> None:
    found = standing(fires("Full", service="a"), pending=(fires("Slow"),), rules=RULES)

    with pytest.raises(ConfigurationError) as refused:
        chosen(found, Wanted.of(wanted))

    assert str(refused.value) == told


def test_without_rules_nobody_says_that_there_is_none() -> None:
    with pytest.raises(ConfigurationError, match=r"Dwn does not fire at .*; what fires: nothing"):
        chosen(standing(), Wanted(name="Dwn"))


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("Slow", "--alert: Slow was pending, it did not fire yet; what fired: nothing"),
        ("Down", f"--alert: Down did not fire at {T0_UTC}; near it, Down fired at {LATER_UTC}; what fired: nothing"),
    ],
)
def test_of_a_past_moment_it_is_told_as_past_and_when_it_fired_near_it(wanted: str, told: str) -> None:
    near = (Near(name="Down", at=T0 + timedelta(minutes=20)), Near(name="Full", at=T0 + timedelta(minutes=30)))
    found = standing(pending=(fires("Slow"),), rules=RULES, near=near, is_past=True)

    with pytest.raises(ConfigurationError) as refused:
        chosen(found, Wanted.of(wanted))

    assert str(refused.value) == told


@pytest.mark.parametrize(
    ("for_s", "interval_s", "fires_after_s"),
    [(0, 30, 0), (60, 0, 60), (60, 30, 60), (61, 30, 90), (5, 30, 30), (3_600, 30, 600)],
    ids=["no for", "interval unknown", "whole", "the next evaluation", "less than one", "not behind now"],
)
def test_since_when_it_fires_is_what_an_alertmanager_would_be_told(
    for_s: float, interval_s: float, fires_after_s: float
) -> None:
    """Prometheus 3: an alert's FiredAt, at the first evaluation at which it was active for as long as its rule says."""
    rule = AlertRule(name="Down", expression="up == 0", for_s=for_s, interval_s=interval_s)
    active = fires("Down")

    found = since_firing(active, (rule,), T0 + timedelta(minutes=10))

    assert found.starts_at == T0 + timedelta(seconds=fires_after_s)


def test_without_its_rule_or_its_time_an_alert_keeps_what_is_said_of_it() -> None:
    rule = AlertRule(name="Other", expression="up == 0", for_s=60)
    unknown = fires("Down").but(starts_at=None)

    assert since_firing(fires("Down"), (rule,), T0) == fires("Down")
    assert since_firing(unknown, (rule.but(name="Down"),), T0) == unknown


def test_the_rule_of_an_alert_has_its_name_and_its_labels() -> None:
    rules = (
        AlertRule(name="Full", expression="any", labels={}),
        AlertRule(name="Full", expression="critical", labels={"severity": "critical", "team": "{{ $labels.team }}"}),
        AlertRule(name="Full", expression="warning", labels={"severity": "warning"}),
        AlertRule(name="Other", expression="other"),
    )

    found = {one: rule_of(fires("Full", severity=one), rules) for one in ("critical", "warning", "info")}

    assert {one: rule and rule.expression for one, rule in found.items()} == {
        "critical": "critical", "warning": "warning", "info": "any",
    }  # fmt: skip
    assert rule_of(fires("Unheard"), rules) is None


def test_of_many_long_names_a_refusal_names_a_few_and_counts_the_rest() -> None:
    many = [fires(f"{number:03}-{'x' * 10_000}") for number in range(300)]

    with pytest.raises(ConfigurationError) as refused:
        chosen(standing(*many), Wanted(name="Dwn"))

    assert str(refused.value).endswith("…, 290 more")
    assert len(str(refused.value)) < 2_000
