"""show, verify and replay at INQUEST_URL: what the database says, over the API alone, and what breaks off on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr
from typing_extensions import override

from inquest.domain.event import Event
from inquest.entrypoints.cli import remote, remote_following
from inquest.entrypoints.cli.exits import Exit
from inquest.entrypoints.cli.follow import follow
from inquest.entrypoints.cli.remote import ForeignAnswer, connected
from inquest.entrypoints.cli.remote_following import watched_at
from inquest.entrypoints.cli.replaying_bundle import replay_at_service
from inquest.entrypoints.cli.showing import show_one
from inquest.entrypoints.cli.tell import Silent
from inquest.entrypoints.cli.verify_id import verify_id
from inquest.entrypoints.http import streams
from inquest.errors import ConfigurationError, NotFound, StoreUnavailable
from inquest.settings import Settings
from tests.bootstrap.files import NOBODY
from tests.bootstrap.installations import Installation
from tests.entrypoints.http.service import TOKEN, Service
from tests.entrypoints.http.test_investigations import LIST, UNKNOWN, opened, run_one
from tests.fakes.loopback import Act, Reply, Seen, Stream, loopback
from tests.store.door import Door
from tests.waiting import until


def settings(service: Service | str, token: str = TOKEN) -> Settings:
    url = service if isinstance(service, str) else f"http://127.0.0.1:{service.port}"
    return Settings(url=url, operator_token=SecretStr(token))


async def ran(do: Callable[..., int], *given: object, **options: object) -> int:
    """Run what a command runs: it has a loop of its own."""
    return await asyncio.to_thread(do, *given, **options)


# ---- show


async def test_an_ended_one_is_shown_with_its_report_and_its_exit_code(
    service: Service, rows: Door, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = await run_one(rows, tmp_path)

    code = await ran(show_one, settings(service), found, follow=False, as_json=False)
    shown = capfd.readouterr().out
    followed = await ran(show_one, settings(service), found, follow=True, as_json=False)
    lines = capfd.readouterr().out
    await ran(show_one, settings(service), found, follow=False, as_json=True)
    row = json.loads(capfd.readouterr().out)

    assert code == followed == Exit.OPEN
    assert shown.startswith("# ")
    assert lines.endswith(shown)
    assert lines.split()[1] == "started"
    assert row == {**(await service.get(f"{LIST}/{found}")).json(), "degraded": False}


async def test_one_that_waits_is_said_to_and_one_that_is_nowhere_is_not_found(
    service: Service, rows: Door, capfd: pytest.CaptureFixture[str]
) -> None:
    waiting = await opened(rows, "s")

    code = await ran(show_one, settings(service), waiting, follow=False, as_json=False)

    assert (code, capfd.readouterr().out) == (Exit.ANSWERED, f"{waiting} is queued\n")
    with pytest.raises(NotFound, match=f"^investigation {UNKNOWN}$"):
        await ran(show_one, settings(service), UNKNOWN, follow=True, as_json=False)
    with pytest.raises(ConfigurationError, match=r"^INQUEST_OPERATOR_TOKEN"):
        await ran(show_one, settings(service, "wrong"), waiting, follow=False, as_json=False)


class Heard(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.seqs: list[int] = []
        self.notes: list[str] = []

    @override
    def event(self, event: Event) -> None:
        self.seqs.append(event.seq)

    @override
    def note(self, what: str, text: str) -> None:
        self.notes.append(what)


async def test_what_is_followed_comes_as_a_stream_from_before_its_first_event_to_its_end(
    service: Service, rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_following, "WAIT_S", 0.05)
    installation = Installation(rows, tmp_path)
    found = await installation.open()
    heard = Heard()

    async with connected(settings(service)) as at, watched_at(at, found) as watched:
        following = asyncio.ensure_future(follow(watched, heard))
        await until(lambda: heard.notes == ["queued"])
        await installation.run()
        ended = await following

    events = (await service.get(f"{LIST}/{found}/events")).json()["events"]
    assert heard.seqs == [one["seq"] for one in events]
    assert heard.notes == ["queued"]
    assert ended.row["status"] == "succeeded"


async def test_a_stream_that_ends_before_its_journal_is_taken_up_behind_the_last_event(
    service: Service, rows: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await run_one(rows, tmp_path)
    monkeypatch.setattr(streams, "MAX_PAGE_EVENTS", 3)
    monkeypatch.setattr(streams, "MAX_STREAM_S", 0.0)
    heard = Heard()

    async with connected(settings(service)) as at, watched_at(at, found) as watched:
        await follow(watched, heard)

    assert heard.seqs == list(range(1, len(heard.seqs) + 1))
    assert len(heard.seqs) > 6
    assert heard.notes == []


# ---- a stream that is none


ROW = {"id": "i", "status": "running", "verdict": "", "not_before": None, "defer_reason": ""}
SSE = {"Content-Type": "text/event-stream"}


def at(events: Act) -> Callable[[Seen], Act]:
    def answer(seen: Seen) -> Act:
        return events if seen.path.endswith("/events") else Reply(body=json.dumps(ROW).encode())

    return answer


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (Reply(body=b'{"events": []}'), "what answers there is no Inquest"),
        (Reply(body=b'id: 1\ndata: {"seq": 1, "body": {"kind": "tomorrow"}}\n\n', headers=SSE), "use the service's own"),
        (Reply(body=b"data: [[[[\n\n", headers=SSE), "use the service's own release"),
        (Stream(chunks=(b"data: " + b"x" * 10_000 for _ in range(50)), headers=SSE), "larger than 100000 bytes"),
    ],
)  # fmt: skip
async def test_a_stream_that_is_none_of_ours_is_told(events: Act, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_following, "MAX_ANSWER_BYTES", 100_000)
    async with loopback(at(events)) as server:
        with pytest.raises(ForeignAnswer, match=told):
            await ran(show_one, settings(server.url), UNKNOWN, follow=True, as_json=False)


async def test_a_stream_that_breaks_off_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_following, "ROW_STAYS_S", 0.0)
    acts: list[Act] = [
        Stream(chunks=(b"retry: 2000\n\n", b"da"), headers=SSE, length=100),
        Reply(status=503, body=b"<html>" + bytes(200_000)),
        Reply(status=204),
    ]

    def answer(seen: Seen) -> Act:
        if seen.path.endswith("/events"):
            return acts.pop(0) if len(acts) > 1 else acts[0]
        return Reply(body=json.dumps({**ROW, "status": "running" if len(acts) > 1 else "failed"}).encode())

    heard = Heard()
    async with loopback(answer) as server, connected(settings(server.url)) as at, watched_at(at, "i") as watched:
        ended = await follow(watched, heard)

    assert (ended.exit, heard.notes) == (Exit.FAILED, ["waiting"])


async def test_an_answer_that_drips_ends_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "ANSWER_S", 0.2)
    drip = Stream(chunks=(b" " for _ in range(1_000)), pause_s=0.02)
    async with loopback(lambda _: drip) as server:
        with pytest.raises(StoreUnavailable, match=r"^the service did not answer whole in 0.2 s$"):
            await ran(show_one, settings(server.url), UNKNOWN, follow=False, as_json=False)


# ---- verify and replay


async def test_an_id_is_verified_and_replayed_from_the_bundle_that_the_service_gives(
    service: Service, rows: Door, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = await run_one(rows, tmp_path)
    to = settings(service)

    good = await ran(verify_id, to, None, found, NOBODY.public_key, as_json=False)
    assert (good, capfd.readouterr().out) == (Exit.ANSWERED, f"{found}: verified\n")
    wrong = await ran(verify_id, to, None, found, "00" * 32, as_json=False)
    assert (wrong, "signed with another key" in capfd.readouterr().out) == (Exit.FAILED, True)
    unkeyed = await ran(verify_id, to, None, found, None, as_json=False)
    assert (unkeyed, "anyone can make one" in capfd.readouterr().out) == (Exit.ANSWERED, True)
    replayed = await ran(replay_at_service, to, found, as_json=False)
    assert (replayed, capfd.readouterr().out.endswith(", as recorded\n")) == (Exit.ANSWERED, True)


async def test_a_journal_that_the_service_cannot_read_is_a_problem_in_its_words(
    service: Service, rows: Door, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = await run_one(rows, tmp_path)
    rows.rows("set session_replication_role = replica")
    rows.rows("delete from event where seq = 4")

    verified = await ran(verify_id, settings(service), None, found, None, as_json=False)
    assert (verified, capfd.readouterr().out.splitlines()[0]) == (
        Exit.FAILED,
        "problem: journal: event 4 is missing: the next one is 5",
    )
    replayed = await ran(replay_at_service, settings(service), found, as_json=False)
    assert (replayed, capfd.readouterr().out) == (
        Exit.FAILED,
        f"{found}: differs: event 4 is missing: the next one is 5\n",
    )


async def test_the_bundle_of_another_investigation_is_refused(service: Service, rows: Door, tmp_path: Path) -> None:
    raw = (await service.get(f"{LIST}/{await run_one(rows, tmp_path)}/bundle")).content
    tar = Reply(body=raw, headers={"Content-Type": "application/x-tar"})

    async with loopback(lambda _: tar) as server:
        with pytest.raises(ForeignAnswer, match="the bundle of another investigation"):
            await ran(verify_id, settings(server.url), None, UNKNOWN, None, as_json=False)
        with pytest.raises(ForeignAnswer, match="the bundle of another investigation"):
            await ran(replay_at_service, settings(server.url), UNKNOWN, as_json=False)


async def test_a_bundle_that_was_changed_on_its_way_is_a_problem(
    service: Service, rows: Door, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = await run_one(rows, tmp_path)
    raw = (await service.get(f"{LIST}/{found}/bundle")).content
    changed = Reply(body=raw.replace(b"run_succeeded", b"run_succeedeD"), headers={})

    async with loopback(lambda _: changed) as server:
        codes = [
            await ran(verify_id, settings(server.url), None, found, None, as_json=False),
            await ran(replay_at_service, settings(server.url), found, as_json=False),
        ]

    out = capfd.readouterr().out
    assert codes == [Exit.FAILED, Exit.FAILED]
    assert out.count("changed since it was written") == 2
