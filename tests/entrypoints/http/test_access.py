"""Who may use which route, by which name the service may be called, and where it may listen."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from inquest.entrypoints.http.access import check_bind, is_loopback
from inquest.errors import ConfigurationError
from tests.bootstrap.files import build, file_of
from tests.entrypoints.http.service import AUTH, TOKEN, Service, one_workspace, serving
from tests.store.door import Door

ID = "0" * 32
OPERATORS = [
    "/v1/investigations",
    f"/v1/investigations/{ID}",
    f"/v1/investigations/{ID}/events",
    f"/v1/investigations/{ID}/report",
    "/metrics",
    "/openapi.json",
]
OPEN = ["/healthz", "/readyz"]
WRONG = {
    "no token": "",
    "another token": f"Authorization: Bearer {TOKEN}x",
    "a beginning of it": f"Authorization: Bearer {TOKEN[:-1]}",
    "nothing after the scheme": "Authorization: Bearer ",
    "another scheme": f"Authorization: Basic {TOKEN}",
    "no scheme": f"Authorization: {TOKEN}",
    "bytes that are no text": "Authorization: Bearer \xff",
}


async def test_an_operators_route_asks_for_the_token(service: Service) -> None:
    for wrong, header in WRONG.items():
        for path in OPERATORS:
            head = "".join(f"{line}\r\n" for line in (f"GET {path} HTTP/1.1", "Host: localhost", header) if line)

            answer = await service.say(f"{head}\r\n".encode("latin-1"))

            assert answer.status == 401, (wrong, path)
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.json() == {
                "error": {"code": "unauthorized", "message": "this route needs the operator's bearer token"}
            }


async def test_the_token_opens_them(service: Service) -> None:
    for scheme in ("Bearer", "bearer"):
        headers = {"Authorization": f"{scheme} {TOKEN}"}
        answers = {path: (await service.get(path, headers)).status_code for path in OPERATORS}

        assert answers == {path: 404 if ID in path else 200 for path in OPERATORS}


async def test_probes_need_no_token(service: Service) -> None:
    assert [(await service.get(path, {})).status_code for path in OPEN] == [200, 200]


async def test_the_operators_token_is_none_of_an_intake(
    rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AM_TOKEN", "sesame")
    locked = file_of(intakes={"am": {"type": "alertmanager", "auth": {"bearer_env": "AM_TOKEN"}}})
    async with serving(rows.database, build(locked, tmp_path)) as service:
        refused = await service.client.post("/v1/alerts/am", content=b"{}", headers=AUTH)
        taken = await service.client.post("/v1/alerts/am", content=b"{}", headers={"Authorization": "Bearer sesame"})

    assert (refused.status_code, taken.status_code) == (401, 202)


# ---- without a token


OURS = ["localhost", "127.0.0.1", "LOCALHOST:8417", "[::1]", "127.1.2.3:1"]
THEIRS = ["evil.example", "localhost.evil.example", "10.0.0.1", "127.0.0.1.nip.example", "0.0.0.0"]  # noqa: S104  # a name to be called by


async def test_without_a_token_a_page_cannot_point_its_own_name_at_this_machine(rows: Door, tmp_path: Path) -> None:
    async with serving(rows.database, one_workspace(tmp_path), token=None) as service:
        for host in OURS:
            assert (await service.get("/v1/investigations", {"Host": host})).status_code == 200, host
        for host in THEIRS:
            for path in OPERATORS:
                assert (await service.get(path, {"Host": host})).status_code == 401, (host, path)
            assert (await service.get("/healthz", {"Host": host})).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.53", "::1"])
def test_loopback_needs_no_token(host: str) -> None:
    check_bind(host, token=None, open_intakes=("am",))
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "example.com", "localhost.example.com"])  # noqa: S104
def test_another_address_needs_a_token_and_locked_intakes(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^INQUEST_HOST: .* set INQUEST_OPERATOR_TOKEN"):
        check_bind(host, token=None, open_intakes=())
    with pytest.raises(ConfigurationError, match=r"^INQUEST_HOST: .* the intake 'am' takes posts from anybody"):
        check_bind(host, token=SecretStr("t"), open_intakes=("am",))
    check_bind(host, token=SecretStr("t"), open_intakes=())


async def test_a_service_that_would_be_open_to_others_is_not_built(rows: Door, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="INQUEST_HOST"):
        async with serving(rows.database, one_workspace(tmp_path), token=None, host="0.0.0.0"):  # noqa: S104
            pass
