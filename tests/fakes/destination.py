"""A destination in memory that keeps what arrived, and a real one's promises.

A first send twice under one marker is a second message, as at Slack: it shows in `messages`. An edit needs the
reference of a message that is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from inquest.domain.delivery import Address, DeliveryFailed, Sent
from inquest.domain.report import Report


class Trouble(StrEnum):
    """What happens to one send."""

    LOSE_ANSWER = "it arrives, and the answer is lost"
    LOSE_REQUEST = "it never arrives, and no answer comes"
    HANG = "it waits until let go, and then arrives"


@dataclass
class Message:
    """One message as readers see it: its last body, and under which marker it was sent first."""

    marker: str
    bodies: list[str] = field(default_factory=list)


class MemoryDestination:
    """Gives each send the next of `troubles`, and each look the next of `looks`; without one, all is well.

    It says nothing of revisions of a kind in `silent_on`. `threads` are those under which it was told to send.
    """

    type = "memory"

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self.messages: dict[str, Message] = {}
        self.troubles: list[Trouble | DeliveryFailed | None] = []
        self.looks: list[DeliveryFailed | Exception] = []
        self.looked_for: list[str] = []
        self.silent_on: frozenset[str] = frozenset()
        self.threads: list[str | None] = []
        self.sending = 0
        self.let_go = asyncio.Event()

    def render(self, report: Report, contents: Mapping[str, bytes], *, guest: bool) -> bytes | None:
        if report.kind in self.silent_on:
            return None
        return f"{report.investigation_id} {report.kind} r{report.revision}".encode()

    async def send(self, rendered: bytes, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed:
        self.threads.append(address.thread)
        trouble = self.troubles.pop(0) if self.troubles else None
        if isinstance(trouble, DeliveryFailed):
            return trouble
        if trouble is Trouble.LOSE_REQUEST:
            raise ConnectionResetError
        if trouble is Trouble.HANG:
            self.sending += 1
            await self.let_go.wait()
        sent = self._arrive(rendered.decode(), address.marker, address.reference)
        if trouble is Trouble.LOSE_ANSWER:
            raise ConnectionResetError
        return sent

    async def find(self, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed | None:
        marker = address.marker
        self.looked_for.append(marker)
        if self.looks:
            answer = self.looks.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        found = [reference for reference, message in self.messages.items() if message.marker == marker]
        return Sent(reference=found[0]) if found else None

    def shown(self) -> list[str]:
        """Give the last body of each message, in the order of their first arrival."""
        return [message.bodies[-1] for message in self.messages.values()]

    def _arrive(self, body: str, marker: str, reference: str | None) -> Sent | DeliveryFailed:
        if reference is None:
            reference = f"{self.name}-{len(self.messages) + 1}"
            self.messages[reference] = Message(marker)
        if reference not in self.messages:
            return DeliveryFailed(reason="there is no such message", retry=False)
        self.messages[reference].bodies.append(body)
        return Sent(reference=reference)
