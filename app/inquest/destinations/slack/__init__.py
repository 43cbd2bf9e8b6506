"""Slack: a root message for each episode, edited as it goes, and each investigation's report as a reply in its thread.

The two are messages of their own, NAME#thread and NAME#report, with a first send each (ADR 0014).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import Field, SecretStr

from inquest.destinations.shared.slack_blocks import SlackMessage, report_message, root_message
from inquest.destinations.slack.client import SlackApi
from inquest.destinations.slack.messages import SlackMessages
from inquest.domain.delivery import REPLY, ROOT, Address, DeliveryFailed, Sent, message_name
from inquest.domain.report import Report
from inquest.domain.value import Value

TYPE = "slack"
API_URL = "https://slack.com/api"


class SlackConfig(Value):
    """`channel` is an id, not a name: a name can be given to another channel. `api_url` is Slack's, or a proxy's."""

    channel: str = Field(pattern=r"^[CG][A-Z0-9]{2,20}$")
    token: SecretStr
    api_url: str = API_URL


def create_slack_destinations(
    name: str, config: SlackConfig, *, link_hosts: Iterable[str] = ()
) -> dict[str, SlackRoot | SlackReport]:
    """Make the two messages of the destination `name`, by their own names. They share the channel's turns."""
    messages = SlackMessages(SlackApi(config.api_url, config.token), config.channel)
    hosts = frozenset(link_hosts)
    made = (
        SlackRoot(message_name(name, ROOT), messages, hosts),
        SlackReport(message_name(name, REPLY), messages, hosts),
    )
    return {one.name: one for one in made}


class _SlackMessage:
    """What both messages do alike."""

    type = TYPE

    def __init__(self, name: str, messages: SlackMessages, link_hosts: frozenset[str]) -> None:
        self.name = name
        self._messages = messages
        self._link_hosts = link_hosts

    async def send(self, rendered: bytes, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed:
        """Post the message, or edit it where the address has its reference."""
        return await self._messages.write(SlackMessage.parse(rendered), address, timeout_s=timeout_s)

    async def find(self, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed | None:
        """Look for the message by the marker in its metadata."""
        return await self._messages.find(address, timeout_s=timeout_s)


class SlackRoot(_SlackMessage):
    """The root of an episode's thread: received, progress, the verdict's line, resolved."""

    def render(
        self,
        report: Report,
        contents: Mapping[str, bytes],  # noqa: ARG002  # it shows no evidence
        *,
        guest: bool,
    ) -> bytes | None:
        """Write the root, unless the thread is another's: then nothing of it is overwritten."""
        return None if guest else root_message(report, self._link_hosts).canonical()


class SlackReport(_SlackMessage):
    """The report of one investigation, a reply in the thread: posted once, edited after."""

    def render(self, report: Report, contents: Mapping[str, bytes], *, guest: bool) -> bytes | None:
        """Write the report, once there is one. In another's thread it says from the beginning that it is at work."""
        if _has_a_report(report):
            return report_message(report, contents, self._link_hosts).canonical()
        return root_message(report, self._link_hosts, alone=True).canonical() if guest else None


def _has_a_report(report: Report) -> bool:
    """Say whether there is more to show than the root does: a diagnosis, or evidence of one that ended without."""
    return report.diagnosis is not None or (report.ended_at is not None and bool(report.evidence))
