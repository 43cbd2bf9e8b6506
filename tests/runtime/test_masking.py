"""What a sender says reaches a row with its secrets masked, and is still itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from inquest.domain.alert import Alert
from inquest.runtime.clock import RandomIds
from inquest.runtime.intake import MANY_ALERTS, accept
from inquest.runtime.masking import AT_ONCE
from inquest.wire.redaction import Redactor
from tests.postgres import NewDatabase
from tests.store.door import Door, arrival, counts, firing

TOKEN = "glpat-" + "Zx9Qw3Er5Ty7Ui9Op1As"  # split: this file holds nothing in the format of a secret
CONFIGURED = "kumquat-marmalade"


@pytest.fixture
async def door(database: NewDatabase) -> AsyncIterator[Door]:
    made = database()
    door = Door(made.url, made.conninfo)
    yield door
    await door.aclose()


def stored(door: Door) -> list[Alert]:
    return [Alert.parse(raw) for raw in door.column("select body from alert order by fingerprint")]


def telling(alert: Alert, text: str) -> Alert:
    return alert.but(
        annotations={"description": text}, generator_url=f"http://app:{text}@prometheus.example/graph?g0.expr=up"
    )


async def take(door: Door, *alerts: Alert) -> dict[str, int]:
    redactor = Redactor([CONFIGURED])
    return counts(await accept(arrival(*alerts), intake=door.intake, ids=RandomIds(), redactor=redactor))


@pytest.mark.parametrize("secret", [TOKEN, CONFIGURED])
async def test_a_secret_in_an_alert_reaches_no_row_but_the_raw_post(door: Door, secret: str) -> None:
    await take(door, telling(firing(name=f"Leak {secret}", note=f"seen {secret} here", password="hunter2"), secret))

    for table in ("alert", "episode", "investigation", "event", "content", "delivery", "alert_group", "intake_receipt"):
        for row in door.rows(f"select * from {table}"):  # noqa: S608  # names of ours
            written = " ".join(
                bytes(one).decode() if isinstance(one, memoryview | bytes) else str(one) for one in row.values()
            )
            assert secret not in written, table
            assert "hunter2" not in written, table


async def test_what_stands_under_a_secrets_name_is_masked(door: Door) -> None:
    await take(door, firing(password="hunter2"))

    (alert,) = stored(door)
    assert alert.labels["password"] == "[redacted-named]"


async def test_what_is_no_secret_stays_as_it_was_sent(door: Door) -> None:
    sent = firing(note="password authentication failed for user app", author="ada").but(
        annotations={"runbook_url": "https://runbooks.example/checkout?panel=4"}, generator_url="http://p.example/g?x=1"
    )

    await take(door, sent)

    assert stored(door) == [sent]


async def test_alerts_that_differ_only_in_what_is_masked_stay_apart_and_in_their_groups(door: Door) -> None:
    ours = [firing(fingerprint="", secret=name).but(fingerprint="") for name in ("db-creds", "tls-cert")]

    assert await take(door, *ours) == {"opened": 1, "joined": 1}
    assert await take(door, *ours) == {"duplicate": 2}


async def test_the_senders_own_facts_are_masked_too(door: Door) -> None:
    posted = arrival(firing())
    posted = posted.but(post=posted.post.but(sender={"external_url": f"http://x:{TOKEN}@alerts.example"}))

    await accept(posted, intake=door.intake, ids=RandomIds())

    assert TOKEN not in str(door.column("select sender from episode"))


async def test_a_large_post_is_masked_like_a_small_one(door: Door) -> None:
    await take(door, *(telling(firing(pod=str(n)), TOKEN) for n in range(MANY_ALERTS + 1)))

    assert not [alert for alert in stored(door) if TOKEN in str(alert)]


async def test_a_secret_in_one_of_many_alerts_is_masked_and_the_others_stay_as_they_were_sent(door: Door) -> None:
    sent = [firing(fingerprint=f"f{number:03}") for number in range(AT_ONCE + 2)]
    sent[AT_ONCE] = sent[AT_ONCE].but(annotations={"note": f"seen {TOKEN} here"})

    await take(door, *sent)

    found = stored(door)
    assert [alert for alert in found if alert.fingerprint != f"f{AT_ONCE}"] == sent[:AT_ONCE] + sent[AT_ONCE + 1 :]
    assert TOKEN not in found[AT_ONCE].annotations["note"]
