"""What fires, read from a Prometheus that answers as one does, and every way in which it may not."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from inquest.bootstrap.trial.access import Access, reach
from inquest.bootstrap.trial.choosing import AlertRule, Group, Near
from inquest.bootstrap.trial.door import Door, SourceSilent, SourceUnfit
from inquest.bootstrap.trial.reading import answers, fired_at, fires_now, with_ends
from inquest.domain.alert import AlertStatus
from inquest.domain.value import Json
from inquest.runtime.clock import SystemClock
from tests.fakes.loopback import Act, Handler, Loopback, Raw, Reply, Seen, loopback
from tests.fakes.prometheus import error, route, success

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
AT = NOW - timedelta(hours=2)
DOWN = {"alertname": "Down", "severity": "critical", "service": "checkout"}


def listed(*found: dict[str, Any]) -> Reply:
    return success({"alerts": [*found]})


def of_api(state: str = "firing", **labels: str) -> dict[str, Any]:
    return {
        "labels": {**DOWN, **labels}, "annotations": {"summary": "It is down"}, "state": state,
        "activeAt": "2026-03-01T09:00:00.25Z", "value": "1e+00",
    }  # fmt: skip


def series(name: str, value: float, state: str | None = "firing", **labels: str) -> dict[str, Any]:
    extra = {} if state is None else {"alertstate": state}
    return {"metric": {"__name__": name, **DOWN, **extra, **labels}, "value": [NOW.timestamp(), str(value)]}


def vector(*found: dict[str, Any]) -> Reply:
    return success({"resultType": "vector", "result": [*found]})


RULES = success(
    {
        "groups": [
            {
                "name": "shop", "interval": 30,
                "rules": [
                    {"type": "alerting", "name": "Down", "query": "up == 0", "state": "firing", "labels": {}, "duration": 60},
                    {"type": "recording", "name": "x:y", "query": "sum(x)", "labels": {}},
                ],
            }
        ]
    }
)  # fmt: skip
RULE = AlertRule(name="Down", expression="up == 0", state="firing", interval_s=30, for_s=60)
HELD = timedelta(seconds=60)
"""So long an alert of it is pending before it fires."""


def answering(**replies: Reply) -> Handler:
    """Answer by endpoint; a query by what it begins with."""

    def answer(seen: Seen) -> Reply:
        name = route(seen)
        if name == "query":
            asked = seen.param("query")
            name = next((one for one in ("ALERTS_FOR_STATE", "ALERTS") if asked.startswith(one)), asked)
        return replies.get(name, error(404, "not_found", "no such thing"))

    return answer


@asynccontextmanager
async def door_to(
    handler: Handler,
    **access: Any,  # noqa: ANN401  # any of its fields
) -> AsyncIterator[tuple[Loopback, Door]]:
    async with loopback(handler) as fake:
        reached = reach(Access(**{"kind": "prometheus", "url": fake.url, **access}))
        async with Door(reached, SystemClock()) as door:
            yield fake, door


# ---- now


async def test_what_fires_now_is_told_by_the_api_of_alerts_with_the_rule_behind_it() -> None:
    said = answering(alerts=listed(of_api(), of_api(state="pending", service="cart")), rules=RULES)
    async with door_to(said) as (fake, door):
        standing = await fires_now(door, NOW)

    (firing,), (pending,) = standing.firing, standing.pending
    assert (firing.name, firing.labels, firing.annotations) == ("Down", DOWN, {"summary": "It is down"})
    active_at = datetime(2026, 3, 1, 9, 0, 0, 250_000, tzinfo=UTC)
    assert (firing.starts_at, pending.starts_at) == (active_at + HELD, active_at)
    assert pending.labels["service"] == "cart"
    assert (standing.rules, standing.notes) == ((RULE,), ())
    assert [one.target for one in fake.seen] == ["/api/v1/alerts", "/api/v1/rules?type=alert"]


async def test_where_the_api_shows_none_the_series_are_asked() -> None:
    """vmalert, Thanos' ruler: what evaluates is elsewhere, and only writes its series here."""
    began = NOW - timedelta(minutes=5)
    said = answering(
        alerts=listed(),
        rules=success({"groups": []}),
        ALERTS=vector(series("ALERTS", 1), series("ALERTS", 1, "pending", service="cart")),
        ALERTS_FOR_STATE=vector(series("ALERTS_FOR_STATE", began.timestamp(), None)),
    )
    async with door_to(said) as (_, door):
        standing = await fires_now(door, NOW)

    (firing,), (pending,) = standing.firing, standing.pending
    assert (firing.labels, firing.starts_at) == (DOWN, began)  # the rule, and its `for`, are not known here
    assert (pending.labels["service"], pending.starts_at) == ("cart", None)
    assert (standing.rules, standing.notes) == ((), ())


