"""One message of Slack's by its reference and its marker: posted, edited, and found again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from inquest.destinations.shared.slack_blocks import SlackMessage
from inquest.destinations.slack.client import SlackApi
from inquest.destinations.slack.pace import Pace
from inquest.destinations.slack.refusals import TOO_LARGE, Refusal
from inquest.domain.delivery import Address, DeliveryFailed, Sent
from inquest.domain.value import Json

EVENT_TYPE = "inquest_delivery"
SKEW = timedelta(minutes=10)
"""How far Slack's clock may be behind the database's."""
PAGE = 100
MAX_PAGES = 20
"""Of a look: 2,000 messages since the revision was planned. More: a human has to look."""


class SlackMessages:
    """The messages of one channel."""

    def __init__(self, api: SlackApi, channel: str) -> None:
        self.channel = channel
        self._api = api
        self._pace = Pace()
        self._bot: tuple[str, str] | None = None

    async def write(self, message: SlackMessage, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed:
        """Post a message, or edit the one of the reference. Blocks that Slack refuses are said as a short text."""
        must_end_at = time.monotonic() + timeout_s
        answer = await self._write({"blocks": [*message.blocks]}, message.text, address, must_end_at)
        if isinstance(answer, Refusal) and answer.code in TOO_LARGE:
            answer = await self._write({"blocks": []}, message.text, address, must_end_at)
        return answer

    async def _write(
        self, body: Mapping[str, Any], text: str, address: Address, must_end_at: float
    ) -> Sent | DeliveryFailed:
        busy = await self._pace.turn(must_end_at=must_end_at)
        if busy is not None:
            return busy
        said: dict[str, Any] = {
            **body,
            "text": text,
            "parse": "none",
            "link_names": False,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": {"marker": address.marker}},
        }

        async def ask(client: AsyncWebClient) -> AsyncSlackResponse:
            if address.reference is not None:
                channel, ts = _place(address.reference)
                return await client.chat_update(channel=channel, ts=ts, **said)
            return await client.chat_postMessage(
                **self._post_to(address), unfurl_links=False, unfurl_media=False, **said
            )

        answer = await self._api.call(ask, must_end_at=must_end_at)
        if isinstance(answer, DeliveryFailed):
            self._pace.note(answer)
            return answer
        channel, ts = answer.get("channel"), answer.get("ts")
        if not isinstance(channel, str) or not isinstance(ts, str):
            return DeliveryFailed(reason="Slack did not say which message it is", retry=True, uncertain=True)
        return Sent(reference=f"{channel}/{ts}")

    def _post_to(self, address: Address) -> dict[str, Any]:
        if address.thread is None:
            return {"channel": self.channel}
        channel, ts = _place(address.thread)
        return {"channel": channel, "thread_ts": ts}

    async def find(self, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed | None:
        """Look for our message with this marker, in the channel or in the thread; None: surely not there."""
        must_end_at = time.monotonic() + timeout_s
        bot = await self._identity(must_end_at)
        if isinstance(bot, DeliveryFailed):
            return bot
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._page(address, cursor, must_end_at)
            if isinstance(page, DeliveryFailed):
                return page
            messages = page.get("messages")
            for message in messages if isinstance(messages, list) else ():
                if isinstance(message, dict) and _is_ours(message, bot, address.marker):
                    return Sent(reference=f"{self._where(address)}/{message['ts']}")
            cursor = _next_cursor(page)
            if cursor is None:
                return None
        return DeliveryFailed(reason="too many messages came since to look through", retry=False)

    def _where(self, address: Address) -> str:
        return self.channel if address.thread is None else _place(address.thread)[0]

    async def _page(self, address: Address, cursor: str | None, must_end_at: float) -> dict[str, Json] | DeliveryFailed:
        oldest = "0" if address.since is None else f"{(address.since - SKEW).timestamp():.6f}"
        how: dict[str, Any] = {
            "channel": self._where(address), "cursor": cursor, "limit": PAGE, "oldest": oldest, "inclusive": True,
            "include_all_metadata": True,
        }  # fmt: skip

        async def ask(client: AsyncWebClient) -> AsyncSlackResponse:
            if address.thread is None:
                return await client.conversations_history(**how)
            return await client.conversations_replies(ts=_place(address.thread)[1], **how)

        return await self._api.call(ask, must_end_at=must_end_at)

    async def _identity(self, must_end_at: float) -> tuple[str, str] | DeliveryFailed:
        """Give who we are at Slack: user and bot. Another's message with our marker is not ours."""
        if self._bot is None:
            answer = await self._api.call(lambda client: client.auth_test(), must_end_at=must_end_at)
            if isinstance(answer, DeliveryFailed):
                return answer
            self._bot = str(answer.get("user_id", "")), str(answer.get("bot_id", ""))
        return self._bot


def _place(reference: str) -> tuple[str, str]:
    channel, _, ts = reference.partition("/")
    return channel, ts


def _is_ours(message: Mapping[str, Json], bot: tuple[str, str], marker: str) -> bool:
    user, bot_id = bot
    if message.get("user") != user and (not bot_id or message.get("bot_id") != bot_id):
        return False
    match message.get("metadata"), message.get("ts"):
        case {"event_type": found, "event_payload": {"marker": marked}}, str():
            return found == EVENT_TYPE and marked == marker
        case _:
            return False


def _next_cursor(page: Mapping[str, Json]) -> str | None:
    match page.get("response_metadata"):
        case {"next_cursor": str(cursor)} if cursor:
            return cursor
        case _:
            return None
