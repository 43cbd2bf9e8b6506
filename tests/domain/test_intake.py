from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from inquest.domain.alert import Alert, AlertStatus, Post
from inquest.domain.canonical import digest_of
from inquest.domain.intake import MAX_WARNINGS, IntakeConfig, NoAuth, bounded_warnings, keyed


def config(**changes: object) -> IntakeConfig:
    given: dict[str, object] = {"name": "am", "type": "alertmanager", "workspace": "acme", "auth": NoAuth()}
    return IntakeConfig(**{**given, **changes})  # type: ignore[arg-type]


def alert(fingerprint: str = "", **labels: str) -> Alert:
    return Alert(fingerprint=fingerprint, name="A", status=AlertStatus.FIRING, labels=labels)


def post(*alerts: Alert) -> Post:
    return Post(source="alertmanager", alerts=alerts)


def test_an_alert_without_a_fingerprint_is_named_by_its_stable_labels() -> None:
    members, _ = keyed(post(alert(alertname="A", pod="x"), alert(alertname="A", pod="y")), config())
    one, other = members

    assert one.alert.fingerprint == other.alert.fingerprint
    assert len(one.alert.fingerprint) == 64
    assert keyed(post(alert(alertname="A", pod="x")), config(unstable_labels=frozenset()))[0][0].alert.fingerprint != (
        one.alert.fingerprint
    )


def test_the_senders_fingerprint_is_kept() -> None:
    members, _ = keyed(post(alert("f1", alertname="A")), config())
    assert members[0].alert.fingerprint == "f1"


def test_members_carry_the_canonical_bytes_of_their_alert() -> None:
    members, _ = keyed(post(alert(alertname="A")), config())
    assert digest_of(members[0].body) == members[0].alert.canonical_digest()


def test_alerts_that_share_the_grouping_labels_share_a_group_whatever_their_order() -> None:
    members, said = keyed(post(alert("1", alertname="A", pod="x"), alert("2", pod="y", alertname="A")), config())
    assert members[0].group_key == members[1].group_key
    assert said == ()
    swapped, _ = keyed(post(alert("1", alertname="A", service="s")), config(group_by=("service", "alertname")))
    straight, _ = keyed(post(alert("1", alertname="A", service="s")), config(group_by=("alertname", "service")))
    assert swapped[0].group_key == straight[0].group_key


def test_alerts_without_any_grouping_label_are_groups_of_their_own_and_that_is_said() -> None:
    members, said = keyed(post(alert("1", name="one"), alert("2", name="two")), config(group_by=("service",)))

    assert members[0].group_key != members[1].group_key
    assert said == ("no dedupe field present in 2 alerts (group_by: service): each is a group of its own",)


def test_workspaces_do_not_share_groups() -> None:
    here, _ = keyed(post(alert("1", alertname="A")), config())
    there, _ = keyed(post(alert("1", alertname="A")), config(workspace="other"))
    assert here[0].group_key != there[0].group_key


def test_repeated_warnings_are_said_once_and_many_are_counted() -> None:
    assert bounded_warnings(["same"] * 50) == ("same",)
    many = bounded_warnings([str(n) for n in range(MAX_WARNINGS + 5)])
    assert len(many) == MAX_WARNINGS
    assert many[-1] == "and 6 more warnings"


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Am"}, {"name": ""}, {"name": "a/b"}, {"max_new_per_hour": 0}, {"max_new_per_hour": 10_001},
        {"quiet_for": timedelta(0)}, {"stale_after": timedelta(0)}, {"cooldown": timedelta(seconds=-1)}, {"unknown": 1},
    ],
)  # fmt: skip
def test_a_configuration_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        config(**change)
