"""Listing and reading: pages that lose nothing, filters that say what is wrong, and no word of another workspace."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from inquest.domain.value import Json
from inquest.entrypoints.http import investigations as module
from inquest.entrypoints.http.filters import read_cursor
from inquest.entrypoints.http.problems import BadParameter
from tests.bootstrap.files import build, prometheus
from tests.bootstrap.installations import Installation
from tests.entrypoints.http.service import AUTH, Service, serving
from tests.fakes.loopback import Reply, Seen, loopback
from tests.fakes.prometheus import success
from tests.store.door import Door, arrival, firing, intake

LIST = "/v1/investigations"
UNKNOWN = "f" * 32
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def opened(rows: Door, service: str, workspace: str = "default") -> str:
    accepted = await rows.take(arrival(firing(service=service), into=intake(workspace=workspace)))
    return accepted.investigations[0].investigation_id


def names(body: Any) -> list[str]:  # noqa: ANN401  # JSON
    return [one["service"] for one in body["investigations"]]


# ---- pages


async def test_pages_hold_every_row_once_newest_first(service: Service, rows: Door) -> None:
    for number in range(7):
        await opened(rows, f"s{number}")

    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await service.get(LIST, limit=3, **cursor)).json()
        assert len(page["investigations"]) <= 3
        seen += names(page)
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}

    assert seen == [f"s{number}" for number in reversed(range(7))]


async def test_what_is_opened_meanwhile_moves_no_row_to_another_page(service: Service, rows: Door) -> None:
    for number in range(4):
        await opened(rows, f"s{number}")
    first = (await service.get(LIST, limit=2)).json()
    await opened(rows, "new")

    second = (await service.get(LIST, limit=2, cursor=first["next"])).json()

    assert names(first) + names(second) == ["s3", "s2", "s1", "s0"]
    assert second["next"] is None
    assert names((await service.get(LIST, limit=1)).json()) == ["new"]


async def test_rows_of_one_moment_are_told_apart(service: Service, rows: Door) -> None:
    for number in range(5):
        await opened(rows, f"s{number}")
    rows.rows("update investigation set created_at = '2026-03-01 10:00:00+00'")

    first = (await service.get(LIST, limit=3)).json()
    second = (await service.get(LIST, limit=3, cursor=first["next"])).json()

    assert sorted(names(first) + names(second)) == [f"s{number}" for number in range(5)]


def position(created_at: object = "2026-03-01T10:00:00Z", investigation_id: object = UNKNOWN) -> str:
    raw = json.dumps({"created_at": created_at, "investigation_id": investigation_id}).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "!!!", "é", base64.b64encode(b"[" * 300).decode(), base64.b64encode(b"\xff\xfe").decode(),
        base64.b64encode(b"null").decode(), position(investigation_id="a\x00b"), position(investigation_id="A" * 32),
        position(investigation_id=7), position(created_at="2026-03-01T10:00:00"), position(created_at=float("nan")),
        position(created_at="0001-01-01T00:00:00+14:00"), position(created_at="9999-12-31T23:59:59-14:00"),
        position(created_at=10**400), position(created_at=True),
    ],
)  # fmt: skip
async def test_a_cursor_that_is_none_of_ours_is_refused_by_name(cursor: str) -> None:
    with pytest.raises(BadParameter, match=r"^query.cursor: not one that this API gave out$"):
        read_cursor(cursor)


async def test_a_bad_cursor_is_a_422_and_a_long_one_too(service: Service) -> None:
    for cursor in (position(investigation_id="\x00"), "x" * 513):
        answer = await service.get(LIST, cursor=cursor)

        assert answer.status_code == 422
        assert answer.json()["error"]["message"].startswith("query.cursor: ")


# ---- filters


async def test_filters_restrict(service: Service, rows: Door) -> None:
    for number in range(3):
        await opened(rows, f"s{number}")
    rows.rows("update investigation set status = 'succeeded', verdict = 'healthy' where service = 's1'")

    assert names((await service.get(LIST, service="s2")).json()) == ["s2"]
    assert names((await service.get(LIST, verdict="healthy")).json()) == ["s1"]
    assert names((await service.get(LIST, status="queued")).json()) == ["s2", "s0"]
    rows.rows("update investigation set status = 'running' where service = 's0'")
    assert names((await service.get(f"{LIST}?status=queued&status=succeeded")).json()) == ["s2", "s1"]
    assert names((await service.get(LIST, service="'; drop table alert; --")).json()) == []


async def test_a_list_is_restricted_by_severity_alert_and_both_ends_of_a_time(service: Service, rows: Door) -> None:
    into = intake(workspace="default", group_by=("service",))
    for number, severity in enumerate(("critical", "warning", "info")):
        await rows.take(arrival(firing(f"Alert{number}", service=f"s{number}", severity=severity), into=into))
        hour = NOON + timedelta(hours=number)
        rows.rows("update investigation set created_at = %s where service = %s", hour, f"s{number}")
    await rows.take(arrival(firing("Joined", service="s0", severity="info"), into=into))

    async def seen(query: str) -> list[str]:
        return names((await service.get(f"{LIST}?{query}")).json())

    one, two = ((NOON + timedelta(hours=hour)).isoformat().replace("+", "%2B") for hour in (1, 2))
    assert await seen("severity=critical") == ["s0"]
    assert await seen("severity=critical&severity=info&status=queued") == ["s2", "s0"]
    assert await seen("alert=Alert1") == ["s1"]
    assert await seen("alert=Joined") == ["s0"]
    assert await seen("alert=Nobody") == []
    assert await seen(f"since={one}&until={two}") == ["s1"]
    assert await seen(f"until={one}&alert=Alert0") == ["s0"]


async def test_since_is_a_moment_whatever_zone_it_is_written_in(service: Service, rows: Door) -> None:
    for number in range(2):
        await opened(rows, f"s{number}")
    rows.rows("update investigation set created_at = '2026-03-01 10:00:00+00' where service = 's0'")
    ten = datetime(2026, 3, 1, 10, tzinfo=UTC)

    for zone in (UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8))):
        same, later = ten.astimezone(zone), (ten + timedelta(seconds=1)).astimezone(zone)
        assert names((await service.get(LIST, since=same.isoformat())).json()) == ["s1", "s0"]
        assert names((await service.get(LIST, since=later.isoformat())).json()) == ["s1"]


BAD = {
    "since": [
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "2026-02-01T10:00:00",
        "2026-02-01",
        "yesterday",
        "nan",
        "inf",
        "9" * 40,
        "2026-03-01T10:00:00 01:00",
    ],
    "until": ["2026-02-01T10:00:00", "yesterday", "0001-01-01T00:00:00+14:00"],
    "status": ["done", "", "\x00"],
    "severity": ["page", "4", "", "\x00"],
    "alert": ["a\x00b", "x" * 257],
    "verdict": ["guilty", "\x00"],
    "service": ["a\x00b", "x" * 257],
    "limit": ["0", "201", "nan", "1e400", "1e9", "-1", "x", "9" * 400],
    "workspace": ["x" * 64],
}


async def test_a_filter_that_cannot_be_meant_is_refused_by_name_and_not_repeated(service: Service) -> None:
    for name, values in BAD.items():
        for value in values:
            answer = await service.get(LIST, **{name: value})

            assert answer.status_code == 422, (name, value)
            error = answer.json()["error"]
            assert error["code"] == "invalid"
            assert f"query.{name}" in error["message"]
            assert len(value) < 5 or value not in error["message"]


async def test_a_time_without_a_zone_is_told_how_to_write_one(service: Service) -> None:
    answer = await service.get(LIST, since="2026-03-01T10:00:00")

    assert answer.json()["error"]["message"] == (
        "query.since: needs a time zone, as in 2026-03-01T10:00:00Z or +01:00 (written %2B01:00)"
    )


# ---- workspaces


@pytest.fixture
def two(tmp_path: Path) -> Any:  # noqa: ANN401  # workspaces
    return build('{"version": 1, "workspaces": {"ours": {}, "theirs": {}}}', tmp_path)


async def test_another_workspaces_id_is_like_one_that_never_was(rows: Door, two: Any) -> None:  # noqa: ANN401
    theirs = await opened(rows, "s", workspace="theirs")
    async with serving(rows.database, two) as service:
        for path in ("", "/events", "/report"):
            answers = [await service.get(f"{LIST}/{name}{path}", workspace="ours") for name in (theirs, UNKNOWN)]
            seen = [(one.status_code, one.json(), sorted(one.headers)) for one in answers]
            assert seen[0] == seen[1]
            assert seen[0][:2] == (404, {"error": {"code": "not_found", "message": "no such thing here"}})
        assert (await service.get(f"{LIST}/{theirs}", workspace="theirs")).status_code == 200


async def test_where_there_are_several_the_workspace_is_named(rows: Door, two: Any) -> None:  # noqa: ANN401
    async with serving(rows.database, two) as service:
        unnamed = await service.get(LIST)
        unknown = await service.get(LIST, workspace="other")
        named = await service.get(LIST, workspace="ours")

    assert (unnamed.status_code, unnamed.json()["error"]["message"]) == (
        422,
        "query.workspace: name one of ours, theirs",
    )
    assert (unknown.status_code, named.status_code) == (404, 200)


@pytest.mark.parametrize(
    "malformed", ["x", "0" * 31, "0" * 33, "G" * 32, "0" * 31 + "%00", "0" * 32 + "%0A", "..%2F.."]
)
async def test_an_id_that_can_be_none_is_refused(service: Service, malformed: str) -> None:
    for path in ("", "/events", "/report"):
        answer = await service.get(f"{LIST}/{malformed}{path}")

        assert answer.status_code in {404, 422}, path
        assert set(answer.json()) == {"error"}


# ---- events


async def run_one(rows: Door, folder: Path) -> str:
    """Run one investigation to its end, by the analyst."""
    installation = Installation(rows, folder)
    found = await installation.open()
    await installation.run()
    return found


async def test_events_come_in_pages_that_hold_each_once(
    service: Service, rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await run_one(rows, tmp_path)
    whole = (await service.get(f"{LIST}/{found}/events")).json()
    assert [one["seq"] for one in whole["events"]] == list(range(1, len(whole["events"]) + 1))
    assert (whole["next"], whole["events"][-1]["body"]["kind"]) == (None, "run_succeeded")

    for bound, most in (("MAX_EVENTS", 3), ("MAX_EVENTS_BYTES", 2_000)):
        with monkeypatch.context() as small:
            small.setattr(module, bound, most)
            seen: list[Any] = []
            after: int | None = 0
            while after is not None:
                page = (await service.get(f"{LIST}/{found}/events", after=after)).json()
                seen += page["events"]
                after = page["next"]
        assert seen == whole["events"], bound


async def test_after_the_last_event_there_is_nothing(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")

    assert (await service.get(f"{LIST}/{found}/events")).json() == {"events": [], "next": None}
    assert (await service.get(f"{LIST}/{found}/events", after=10_000)).json() == {"events": [], "next": None}
    for bad in ("-1", "x", str(2**31)):
        assert (await service.get(f"{LIST}/{found}/events", after=bad)).status_code == 422


# ---- reports


async def test_there_is_no_report_before_the_end(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")

    for form in ("md", "json", "html"):
        assert (await service.get(f"{LIST}/{found}/report", form=form)).status_code == 404


async def test_after_the_end_there_is_one_in_each_form(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)

    answers = {form: await service.get(f"{LIST}/{found}/report", form=form) for form in ("md", "json", "html")}

    assert {form: answer.headers["content-type"] for form, answer in answers.items()} == {
        "md": "text/markdown; charset=utf-8",
        "json": "application/json",
        "html": "text/html; charset=utf-8",
    }
    for answer in answers.values():
        assert (
            answer.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
    assert answers["md"].text.startswith("# ")
    assert answers["json"].json()["report"]["investigation_id"] == found
    assert answers["html"].text.lstrip().lower().startswith("<!doctype html>")
    assert (await service.get(f"{LIST}/{found}/report")).json() == answers["json"].json()
    assert (await service.get(f"{LIST}/{found}/report", form="pdf")).status_code == 422


async def test_bl_053_samples_that_are_no_numbers_leave_every_answer_json(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    asked: list[str] = []

    def no_numbers(seen: Seen) -> Reply:
        asked.append(seen.path)
        start = datetime.now(UTC).timestamp() - 600
        values: Json = [[start + 60 * minute, ("NaN", "+Inf", "-Inf")[minute % 3]] for minute in range(10)]
        return success({"resultType": "matrix", "result": [{"metric": {"service": "checkout"}, "values": values}]})

    async with loopback(no_numbers) as server:
        installation = Installation(rows, tmp_path, integrations={"prometheus": prometheus(server.url)})
        (into,) = installation.workspaces["default"].intakes
        measured = firing(severity="critical").model_copy(
            update={"generator_url": "http://p/graph?g0.expr=errors+%3E+1"}
        )
        found = (await rows.take(arrival(measured, into=into))).investigations[0].investigation_id
        await installation.run()
        await installation.workspaces["default"].aclose()

    assert any(path.endswith("/query_range") for path in asked)
    for path in (f"/{found}", "", f"/{found}/events", f"/{found}/report"):
        answer = await service.get(f"{LIST}{path}")
        assert answer.status_code == 200, path
        json.loads(answer.content, parse_constant=pytest.fail)


async def test_one_shows_what_the_list_shows_and_no_fence(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")

    one = (await service.get(f"{LIST}/{found}")).json()

    assert [one] == (await service.get(LIST)).json()["investigations"]
    assert one["id"] == found
    assert {"owner_id", "lease_expires_at", "version"}.isdisjoint(one)
    assert one["created_at"].endswith("Z")


async def test_headers_are_those_of_every_answer(service: Service) -> None:
    for path, headers in ((LIST, AUTH), (LIST, {}), ("/nowhere", AUTH), (f"{LIST}/{UNKNOWN}", AUTH)):
        answer = await service.get(path, headers)

        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers
