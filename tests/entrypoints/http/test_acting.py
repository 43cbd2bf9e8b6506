"""Cancel, re-run and delete through the API: statuses that a client can rely on, and no word of another workspace."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.bootstrap.files import build
from tests.bootstrap.installations import Installation
from tests.entrypoints.http.service import AUTH, TOKEN, Service, one_workspace, serving
from tests.entrypoints.http.test_investigations import LIST, UNKNOWN, opened, run_one
from tests.store.door import Door

ACTS = (("POST", "/cancel"), ("POST", "/rerun"), ("DELETE", ""))


async def act(service: Service, method: str, path: str, **headers: str) -> httpx2.Response:
    return await service.send(method, f"{LIST}/{path}", {**AUTH, **headers})


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# ---- cancel


async def test_a_cancel_gives_the_investigation_and_a_repeated_one_the_same(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")

    first = await act(service, "POST", f"{found}/cancel")
    again = await act(service, "POST", f"{found}/cancel")

    assert (first.status_code, first.json()["status"], first.json()["id"]) == (200, "cancelled", found)
    assert (again.status_code, again.json()) == (200, first.json())
    assert first.json() == (await service.get(f"{LIST}/{found}")).json()
    (event,) = (await service.get(f"{LIST}/{found}/events")).json()["events"]
    assert event["body"] == {"kind": "run_cancelled", "reason": "asked", "actor": "operator", "detail": {}}
    assert service.metric("inquest_investigations_total", status="cancelled", stop_reason="asked") == 1


async def test_what_has_ended_is_not_cancelled(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)

    answer = await act(service, "POST", f"{found}/cancel")

    assert (code(answer), answer.json()["error"]["message"]) == ((409, "wrong_status"), "it has already succeeded")


async def test_a_cancelled_one_has_a_report_that_says_so(service: Service, rows: Door, tmp_path: Path) -> None:
    installation = Installation(rows, tmp_path)
    never, begun = await installation.open("Never"), await installation.open("Begun")
    await act(service, "POST", f"{never}/cancel")
    claimed = await installation.claim()
    assert claimed.fence.investigation_id == begun
    await act(service, "POST", f"{begun}/cancel")

    for found in (never, begun):
        report = await service.get(f"{LIST}/{found}/report", form="md")
        assert report.status_code == 200
        assert "ancelled" in report.text.splitlines()[0] + report.text.splitlines()[2], report.text[:300]


# ---- re-run


async def test_a_re_run_is_a_new_investigation_of_the_same_episode(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    found = await run_one(rows, tmp_path)
    before = (await service.get(f"{LIST}/{found}")).json(), (await service.get(f"{LIST}/{found}/report")).json()

    answer = await act(service, "POST", f"{found}/rerun")

    new = answer.json()
    assert (answer.status_code, new["status"], new["parent_id"], new["opened_by"]) == (201, "queued", found, "operator")
    assert new["episode_id"] == before[0]["episode_id"]
    assert (
        (await service.get(f"{LIST}/{found}")).json(),
        (await service.get(f"{LIST}/{found}/report")).json(),
    ) == before
    await Installation(rows, tmp_path).run()
    ended = (await service.get(f"{LIST}/{new['id']}")).json()
    assert (ended["status"], ended["verdict"]) == ("succeeded", before[0]["verdict"])


async def test_a_re_run_that_is_sent_again_with_its_key_is_one(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)

    answers = [await act(service, "POST", f"{found}/rerun", **{"Idempotency-Key": "k-1"}) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [201, 200, 200]
    assert len({answer.json()["id"] for answer in answers}) == 1
    without = await act(service, "POST", f"{found}/rerun")
    assert code(without) == (409, "wrong_status")
    assert answers[0].json()["id"] in without.json()["error"]["message"]


async def test_of_many_at_once_under_one_key_one_is_opened(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)

    answers = await asyncio.gather(
        *(act(service, "POST", f"{found}/rerun", **{"Idempotency-Key": "k-1"}) for _ in range(8))
    )

    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert rows.column("select count(*) from investigation") == [2]


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 201])
async def test_a_key_that_can_be_none_is_refused(service: Service, rows: Door, key: str) -> None:
    found = await opened(rows, "s")
    head = f"POST {LIST}/{found}/rerun HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"

    answer = await service.say(f"{head}Idempotency-Key: {key}\r\nContent-Length: 0\r\n\r\n".encode("latin-1"))

    assert answer.status == 422
    assert answer.json()["error"]["message"].startswith("header.")


# ---- delete


async def test_a_deleted_one_is_gone_for_every_route_and_from_the_list(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    found = await run_one(rows, tmp_path)

    answer = await act(service, "DELETE", found)

    assert (answer.status_code, answer.json()) == (200, {"id": found, "state": "deleted", "stays": [], "note": ""})
    for path in ("", "/events", "/report"):
        gone = await service.get(f"{LIST}/{found}{path}")
        assert (code(gone), gone.json()["error"]["message"]) == ((410, "deleted"), "it was deleted"), path
    for method, path in ACTS:
        assert code(await act(service, method, f"{found}{path}")) == (410, "deleted")
    assert (await service.get(LIST)).json()["investigations"] == []
    (tombstone,) = (await service.get(LIST, status="deleting")).json()["investigations"]
    assert (tombstone["id"], tombstone["title"], tombstone["service"], tombstone["origin"]) == (found, "", "", None)


async def test_what_was_delivered_is_named_with_the_way_out(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)
    rows.rows("update delivery set reference = '/reports/x'")

    answer = await act(service, "DELETE", found)

    assert answer.json()["stays"] == [{"destination": "reports", "reference": "/reports/x"}]
    assert answer.json()["note"] == "what was delivered stays where it was sent: take it away there"


async def test_what_runs_is_not_deleted(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")

    answer = await act(service, "DELETE", found)

    assert (code(answer), answer.json()["error"]["message"]) == ((409, "wrong_status"), "it is queued: cancel it first")


async def test_a_message_that_is_under_way_makes_it_a_202(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)
    rows.rows("update delivery set state = 'reserved', send_deadline = now() + interval '1 hour' where revision = 1")

    answer = await act(service, "DELETE", found)

    assert (answer.status_code, answer.json()["state"]) == (202, "deleting")
    assert code(await service.get(f"{LIST}/{found}")) == (410, "deleted")


async def test_without_the_retention_role_it_says_what_to_run(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)
    rows.rows("create or replace function can_purge() returns boolean language sql as 'select false'")

    answer = await act(service, "DELETE", found)

    assert code(answer) == (501, "cannot_delete")
    assert "grant inquest_retention to" in answer.json()["error"]["message"]


# ---- who may


async def test_another_workspaces_id_is_like_one_that_never_was(rows: Door, tmp_path: Path) -> None:
    two: Any = build('{"version": 1, "workspaces": {"ours": {}, "theirs": {}}}', tmp_path)
    theirs = await opened(rows, "s", workspace="theirs")
    async with serving(rows.database, two) as service:
        for method, path in ACTS:
            answers = [await act(service, method, f"{name}{path}?workspace=ours") for name in (theirs, UNKNOWN)]

            assert code(answers[0]) == (404, "not_found")
            assert answers[0].content == answers[1].content
        assert (await act(service, "POST", f"{theirs}/cancel?workspace=theirs")).status_code == 200


async def test_no_act_goes_without_the_token_and_an_id_that_is_none_is_refused(service: Service, rows: Door) -> None:
    found = await opened(rows, "s")
    for method, path in ACTS:
        refused = await service.send(method, f"{LIST}/{found}{path}", {})
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        for malformed in ("x", "0" * 33, "G" * 32, "0" * 31 + "%00", "..%2F.."):
            answer = await act(service, method, f"{malformed}{path}")
            assert answer.status_code in {404, 405, 422}
            assert set(answer.json()) == {"error"}
    assert (await service.get(f"{LIST}/{found}")).json()["status"] == "queued"


async def test_without_a_token_a_page_from_elsewhere_does_nothing_here(rows: Door, tmp_path: Path) -> None:
    found = await opened(rows, "s")
    async with serving(rows.database, one_workspace(tmp_path), token=None) as service:
        for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example", "http://[", ""):
            for method, path in (*ACTS, ("GET", "")):
                answer = await service.send(method, f"{LIST}/{found}{path}", {"Origin": origin})
                assert answer.status_code == 401, (origin, method)
        assert (await service.get(f"{LIST}/{found}", {})).json()["status"] == "queued"
        local = await service.send("POST", f"{LIST}/{found}/cancel", {"Origin": "http://localhost:8080"})
    assert local.status_code == 200
