"""Slack: two messages, what each says of which revision, how they are posted, and what is believed of answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from inquest.destinations.slack import SlackConfig, create_slack_destinations
from inquest.destinations.slack.messages import MAX_PAGES
from inquest.domain.delivery import Address, DeliveryFailed, Sent
from inquest.domain.report import Report
from tests.destinations.harness import PATIENCE_S, REPORT, SHELF, Slack, address, rendered, slack_messages
from tests.fakes.faults import Limited
from tests.fakes.loopback import Handler, Reply, Seen, loopback
from tests.fakes.slack import BOT_ID, BOT_USER, CHANNEL, TOKEN, FakeSlack
from tests.fakes.slack_blocks import live


@pytest.fixture
async def both() -> AsyncIterator[tuple[Slack, Slack]]:
    async with slack_messages() as made:
        yield made


def says(place: Slack, report: Report, *, guest: bool = False) -> bool:
    return place.destination.render(report, SHELF.contents, guest=guest) is not None


async def post(place: Slack, **changes: Any) -> Sent | DeliveryFailed:  # noqa: ANN401  # those of an address
    return await place.destination.send(rendered(place), address(place, **changes), timeout_s=PATIENCE_S)


# ---- which message says what


RUNNING = REPORT.but(diagnosis=None, ended_at=None, kind="received", evidence=())


@pytest.mark.parametrize("kind", ["received", "progress", "question", "members", "resolved"])
async def test_the_root_speaks_of_a_running_investigation_and_the_report_waits(
    both: tuple[Slack, Slack], kind: str
) -> None:
    root, report = both
    assert says(root, RUNNING.but(kind=kind))
    assert not says(report, RUNNING.but(kind=kind))


@pytest.mark.parametrize("kind", ["report", "members", "resolved"])
async def test_both_speak_of_a_diagnosis(both: tuple[Slack, Slack], kind: str) -> None:
    assert [says(one, REPORT.but(kind=kind)) for one in both] == [True, True]


async def test_the_report_of_a_failure_has_the_evidence_so_far(both: tuple[Slack, Slack]) -> None:
    _, report = both
    assert says(report, REPORT.but(diagnosis=None, kind="failed"))
    assert not says(report, REPORT.but(diagnosis=None, kind="cancelled", evidence=()))


async def test_a_guest_leaves_the_root_alone_and_speaks_in_its_reply_from_the_beginning(
    both: tuple[Slack, Slack],
) -> None:
    root, report = both
    assert not says(root, REPORT, guest=True)
    assert says(report, RUNNING, guest=True)


# ---- how it is posted


async def test_a_message_is_posted_without_unfurling_parsing_or_names(both: tuple[Slack, Slack]) -> None:
    root, report = both
    await post(root)
    await post(report)
    posts = [asked for method, asked in root.fake.calls if method == "chat.postMessage"]
    for asked in posts:
        assert (asked["unfurl_links"], asked["unfurl_media"], asked["link_names"]) == (False, False, False)
        assert asked["parse"] == "none"
        assert [one for one in live(asked) if not one.startswith("https://grafana.example/")] == []
    assert [asked.get("thread_ts") for asked in posts] == [None, (report.thread or "").partition("/")[2]]
    assert [asked["metadata"]["event_payload"]["marker"] for asked in posts] == ["inv-1/r2#thread", "inv-1/r2#report"]


async def test_blocks_that_slack_refuses_are_said_as_a_short_text(both: tuple[Slack, Slack]) -> None:
    """BL-058."""
    _, report = both
    report.fake.fortune.then("chat.postMessage", "msg_blocks_too_long")
    answer = await post(report)
    assert isinstance(answer, Sent)
    (message,) = report.fake.messages[1:]
    assert message.said["blocks"] == []
    assert "Cause found" in message.said["text"]
    assert await report.destination.find(address(report), timeout_s=PATIENCE_S) == answer


async def test_a_burst_keeps_to_a_message_a_second() -> None:
    async with slack_messages(seconds_a_message=0.5) as (root, report):  # half of it is left to a busy machine
        answers = await asyncio.gather(post(root), post(report), post(root, revision=3))
        assert all(isinstance(answer, Sent) for answer in answers)
        assert root.fake.refusals == []


async def test_silence_that_slack_asked_for_is_kept_by_both_messages(both: tuple[Slack, Slack]) -> None:
    """BL-062."""
    root, report = both
    root.fake.fortune.then("chat.postMessage", Limited(3_600))
    await post(root)
    asked_before = len(root.fake.calls)
    answer = await asyncio.wait_for(post(report), PATIENCE_S)
    assert isinstance(answer, DeliveryFailed)
    assert (answer.retry, answer.uncertain) == (True, False)
    assert answer.retry_after_ms is not None
    assert answer.retry_after_ms > 3_500_000
    assert len(root.fake.calls) == asked_before


# ---- whose message it is


def marked(marker: str, event: str = "inquest_delivery") -> dict[str, Any]:
    return {"text": "x", "metadata": {"event_type": event, "event_payload": {"marker": marker}}}


async def test_a_message_of_somebody_else_with_our_marker_is_not_ours(both: tuple[Slack, Slack]) -> None:
    root, _ = both
    root.fake.post_as("U0SOMEBODY", marked("inv-1/r2#thread"))
    assert await root.destination.find(address(root), timeout_s=PATIENCE_S) is None


async def test_the_root_is_not_taken_for_the_report(both: tuple[Slack, Slack]) -> None:
    root, report = both
    reference = await post(root)
    assert isinstance(reference, Sent)
    found = await report.destination.find(address(report, thread=reference.reference), timeout_s=PATIENCE_S)
    assert found is None


async def test_a_message_is_looked_for_through_all_pages(both: tuple[Slack, Slack]) -> None:
    root, _ = both
    reference = await post(root)
    root.fake.page = 3
    for _ in range(10):
        root.fake.post_as("U0SOMEBODY", {"text": "chatter"})
    assert await root.destination.find(address(root), timeout_s=PATIENCE_S) == reference


async def test_messages_from_before_the_revision_was_planned_are_not_read(both: tuple[Slack, Slack]) -> None:
    root, _ = both
    root.fake.post_as(BOT_USER, marked("inv-1/r2#thread"), ago_s=7_200)
    assert await root.destination.find(address(root), timeout_s=PATIENCE_S) is None
    long_ago = datetime.now(UTC) - timedelta(hours=3)
    assert isinstance(await root.destination.find(address(root, since=long_ago), timeout_s=PATIENCE_S), Sent)


async def test_more_than_can_be_looked_through_is_not_absence(both: tuple[Slack, Slack]) -> None:
    root, _ = both
    root.fake.page = 1
    for _ in range(MAX_PAGES + 1):
        root.fake.post_as("U0SOMEBODY", {"text": "chatter"})
    found = await root.destination.find(address(root), timeout_s=PATIENCE_S)
    assert isinstance(found, DeliveryFailed)
    assert not found.retry


async def test_a_look_asks_for_metadata_and_says_who_we_are_once(both: tuple[Slack, Slack]) -> None:
    root, report = both
    for place in both:
        await place.destination.find(address(place), timeout_s=PATIENCE_S)
    looks = [asked for method, asked in root.fake.calls if method.startswith("conversations.")]
    assert [str(asked["include_all_metadata"]) for asked in looks] == ["1", "1"]
    assert [method for method, _ in report.fake.calls].count("auth.test") == 1
    assert BOT_ID


# ---- what is believed of an answer


@pytest.mark.parametrize("code", ["channel_not_found", "not_in_channel", "is_archived", "account_inactive"])
async def test_a_refusal_is_for_good_and_says_slacks_own_code(both: tuple[Slack, Slack], code: str) -> None:
    root, _ = both
    root.fake.fortune.then("chat.postMessage", code)
    answer = await post(root)
    assert answer == answer.but(reason=f"Slack refuses it: {code}", retry=False, uncertain=False)


@pytest.mark.parametrize("code", ["fatal_error", "internal_error"])
async def test_a_slack_that_broke_may_have_posted(both: tuple[Slack, Slack], code: str) -> None:
    root, _ = both
    root.fake.fortune.then("chat.postMessage", code)
    answer = await post(root)
    assert isinstance(answer, DeliveryFailed)
    assert (answer.retry, answer.uncertain) == (True, True)


async def send_to(handler: Handler) -> Sent | DeliveryFailed:
    async with loopback(handler) as server:
        config = SlackConfig(channel=CHANNEL, token=SecretStr(TOKEN), api_url=f"{server.url}/api")
        made = create_slack_destinations("slack", config)["slack#thread"]
        written = made.render(REPORT, {}, guest=False)
        assert written is not None
        return await made.send(written, Address(marker="inv-1/r1#thread"), timeout_s=PATIENCE_S)


@pytest.mark.parametrize(
    ("answer", "uncertain"),
    [
        (Reply(200, b"<html>log in</html>", {"Content-Type": "text/html"}), True),
        (Reply(200, b'{"ok": tr', {"Content-Type": "application/json"}), True),
        (Reply(200, b'{"ok": true}', {"Content-Type": "application/json"}), True),
        (Reply(200, b'["no", "object"]', {"Content-Type": "application/json"}), True),
        (Reply(503, b"", {"Content-Type": "text/plain"}), True),
        (Reply(408, b"late", {"Content-Type": "text/html"}), True),
        (Reply(200, b"ok", {"Content-Type": "text/plain"}), True),
        (Reply(200, b"\x1f\x8b", {"Content-Type": "application/gzip"}), True),
        (Reply(200, b"9" * 5_000, {"Content-Type": "application/json"}), True),
        (Reply(407, b"proxy", {"Content-Type": "text/html"}), False),
    ],
)
async def test_an_answer_that_is_not_slacks_says_nothing_about_the_message(answer: Reply, uncertain: bool) -> None:
    failed = await send_to(lambda _: answer)
    assert isinstance(failed, DeliveryFailed)
    assert failed.uncertain is uncertain
    assert "log in" not in failed.reason


async def test_an_answer_without_an_end_is_left() -> None:
    body = b'{"ok": true, "channel": "C0", "ts": "1.1", "more": "' + b"x" * 9_000_000 + b'"}'
    failed = await send_to(lambda _: Reply(200, body))
    assert isinstance(failed, DeliveryFailed)
    assert failed.uncertain


async def test_a_slack_that_cannot_be_reached_surely_got_nothing() -> None:
    config = SlackConfig(channel=CHANNEL, token=SecretStr(TOKEN), api_url="http://127.0.0.1:1/api")
    made = create_slack_destinations("slack", config)["slack#thread"]
    written = made.render(REPORT, {}, guest=False)
    assert written is not None
    failed = await made.send(written, Address(marker="inv-1/r1#thread"), timeout_s=PATIENCE_S)
    assert failed == DeliveryFailed(reason="Slack cannot be reached", retry=True)


# ---- one address and no other


def _say(answer: Reply, _: Seen) -> Reply:
    return answer


async def test_a_redirect_is_not_followed_and_a_proxy_of_the_environment_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = FakeSlack()
    async with loopback(elsewhere) as trap:
        monkeypatch.setenv("HTTP_PROXY", trap.url)
        monkeypatch.setenv("http_proxy", trap.url)
        moved = {"Location": f"{trap.url}/api/chat.postMessage"}
        for status in (301, 302, 307, 308):
            answer = Reply(status, b"", moved)
            failed = await send_to(partial(_say, answer))
            assert isinstance(failed, DeliveryFailed)
            assert (failed.retry, failed.uncertain) == (False, False)
        assert trap.seen == []


async def test_the_token_goes_in_the_header_and_nowhere_else(both: tuple[Slack, Slack]) -> None:
    seen: list[Seen] = []

    def handler(request: Seen) -> Reply:
        seen.append(request)
        return Reply(200, b'{"ok": false, "error": "not_in_channel"}')

    await send_to(handler)
    (request,) = seen
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in request.target
    assert TOKEN.encode() not in request.body
    assert "cookie" not in request.headers


@pytest.mark.parametrize("channel", ["#incidents", "incidents", "", "C1/../x", "U0123456789"])
def test_a_channel_is_named_by_its_id(channel: str) -> None:
    with pytest.raises(ValidationError):
        SlackConfig(channel=channel, token=SecretStr(TOKEN))
