"""What goes wrong between a sender and a vendor: shared by the fakes that messages are sent to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tests.fakes.loopback import Act, Hang, Raw, Reply

JSON = {"Content-Type": "application/json; charset=utf-8"}


class Fault(Enum):
    """One request's bad luck: whether it is done, and what the sender hears of it."""

    CLOSE = "the connection breaks off, nothing is done"
    STORE_THEN_CLOSE = "it is done, and the connection breaks off"
    ERROR = "nothing is done, and the answer is a 500"
    STORE_THEN_ERROR = "it is done, and the answer is a 500"
    HANG = "nothing is done, and no answer comes"
    STORE_THEN_HANG = "it is done, and no answer comes"

    @property
    def stores(self) -> bool:
        return self in {Fault.STORE_THEN_CLOSE, Fault.STORE_THEN_ERROR, Fault.STORE_THEN_HANG}

    def act(self) -> Act:
        if self in {Fault.CLOSE, Fault.STORE_THEN_CLOSE}:
            return Raw()
        if self in {Fault.HANG, Fault.STORE_THEN_HANG}:
            return Hang()
        return Reply(500, b"<html>Internal Server Error</html>", {"Content-Type": "text/html"})


@dataclass(frozen=True)
class Limited:
    """429, with or without a Retry-After in seconds."""

    retry_after: int | None = None

    def reply(self, body: bytes) -> Reply:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return Reply(429, body, {**JSON, **headers})


Luck = Fault | Limited | str | None
"""A fault, a limit, a vendor's own error code, or nothing."""


@dataclass
class Fortune:
    """What comes next for each kind of request, by its name; None lets one pass."""

    queues: dict[str, list[Luck]] = field(default_factory=dict)

    def then(self, name: str, *lucks: Luck) -> None:
        self.queues.setdefault(name, []).extend(lucks)

    def next(self, name: str) -> Luck:
        queue = self.queues.get(name)
        return queue.pop(0) if queue else None
