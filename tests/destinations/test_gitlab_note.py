"""GitLab notes: where they go, whose they are, and what is believed of answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from inquest.destinations.gitlab import MAX_PAGES, PAGE, GitlabNoteConfig, create_gitlab_note_destination, marker_line
from inquest.domain.delivery import Address, DeliveryFailed, Sent
from inquest.domain.investigation import Origin
from inquest.errors import ConfigurationError
from tests.destinations.harness import PATIENCE_S, Gitlab, address, gitlab_note, rendered
from tests.fakes.faults import Limited
from tests.fakes.gitlab_notes import BOT, ISSUE, PROJECT, SOMEBODY, TOKEN, FakeGitlabNotes, live
from tests.fakes.loopback import Handler, Reply, Seen, loopback


@pytest.fixture
async def notes() -> AsyncIterator[Gitlab]:
    async with gitlab_note() as made:
        yield made


async def write(place: Gitlab, **changes: Any) -> Sent | DeliveryFailed:  # noqa: ANN401  # those of an address
    return await place.destination.send(rendered(place), address(place, **changes), timeout_s=PATIENCE_S)


async def find(place: Gitlab, **changes: Any) -> Sent | DeliveryFailed | None:  # noqa: ANN401  # likewise
    return await place.destination.find(address(place, **changes), timeout_s=PATIENCE_S)


async def test_a_note_begins_with_its_marker_and_does_nothing(notes: Gitlab) -> None:
    assert await write(notes) == Sent(reference=f"{PROJECT}#{ISSUE}/1001")
    (note,) = notes.fake.on()
    assert note.body.startswith("<!-- inquest delivery inv-1/r2 -->\n\n# Incident report")
    assert notes.fake.executed == []
    assert [found for found in live(note.body) if not found.startswith("https://grafana.example/")] == []


# ---- where it goes


INCIDENT = Origin(intake="gitlab", source="gitlab", project="shop/checkout", issue="41")


async def test_the_incident_that_raised_the_alert_gets_the_note_where_its_project_is_allowed() -> None:
    fake = FakeGitlabNotes()
    fake.notes[("shop/checkout", 41)] = []
    async with gitlab_note(fake, origin_projects=("shop/checkout",)) as place:
        await write(place, origin=INCIDENT)
        assert (len(fake.on("shop/checkout", 41)), fake.on()) == (1, [])
        assert isinstance(await find(place, origin=INCIDENT), Sent)


@pytest.mark.parametrize("origin", [None, INCIDENT, INCIDENT.but(project="", issue="")])
async def test_any_other_alert_goes_to_the_configured_issue(origin: Origin | None) -> None:
    async with gitlab_note(origin_projects=("shop/payments",)) as place:
        await write(place, origin=origin)
        assert len(place.fake.on()) == 1


async def test_an_alert_from_nowhere_is_refused_where_no_issue_is_configured() -> None:
    async with gitlab_note(project="", issue=None, origin_projects=("shop/checkout",)) as place:
        failed = await write(place)
        assert isinstance(failed, DeliveryFailed)
        assert (failed.retry, place.fake.calls) == (False, [])


@pytest.mark.parametrize("where", [{}, {"project": "shop/operations"}, {"issue": 7}])
def test_a_destination_that_names_no_issue_is_refused(where: dict[str, Any]) -> None:
    config = GitlabNoteConfig(url="https://gitlab.example", token=SecretStr(TOKEN), **where)
    with pytest.raises(ConfigurationError, match=r"^destinations\.notes: "):
        create_gitlab_note_destination("notes", config)


# ---- whose note it is


async def test_a_note_of_somebody_else_with_our_marker_is_not_ours(notes: Gitlab) -> None:
    notes.fake.write_as(SOMEBODY, f"{marker_line('inv-1/r2')}\n\nfooled you")
    assert await find(notes) is None


async def test_a_marker_is_one_only_as_the_whole_first_line(notes: Gitlab) -> None:
    line = marker_line("inv-1/r2")
    for body in (f"said: {line}", f"x\n{line}", f"{line} and more", f"`{line}`", line.replace("r2", "r22")):
        notes.fake.write_as(BOT, body)
    assert await find(notes) is None
    notes.fake.write_as(BOT, f"{line}\r\n\r\nours")
    assert isinstance(await find(notes), Sent)


async def test_a_note_is_looked_for_through_all_pages_since_its_revision_was_planned(notes: Gitlab) -> None:
    await write(notes)
    for _ in range(2 * PAGE):
        notes.fake.write_as(SOMEBODY, "chatter")
    assert isinstance(await find(notes), Sent)


async def test_notes_from_long_before_are_not_read(notes: Gitlab) -> None:
    for _ in range(3 * PAGE):
        notes.fake.write_as(SOMEBODY, "chatter", ago=timedelta(days=1))
    assert await find(notes) is None
    assert len([call for call in notes.fake.calls if "/notes?" in call[1]]) == 1


async def test_more_than_can_be_looked_through_is_not_absence(notes: Gitlab) -> None:
    for _ in range(PAGE * MAX_PAGES):
        notes.fake.write_as(SOMEBODY, "chatter")
    found = await find(notes, since=datetime.now(UTC) - timedelta(hours=1))
    assert isinstance(found, DeliveryFailed)
    assert not found.retry


async def test_a_token_that_may_only_read_is_refused(notes: Gitlab) -> None:
    notes.fake.scopes = frozenset({"read_api"})
    failed = await write(notes)
    assert failed == DeliveryFailed(reason="GitLab refuses it with HTTP 403", retry=False)


# ---- what is believed of an answer


async def send_to(handler: Handler) -> Sent | DeliveryFailed:
    async with loopback(handler) as server:
        config = GitlabNoteConfig(url=server.url, token=SecretStr(TOKEN), project=PROJECT, issue=ISSUE)
        made = create_gitlab_note_destination("notes", config)
        return await made.send(b"body", Address(marker="inv-1/r1"), timeout_s=PATIENCE_S)


HTML = {"Content-Type": "text/html"}


@pytest.mark.parametrize(
    ("answer", "uncertain"),
    [
        (Reply(502, b"<html>", HTML), True),
        (Reply(408, b"<html>", HTML), True),
        (Reply(201, b"<html>log in</html>", HTML), True),
        (Reply(201, b'{"id": 1', {"Content-Type": "application/json"}), True),
        (Reply(201, b"{}"), True),
        (Reply(202, b'{"commands_changes": {}, "summary": []}'), True),
        (Reply(400, b'{"message": "<script>"}'), False),
        (Reply(404, b'{"message": "404 Project Not Found"}'), False),
    ],
)
async def test_an_answer_that_names_no_note_says_nothing_about_it(answer: Reply, uncertain: bool) -> None:
    failed = await send_to(lambda _: answer)
    assert isinstance(failed, DeliveryFailed)
    assert failed.uncertain is uncertain
    assert "script" not in failed.reason


async def test_a_limit_is_not_slept_through_and_not_repeated() -> None:
    seen: list[Seen] = []

    def handler(request: Seen) -> Reply:
        seen.append(request)
        return Reply(429, b"Retry later", {"Retry-After": "3600", "Content-Type": "text/plain"})

    failed = await send_to(handler)
    assert failed == DeliveryFailed(reason="GitLab asks to wait", retry=True, retry_after_ms=3_600_000)
    assert len(seen) == 1


async def test_while_gitlab_asks_for_silence_nothing_is_sent_to_it_for_any_target() -> None:
    fake = FakeGitlabNotes()
    fake.notes[("shop/checkout", 41)] = []
    fake.fortune.then("POST", Limited(3_600))
    async with gitlab_note(fake, origin_projects=("shop/checkout",)) as place:
        await write(place)
        asked = len(fake.calls)
        others = [await write(place, origin=INCIDENT), await write(place), await find(place, origin=INCIDENT)]

    assert len(fake.calls) == asked
    for other in others:
        assert isinstance(other, DeliveryFailed)
        assert (other.retry, other.uncertain) == (True, False)
        assert other.retry_after_ms is not None
        assert 0 < other.retry_after_ms <= 3_600_000


async def test_a_limit_that_says_no_time_holds_nothing_else() -> None:
    fake = FakeGitlabNotes()
    fake.fortune.then("POST", Limited(None))
    async with gitlab_note(fake) as place:
        assert isinstance(await write(place), DeliveryFailed)
        assert isinstance(await write(place), Sent)


async def test_a_gitlab_that_cannot_be_reached_surely_got_nothing() -> None:
    config = GitlabNoteConfig(url="http://127.0.0.1:1", token=SecretStr(TOKEN), project=PROJECT, issue=ISSUE)
    made = create_gitlab_note_destination("notes", config)
    failed = await made.send(b"body", Address(marker="inv-1/r1"), timeout_s=PATIENCE_S)
    assert failed == DeliveryFailed(reason="GitLab cannot be reached", retry=True)


async def test_an_answer_without_an_end_is_left() -> None:
    huge = Reply(201, b'{"id": 1, "body": "' + b"x" * 20_000_000 + b'"}')
    failed = await send_to(lambda _: huge)
    assert isinstance(failed, DeliveryFailed)
    assert failed.uncertain


# ---- one address and no other


async def test_a_redirect_is_not_followed_and_nothing_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with loopback(FakeGitlabNotes()) as trap:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, trap.url)
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login thief password stolen\n")
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        seen: list[Seen] = []

        def handler(request: Seen) -> Reply:
            seen.append(request)
            return Reply(302, b"", {"Location": f"{trap.url}/api/v4/projects/x/issues/1/notes"})

        failed = await send_to(handler)
        assert isinstance(failed, DeliveryFailed)
        assert (failed.retry, failed.uncertain, trap.seen) == (False, False, [])
        (request,) = seen
        assert "authorization" not in request.headers
        assert request.headers["private-token"] == TOKEN


@pytest.mark.parametrize("reference", ["", "x", "shop/operations#7", "shop/operations#7/", "../user#1/x"])
async def test_a_reference_that_names_no_note_is_not_used(notes: Gitlab, reference: str) -> None:
    failed = await write(notes, reference=reference)
    assert failed == DeliveryFailed(reason="the reference names no note", retry=False)
    assert notes.fake.calls == []