@pytest.mark.parametrize("began", [1e308, 1e300, 253_402_300_800.0, -1.0])
async def test_since_when_is_not_known_where_what_is_said_of_it_is_no_moment(began: float) -> None:
    said = answering(
        alerts=listed(), rules=RULES,
        ALERTS=vector(series("ALERTS", 1)), ALERTS_FOR_STATE=vector(series("ALERTS_FOR_STATE", began, None)),
    )  # fmt: skip
    async with door_to(said) as (_, door):
        (firing,) = (await fires_now(door, NOW)).firing

    assert firing.starts_at is None


@pytest.mark.parametrize("written", ["1e300", "1e999", "9" * 400, "-1", "true", '"15"', "null"])
async def test_an_interval_that_no_clock_counts_is_none(written: str) -> None:
    group = '{"name": "shop", "interval": %s, "rules": [{"name": "Down", "query": "up == 0", "duration": %s}]}'
    body = '{"status": "success", "data": {"groups": [%s]}}' % (group % (written, written))
    async with door_to(answering(alerts=listed(of_api()), rules=Reply(200, body.encode()))) as (_, door):
        standing = await fires_now(door, NOW)

    assert standing.rules is not None
    assert [rule.interval_s for rule in standing.rules] == [0.0]


async def test_where_alerts_and_rules_are_not_shown_the_series_tell_and_what_is_missing_is_said() -> None:
    said = answering(
        alerts=Reply(403, b"no"), rules=Reply(403, b"no"),
        ALERTS=vector(series("ALERTS", 1)), ALERTS_FOR_STATE=vector(),
    )  # fmt: skip
    async with door_to(said) as (_, door):
        standing = await fires_now(door, NOW)

    assert [one.name for one in standing.firing] == ["Down"]
    assert standing.rules is None
    assert standing.notes == (
        "its API of alerts cannot be read: what fires is from the ALERTS series",
        "its rules cannot be read: the alert's own expression is not known",
    )


# ---- then


def after(*moments: datetime) -> Reply:
    values: list[Json] = [[moment.timestamp(), "1"] for moment in moments]
    found: Json = {"metric": {"__name__": "ALERTS", **DOWN, "alertstate": "firing"}, "values": [*values]}
    return success({"resultType": "matrix", "result": [found] if values else []})


async def fired(ends: Reply, *, at: datetime = AT) -> Group:
    began = at - timedelta(minutes=20)
    said = answering(
        rules=RULES, query_range=ends, ALERTS=vector(series("ALERTS", 1)),
        ALERTS_FOR_STATE=vector(series("ALERTS_FOR_STATE", began.timestamp(), None)),
    )  # fmt: skip
    async with door_to(said) as (fake, door):
        standing = await fired_at(door, at, now=NOW)
        group = await with_ends(door, Group(alerts=standing.firing), at=at, now=NOW)
    assert group.first.starts_at == began + HELD
    assert fake.seen[0].param("time") == at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    assert fake.seen[-1].param("query") == 'ALERTS{alertname="Down", alertstate="firing"}'
    return group


STEP = timedelta(seconds=8)
"""A thousandth of two hours, in whole seconds."""


@pytest.mark.parametrize(
    ("steps", "ended_after"),
    [([0, 1, 2, 3], 4), ([0], 1), ([], 1), ([0, 1, 2, 5, 6, 7], 3)],
    ids=["for a while", "at once", "before the first look", "and again later"],
)
async def test_what_fired_then_has_ended_where_its_series_stops_first(steps: list[int], ended_after: int) -> None:
    group = await fired(after(*(AT + step * STEP for step in steps)))

    assert (group.first.status, group.first.ends_at) == (AlertStatus.RESOLVED, AT + ended_after * STEP)


async def test_what_fires_still_has_not_ended() -> None:
    group = await fired(after(*(AT + step * STEP for step in range(901))))

    assert (group.first.status, group.first.ends_at) == (AlertStatus.FIRING, None)


async def test_what_fired_for_more_than_a_week_is_looked_at_for_a_week() -> None:
    at, step = NOW - timedelta(days=30), timedelta(seconds=605)
    group = await fired(after(*(at + number * step for number in range(1_000))), at=at)

    assert group.first.ends_at == at + timedelta(days=7)


