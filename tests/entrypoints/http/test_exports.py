"""A bundle over HTTP: the bytes that the database gives, a few at a time, and the command that fetches it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx2
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from inquest.bootstrap.exporting import Exporting
from inquest.bundles.verification import verify_bundle
from inquest.bundles.writing import Plan
from inquest.entrypoints.cli.comparing import compare
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.exporting import export
from inquest.entrypoints.cli.remote import ForeignAnswer
from inquest.entrypoints.http import exports as module
from inquest.errors import ConfigurationError, NotFound, StoreUnavailable, WrongStatus
from inquest.settings import Settings
from tests.bootstrap.files import NOBODY, build
from tests.entrypoints.http.service import TOKEN, Service, serving
from tests.entrypoints.http.test_investigations import LIST, UNKNOWN, opened, run_one
from tests.fakes.loopback import Reply, loopback
from tests.store.door import Door
from tests.waiting import until


async def recorded(rows: Door, investigation: str) -> bytes:
    exporting = Exporting(rows.database, NOBODY)
    planned = await exporting.plan("default", investigation)
    return b"".join([piece async for piece in exporting.pieces("default", planned)])


def left(folder: Path) -> list[str]:
    """Name what an export has left behind."""
    return [one.name for one in folder.iterdir() if "bundle" in one.name]


# ---- the route


async def test_it_is_what_the_database_gives_signed_by_the_service(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    found = await run_one(rows, tmp_path)

    answer = await service.get(f"{LIST}/{found}/bundle")

    assert answer.status_code == 200
    assert answer.content == await recorded(rows, found)
    assert answer.headers["content-length"] == str(len(answer.content))
    assert answer.headers["content-type"] == "application/x-tar"
    assert answer.headers["content-disposition"] == f'attachment; filename="{found}.tar"'
    (tmp_path / "bundle.tar").write_bytes(answer.content)
    assert verify_bundle(tmp_path / "bundle.tar", key=NOBODY.public_key).ok


async def test_before_the_end_there_is_none(service: Service, rows: Door) -> None:
    answer = await service.get(f"{LIST}/{await opened(rows, 's')}/bundle")

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "wrong_status")


async def test_nobody_else_gets_one(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)

    assert (await service.get(f"{LIST}/{found}/bundle", {})).status_code == 401
    assert (await service.get(f"{LIST}/{UNKNOWN}/bundle")).status_code == 404
    two = build('{"version": 1, "workspaces": {"default": {}, "other": {}}}', tmp_path)
    async with serving(rows.database, two) as other:
        assert (await other.get(f"{LIST}/{found}/bundle", workspace="other")).status_code == 404
        assert (await other.get(f"{LIST}/{found}/bundle", workspace="default")).status_code == 200


async def test_one_too_many_is_refused_and_a_place_comes_free_when_its_reader_goes(
    service: Service, rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await run_one(rows, tmp_path)
    monkeypatch.setattr(module, "MAX_AT_ONCE", 1)
    begun = asyncio.Event()
    send = module.BundleAnswer._send

    async def stuck(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(module.BundleAnswer, "_send", stuck)
    first = asyncio.ensure_future(service.get(f"{LIST}/{found}/bundle"))
    await until(begun.is_set)
    refused = await service.get(f"{LIST}/{found}/bundle")
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    monkeypatch.setattr(module.BundleAnswer, "_send", send)

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
    assert refused.headers["retry-after"]

    async def answered() -> bool:
        return (await service.get(f"{LIST}/{found}/bundle")).status_code == 200

    await until(answered)


async def forever() -> None:
    await asyncio.Event().wait()


async def away() -> None:
    msg = "the database is away"
    raise StoreUnavailable(msg)


@pytest.mark.parametrize(
    ("meanwhile", "told"), [(forever, {"after_s": 0.2}), (away, {"error": "StoreUnavailable"})], ids=["slow", "away"]
)
async def test_what_cannot_be_sent_to_its_end_is_cut_off_and_logged_in_a_line(
    service: Service, rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    meanwhile: Callable[[], Awaitable[None]], told: dict[str, object],
) -> None:  # fmt: skip
    found = await run_one(rows, tmp_path)
    whole = (await service.get(f"{LIST}/{found}/bundle")).content

    async def half(self: Exporting, workspace: str, planned: Plan) -> AsyncIterator[bytes]:
        yield whole[:512]
        await meanwhile()

    monkeypatch.setattr(module, "MAX_EXPORT_S", 0.2)
    monkeypatch.setattr(module, "MAX_AT_ONCE", 1)
    with capture_logs() as logs, monkeypatch.context() as broken:
        broken.setattr(Exporting, "pieces", half)
        with pytest.raises(httpx2.RemoteProtocolError):
            await service.get(f"{LIST}/{found}/bundle")

    (line,) = (one for one in logs if one["event"] == "export_cut_off")
    assert line == {"event": "export_cut_off", "log_level": "warning", "investigation": found, **told}
    assert [one for one in caplog.records if one.exc_info] == []
    assert (await service.get(f"{LIST}/{found}/bundle")).content == whole


# ---- the command


def settings(service: Service | str, token: str = TOKEN) -> Settings:
    url = service if isinstance(service, str) else f"http://127.0.0.1:{service.port}"
    return Settings(url=url, operator_token=SecretStr(token))


async def exported(to: Settings, investigation: str, path: Path, *, postmortem: bool = False) -> int:
    return await asyncio.to_thread(export, to, investigation, path, postmortem=postmortem, force=False, as_json=False)


async def test_the_command_writes_what_the_service_sends(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)
    bundle, draft = tmp_path / "bundle.tar", tmp_path / "draft.md"

    codes = [
        await exported(settings(service), found, bundle),
        await exported(settings(service), found, draft, postmortem=True),
    ]

    assert codes == [Exit.ANSWERED, Exit.ANSWERED]
    assert bundle.read_bytes() == await recorded(rows, found)
    assert bundle.stat().st_mode & 0o777 == 0o600
    assert draft.read_text().startswith("# Postmortem (draft): ")


async def test_ids_are_compared_through_the_service(service: Service, rows: Door, tmp_path: Path) -> None:
    found = await run_one(rows, tmp_path)

    code = await asyncio.to_thread(compare, lambda: settings(service), found, found, as_json=True)

    assert code == Exit.ANSWERED
    with pytest.raises(NotFound, match=f"report of {UNKNOWN}"):
        await asyncio.to_thread(compare, lambda: settings(service), found, UNKNOWN, as_json=True)


async def test_what_the_service_refuses_is_told_and_leaves_nothing(
    service: Service, rows: Door, tmp_path: Path
) -> None:
    waiting = await opened(rows, "s")
    path = tmp_path / "bundle.tar"

    with pytest.raises(WrongStatus, match=f"^{waiting} has not ended"):
        await exported(settings(service), waiting, path)
    with pytest.raises(NotFound, match=f"^investigation {UNKNOWN}$"):
        await exported(settings(service), UNKNOWN, path)
    with pytest.raises(ConfigurationError, match=r"^INQUEST_OPERATOR_TOKEN"):
        await exported(settings(service, "wrong"), waiting, path)
    assert left(tmp_path) == []


FOREIGN = {
    "a page": Reply(body=b"<html>" + b" " * 600),
    "nothing": Reply(body=b""),
    "too little of one": Reply(body=b"manifest.json\0"[:8]),
}


@pytest.mark.parametrize("what", FOREIGN)
async def test_what_is_no_bundle_is_told_and_leaves_nothing(what: str, tmp_path: Path) -> None:
    async with loopback(lambda _: FOREIGN[what]) as fake:
        with pytest.raises(ForeignAnswer, match=r"^INQUEST_URL: what c"):
            await exported(settings(fake.url), UNKNOWN, tmp_path / "bundle.tar")

    assert left(tmp_path) == []


async def test_an_answer_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def half(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\nmanifest.json\0" + bytes(600))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(half, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StoreUnavailable, match="broke off"):
            await exported(settings(f"http://127.0.0.1:{port}"), UNKNOWN, tmp_path / "bundle.tar")

    assert left(tmp_path) == []
