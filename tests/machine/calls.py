"""What can be asked of a store, each call as a value: it can be sent again, late, twice, or never arrive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from typing_extensions import override

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.effect import Receipt, Reservation
from inquest.domain.fence import Fence
from inquest.domain.investigation import Status
from inquest.errors import InquestError
from inquest.ports import Chronicle, Write
from inquest.store.lease import ClaimLimits
from tests.store.builders import Acting, Claiming

LEASE = timedelta(hours=1)
"""No lease runs out by itself in a schedule: `Expire` says when one does."""
LIMITS = ClaimLimits(max_running=2, max_attempts=4)


class FromOutside(Protocol):
    async def cancel(self, investigation_id: str) -> bool: ...

    async def answer(self, investigation_id: str, interrupt_id: str, answer: str) -> None: ...


@dataclass(frozen=True)
class Look:
    """One investigation as everybody may read it."""

    status: Status
    spend: Spend
    chronicle: Chronicle


class Place(ABC):
    """A store with one workspace, and what stands for the passing of time in it."""

    journal: Acting
    claims: Claiming
    actions: FromOutside

    async def do(self, call: Call) -> object:
        """Do `call`, and give the answer or the refusal itself."""
        return await outcome(call, self)

    @abstractmethod
    async def come_due(self, name: str) -> None:
        """Let the time of a wait come."""

    @abstractmethod
    async def expire_questions(self) -> int:
        """Let seven days pass for the questions that are open; gives how many nobody answered."""

    @abstractmethod
    async def look(self, name: str) -> Look:
        """Read one investigation."""


@dataclass(frozen=True)
class Call:
    async def ask(self, place: Place) -> object:
        """Do it. Raises what the store raises."""
        raise NotImplementedError


async def outcome(call: Call, place: Place) -> object:
    """Ask, and give the answer or the refusal itself."""
    try:
        return await call.ask(place)
    except InquestError as refusal:
        return refusal


# ---- of an owner: each names the right by which it acts


@dataclass(frozen=True)
class Owned(Call):
    fence: Fence


@dataclass(frozen=True)
class Commit(Owned):
    write: Write

    @override
    async def ask(self, place: Place) -> int:
        return await place.journal.commit(self.write)


@dataclass(frozen=True)
class Reserve(Owned):
    version: int
    reservation: Reservation

    @override
    async def ask(self, place: Place) -> object:
        return await place.journal.reserve(self.fence, self.version, self.reservation)


@dataclass(frozen=True)
class Receive(Owned):
    receipt: Receipt
    content: bytes

    @override
    async def ask(self, place: Place) -> None:
        await place.journal.receive(self.fence, self.receipt, {digest_of(self.content): self.content})


@dataclass(frozen=True)
class Renew(Owned):
    @override
    async def ask(self, place: Place) -> object:
        return await place.claims.renew(self.fence, lease=LEASE)


@dataclass(frozen=True)
class Drain(Owned):
    @override
    async def ask(self, place: Place) -> None:
        await place.claims.release(self.fence)


@dataclass(frozen=True)
class Fail(Owned):
    """The stage raised."""

    @override
    async def ask(self, place: Place) -> object:
        return await place.claims.fail_attempt(self.fence, max_attempts=LIMITS.max_attempts)


@dataclass(frozen=True)
class LetGoUnanswered(Owned):
    """The store did not answer this owner in time."""

    @override
    async def ask(self, place: Place) -> None:
        await place.claims.release_unanswered(self.fence, max_attempts=LIMITS.max_attempts)


# ---- of nobody in particular


@dataclass(frozen=True)
class Claim(Call):
    owner_id: str

    @override
    async def ask(self, place: Place) -> object:
        return await place.claims.claim(self.owner_id, lease=LEASE, limits=LIMITS)


@dataclass(frozen=True)
class Named(Call):
    name: str


@dataclass(frozen=True)
class Load(Named):
    @override
    async def ask(self, place: Place) -> Chronicle:
        return await place.journal.load(self.name)


@dataclass(frozen=True)
class Cancel(Named):
    @override
    async def ask(self, place: Place) -> bool:
        return await place.actions.cancel(self.name)


@dataclass(frozen=True)
class Answer(Named):
    interrupt_id: str
    text: str

    @override
    async def ask(self, place: Place) -> None:
        await place.actions.answer(self.name, self.interrupt_id, self.text)


@dataclass(frozen=True)
class ExpireQuestions(Call):
    """Nobody answers for seven days."""

    @override
    async def ask(self, place: Place) -> int:
        return await place.expire_questions()


@dataclass(frozen=True)
class Expire(Named):
    """The lease runs out."""

    @override
    async def ask(self, place: Place) -> bool:
        return await place.claims.expire(self.name)


@dataclass(frozen=True)
class ComeDue(Named):
    @override
    async def ask(self, place: Place) -> None:
        await place.come_due(self.name)


@dataclass(frozen=True)
class Halt(Call):
    @override
    async def ask(self, place: Place) -> None:
        await place.claims.halt()


@dataclass(frozen=True)
class Resume(Call):
    @override
    async def ask(self, place: Place) -> None:
        await place.claims.resume()