async def test_where_nothing_fired_then_what_fired_around_it_is_named_nearest_first() -> None:
    def of(name: str, *minutes: int) -> Json:
        values: list[Json] = [[(AT + timedelta(minutes=one)).timestamp(), "1"] for one in minutes]
        return {"metric": {"alertname": name}, "values": values}

    around = success({"resultType": "matrix", "result": [of("Slow", -90, -60, 100), of("Full", 5, 6)]})
    said = answering(rules=RULES, ALERTS=vector(), ALERTS_FOR_STATE=vector(), query_range=around)
    async with door_to(said) as (fake, door):
        standing = await fired_at(door, AT, now=NOW)

    assert (standing.firing, standing.is_past) == ((), True)
    assert standing.near == (
        Near(name="Full", at=AT + timedelta(minutes=5)),
        Near(name="Slow", at=AT - timedelta(minutes=60)),
    )
    (asked,) = (one for one in fake.seen if route(one) == "query_range")
    assert (asked.param("start"), asked.param("end")) == ("2026-03-01T02:00:00.000Z", "2026-03-01T10:00:00.000Z")


# ---- no answer, and answers that are none


BOMB = gzip.compress(b" " * (16 * 1024 * 1024 + 1))
HTML = {"Content-Type": "text/html; charset=utf-8"}
ASKED = "asked for GET /api/v1/alerts: "


@pytest.mark.parametrize(
    ("act", "kind", "words"),
    [
        (Reply(200, b"<html>Sign in</html>", HTML), SourceUnfit, "a web page came back instead of JSON"),
        (Reply(302, b"", {"Location": "http://login.example.com/"}), SourceUnfit, "it redirects elsewhere (HTTP 302)"),
        (Reply(401, b"no"), SourceUnfit, "it wants a credential (HTTP 401); give --token-env or --token-file"),
        (Reply(403, b"no"), SourceUnfit, "it does not allow this read (HTTP 403); give --token-env"),
        (Reply(404, b"404 page not found"), SourceUnfit, "there is no such thing there (HTTP 404); check that --prometheus"),
        (Reply(401, b"no org id"), SourceUnfit, "it wants to know the tenant; write its header"),
        (Reply(200, b"{}"), SourceUnfit, "the answer has no status and data (HTTP 200)"),
        (Reply(200, b'{"status":"success","data":{"alerts":[7]}}'), SourceUnfit, "data.alerts of GET /api/v1/alerts is not"),
        (Reply(200, b"[" * 100_000), SourceUnfit, "the answer is not JSON"),
        (Reply(500, b"oops"), SourceSilent, "it answers HTTP 500"),
        (Reply(429, b"slow down"), SourceSilent, "it answers HTTP 429"),
        (Reply(200, BOMB, {"Content-Encoding": "gzip"}), SourceSilent, "larger than 16 MiB and was not read on"),
        (Reply(200, b"half", {"Content-Encoding": "gzip"}), SourceUnfit, "the answer is not in the encoding that it names"),
        (Raw(b"SSH-2.0-OpenSSH\r\n"), SourceSilent, "the source broke off or speaks no HTTP"),
    ],
    ids=["login page", "redirect", "401", "403", "404", "tenant", "no envelope", "no list", "deep", "500", "429",
         "gzip bomb", "no gzip", "SSH"],
)  # fmt: skip
async def test_what_is_no_prometheus_is_told_in_a_line_with_the_way_out(
    act: Act, kind: type[Exception], words: str
) -> None:
    async with door_to(lambda _: act) as (fake, door):
        with pytest.raises((SourceUnfit, SourceSilent)) as refused:
            await fires_now(door, NOW)

    said = str(refused.value)
    assert type(refused.value) is kind
    assert said.startswith(f"--prometheus {fake.url}: ")
    assert words in said
    assert "\n" not in said


async def test_a_credential_that_is_not_taken_is_called_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2hunter2")
    async with door_to(lambda _: Reply(401, b"hunter2hunter2"), token_env="TOKEN") as (fake, door):
        with pytest.raises(SourceUnfit, match="it does not take this credential") as refused:
            await fires_now(door, NOW)

    assert fake.seen[0].headers["authorization"] == "Bearer hunter2hunter2"
    assert "hunter2" not in str(refused.value)


async def test_a_loki_is_asked_whether_it_is_one() -> None:
    async with door_to(lambda _: Reply(200, b'{"status":"success"}'), kind="loki") as (fake, door):
        await answers(door, NOW)
    assert fake.seen[0].path == "/loki/api/v1/labels"

    async with door_to(lambda _: Reply(401, b"no org id"), kind="loki") as (fake, door):
        with pytest.raises(SourceUnfit, match=r"^--loki .* name that by --loki-headers-file$"):
            await answers(door, NOW)
