"""INQUEST_URL: the same command through a running service, by its API alone, and what is no such service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from inquest.bootstrap.processes import build_worker
from inquest.entrypoints.cli import remote
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.given import Given
from inquest.entrypoints.cli.remote import ForeignAnswer
from inquest.entrypoints.cli.remote_investigating import investigate_remotely
from inquest.entrypoints.cli.tell import Lines, Silent
from inquest.errors import ConfigurationError, StoreUnavailable
from inquest.scenarios.server import RecordedBackend
from inquest.settings import Settings
from tests.bootstrap.files import build, file_of, prometheus
from tests.entrypoints.http.service import TOKEN, Service, serving
from tests.fakes.loopback import Act, Reply, Seen, Stream, loopback
from tests.postgres import NewDatabase
from tests.store.door import Door

INTAKE_TOKEN = "intake-CANARY-5"


@pytest.fixture
async def service(
    database: NewDatabase, backend: RecordedBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Service]:
    """Give a service with a worker beside it, and an intake and an operator's token of their own."""
    made = database()
    door = Door(made.url, made.conninfo)
    monkeypatch.setenv("AM_TOKEN", INTAKE_TOKEN)
    locked = {"type": "alertmanager", "auth": {"bearer_env": "AM_TOKEN"}}
    text = file_of(intakes={"alertmanager": locked}, integrations={"prometheus": prometheus(backend.prometheus_url)})
    stop = asyncio.Event()
    async with serving(door.database, build(text, tmp_path)) as running:
        working = asyncio.ensure_future(build_worker(running.process).run(stop))
        yield running
        stop.set()
        await working
    await door.aclose()


def settings(url: str, **tokens: str) -> Settings:
    given = {"operator_token": TOKEN, "intake_token": INTAKE_TOKEN, **tokens}
    return Settings(url=url, **{name: SecretStr(value) for name, value in given.items()})  # type: ignore[arg-type]


async def investigate(to: Settings, raw: bytes, *, intake: str | None = None, **options: Any) -> int:  # noqa: ANN401
    given = Given(raw, "alert.json", intake)
    return await investigate_remotely(
        to, given, options.get("telling", Silent()), as_json=options.get("as_json", False)
    )


def url_of(service: Service) -> str:
    return f"http://127.0.0.1:{service.port}"


# ---- through a real service


async def test_an_alert_is_posted_followed_and_its_report_read(
    service: Service, backend: RecordedBackend, capfd: pytest.CaptureFixture[str]
) -> None:
    code = await investigate(settings(url_of(service)), backend.alert, telling=Lines())

    out = capfd.readouterr().out
    words = [line.split()[1] for line in out.partition("\n# ")[0].splitlines()]
    assert code == Exit.ANSWERED
    assert words[0] == "accepted"
    assert [word for word in dict.fromkeys(words) if word in {"started", "plan", "diagnosis", "ended"}] == [
        "started", "plan", "diagnosis", "ended",
    ]  # fmt: skip
    assert "**Cause found**" in out

    again = await investigate(settings(url_of(service)), backend.alert, as_json=True)
    found = json.loads(capfd.readouterr().out)
    assert (again, found["verdict"], found["degraded"]) == (Exit.ANSWERED, "cause_found", False)


@pytest.mark.parametrize(
    ("tokens", "intake", "told"),
    [
        ({"intake_token": "wrong"}, None, "INQUEST_INTAKE_TOKEN: the intake does not take it"),
        ({"operator_token": "wrong"}, None, "INQUEST_OPERATOR_TOKEN: the service does not take it"),
        ({}, "nowhere", "--intake: the service has no intake nowhere"),
    ],
)
async def test_what_the_service_refuses_is_told_by_the_variable_or_the_option(
    service: Service, backend: RecordedBackend, tokens: dict[str, str], intake: str | None, told: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        await investigate(settings(url_of(service), **tokens), backend.alert, intake=intake)

    assert str(refused.value) == told


async def test_a_body_that_opens_nothing_says_why(service: Service) -> None:
    with pytest.raises(ConfigurationError, match=r"^alert\.json: opens no investigation: 1 quarantined$"):
        await investigate(settings(url_of(service)), b"not JSON")


# ---- what is no such service


async def test_where_nothing_listens_the_variable_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"^INQUEST_URL: the service cannot be reached there$"):
        await investigate(settings("http://127.0.0.1:9"), b"{}")


ACCEPTED = {
    "receipt_id": "r",
    "state": "accepted",
    "counts": {"opened": 1},
    "investigations": [{"investigation_id": "i"}],
}
ROW = {"id": "i", "status": "running", "verdict": "", "not_before": None, "defer_reason": ""}


def answers(**by_path: Act) -> Any:  # noqa: ANN401  # a handler
    """Answer by the last part of the path; a post is accepted."""

    def answer(seen: Seen) -> Act:
        name = "post" if seen.method == "POST" else seen.path.rsplit("/", 1)[-1]
        usual = {"post": _json(ACCEPTED), "i": _json(ROW), "events": _json({"events": [], "next": None})}
        return {**usual, **by_path}[name]

    return answer


def _json(body: object) -> Reply:
    return Reply(body=json.dumps(body).encode())


@pytest.mark.parametrize(
    ("by_path", "error", "told"),
    [
        ({"post": Reply(status=307, headers={"Location": "http://elsewhere"})}, ConfigurationError, "the service answers 307"),
        ({"post": Reply(status=413)}, ConfigurationError, "INQUEST_URL: the service answers 413"),
        ({"post": Reply(status=503)}, StoreUnavailable, "the service answers 503"),
        ({"post": Reply(body=b"<html>hello</html>")}, ForeignAnswer, "INQUEST_URL: what answers there is no Inquest"),
        ({"post": _json([1, 2])}, ForeignAnswer, "INQUEST_URL: what answers there is no Inquest"),
        ({"post": _json({"investigations": [{}], "counts": {}})}, ForeignAnswer, "no Inquest"),
        ({"post": Reply(body=b"[" * 100_000)}, ForeignAnswer, "INQUEST_URL: what answers there is no Inquest"),
        ({"i": Reply(body=b"[1]")}, ForeignAnswer, "INQUEST_URL: what answers there is no Inquest"),
        ({"i": _json({"id": "i"})}, ForeignAnswer, "INQUEST_URL: what answers there is no Inquest"),
        ({"i": Reply(status=401)}, ConfigurationError, "INQUEST_OPERATOR_TOKEN: the service does not take it"),
        ({"events": _json({"events": []})}, ForeignAnswer, "INQUEST_URL: what answers there is no Inquest"),
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_of_ours_is_told(
    by_path: dict[str, Act], error: type[Exception], told: str
) -> None:
    async with loopback(answers(**by_path)) as server:
        with pytest.raises(error) as refused:
            await investigate(settings(server.url), b"{}")

    assert told in str(refused.value)


async def test_an_answer_without_end_is_cut_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MAX_ANSWER_BYTES", 100_000)
    async with loopback(answers(post=Stream(chunks=(b" " * 10_000 for _ in range(1_000))))) as server:
        with pytest.raises(ForeignAnswer, match="INQUEST_URL: an answer is larger than 100000 bytes"):
            await investigate(settings(server.url), b"{}")


async def test_a_redirect_takes_no_token_anywhere() -> None:
    async with loopback(lambda _: Reply()) as elsewhere:
        away = Reply(status=302, headers={"Location": f"{elsewhere.url}/v1/alerts/alertmanager"})
        async with loopback(answers(post=away)) as server:
            with pytest.raises(ConfigurationError):
                await investigate(settings(server.url), b"{}")

        assert elsewhere.seen == []
