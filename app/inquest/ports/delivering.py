"""Destinations, and the deliveries that are due at them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol

from inquest.domain.delivery import (
    Address,
    DeliveryClaimed,
    DeliveryFailed,
    DeliveryFence,
    Ending,
    Sent,
)
from inquest.domain.report import Report


class Destination(Protocol):
    """One place that reports are sent to; of a place with several messages, one of them."""

    @property
    def name(self) -> str:
        """Give the destination's name from configuration, with the message's where it has several."""

    @property
    def type(self) -> str:
        """Give its kind, such as "folder"."""

    def render(self, report: Report, contents: Mapping[str, bytes], *, guest: bool) -> bytes | None:
        """Give the bytes that will be sent, None when it says nothing of this revision.

        Pure; stored by digest before the send. `guest`: the thread was begun by another investigation.
        """

    async def send(self, rendered: bytes, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed:
        """Send or, with a reference, edit. May be repeated only when the reference is known.

        Begins no write after `timeout_s`: whoever takes over may write then.
        """

    async def find(self, address: Address, *, timeout_s: float) -> Sent | DeliveryFailed | None:
        """Look for an earlier first send by its marker; None: surely not there."""


class Deliveries(Protocol):
    """The record of what is to be sent where, with its own fence. Every method may raise StoreUnavailable."""

    async def place(self, target_id: str) -> tuple[str, str] | None:
        """Give the workspace and the destination's name of a target; None when there is no such target."""

    async def next_due(self, workspace: str, destination: str) -> str | None:
        """Give a target of this destination that has something due, the one that has waited longest."""

    async def claim(self, owner_id: str, target_id: str, *, lease: timedelta) -> DeliveryClaimed | None:
        """Take the target if something is due there; None changes nothing. Older unsent revisions are superseded."""

    async def reserve(self, claimed: DeliveryClaimed, rendered: bytes, *, send_for: timedelta) -> None:
        """Store what will be sent, and hold the target until the send must be over. Raises FenceLost."""

    async def end(self, claimed: DeliveryClaimed, ending: Ending) -> None:
        """Record how it ended, let go of the target, and ring when more is due. Raises FenceLost."""

    async def release(self, fence: DeliveryFence) -> None:
        """Let go of a target without an ending: what is reserved is looked up once its deadline has passed."""
