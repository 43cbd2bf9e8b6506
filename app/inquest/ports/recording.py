"""The durable journal, its effects, what an owner does with both, and the signature of an end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

from inquest.domain.budget import Spend
from inquest.domain.delivery import (
    RevisionKind,
)
from inquest.domain.effect import EffectRow, ModelFailed, Receipt, Reservation
from inquest.domain.event import Event, EventBody
from inquest.domain.fence import Fence
from inquest.domain.observation import Outcome, Query
from inquest.domain.report import Signature
from inquest.domain.transcript import ModelRequest, Reply
from inquest.domain.value import Value
from inquest.ports.time import Clock


class Chronicle(Value):
    """Everything that is recorded of one investigation, but the content bytes."""

    investigation_id: str
    version: int
    events: tuple[Event, ...]
    effects: tuple[EffectRow, ...]


class Revision(Value):
    """A revision that a transaction makes true: planned for every destination of the route."""

    kind: RevisionKind
    note: str = ""


class Write(Value):
    """One transaction of an owner: all of it or nothing.

    `receipts` close reservations made earlier; `reservations` are new (they carry the version after
    `events`); `contents` are stored by digest. A terminal event among `events` sets the status, closes
    the lease and plans `revisions` for the `destinations`.
    """

    fence: Fence
    expected_version: int
    events: tuple[EventBody, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    contents: dict[str, bytes] = {}
    revisions: tuple[Revision, ...] = ()
    spend: Spend | None = None


class Journal(Protocol):
    """The append-only record of investigations, with its fence and version checks."""

    async def load(self, investigation_id: str) -> Chronicle:
        """Read events and effect rows. Raises NotFound."""

    async def commit(self, write: Write) -> int:
        """Do `write` in one transaction and give the new version.

        Raises FenceLost, VersionConflict, FingerprintMismatch, BudgetExhausted (a reservation over the
        plan's ceiling or after its deadline), StoreUnavailable.
        """

    async def content(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        """Read stored bytes. Raises NotFound naming the first digest that is missing."""


class Fresh(Value):
    """The key is now reserved for this fence: act."""

    answer: Literal["fresh"] = "fresh"


class Again(Value):
    """An earlier owner reserved the key and never recorded an outcome; re-reserved for this fence: act.

    `dispatches` counts this one.
    """

    answer: Literal["again"] = "again"
    dispatches: int


class Known(Value):
    """The key is committed: here is the receipt, do not act."""

    answer: Literal["known"] = "known"
    receipt: Receipt


class Moved(Value):
    """The key held another request, uncommitted: it was abandoned and `key` (a try) is reserved instead.

    Asked again, as after an answer that was lost, the owner that moved it is told so again.
    """

    answer: Literal["moved"] = "moved"
    key: str


class Spent(Value):
    """The key was dispatched three times without an outcome: close it, do not act."""

    answer: Literal["spent"] = "spent"


ReserveAnswer = Fresh | Again | Known | Moved | Spent


class Effects(Protocol):
    """Reservations and receipts outside the journal's own transactions."""

    async def reserve(self, fence: Fence, expected_version: int, reservation: Reservation) -> ReserveAnswer:
        """Reserve one key, or take over what a dead owner reserved.

        Raises FenceLost, VersionConflict (for a key never seen), FingerprintMismatch (committed under
        another request), BudgetExhausted.
        """

    async def receive(self, fence: Fence, receipt: Receipt, contents: Mapping[str, bytes]) -> None:
        """Record one outcome. It never writes the aggregate's row. Raises FenceLost."""


class Answered(Value):
    """What a model effect gave, with the receipt that is still to be committed with what it decides.

    `fresh` is False when the receipt was already committed: then `receipt` and `contents` are empty of work.
    """

    outcome: Reply | ModelFailed
    receipt: Receipt
    contents: dict[str, bytes]
    fresh: bool = True


class RecordedReading(Value):
    """A committed outcome and the key under which its receipt lies (a try key if it was moved)."""

    key: str
    outcome: Outcome
    repeated: bool = False
    """True when it was answered from a receipt, without any act."""


class Acts(Protocol):
    """The one door through which a stage of one claimed investigation acts.

    Holds the fence, the chronicle and the version; `runtime/effects.py` implements it over a Journal and
    Effects. After FenceLost nothing more may be done with it.
    """

    @property
    def chronicle(self) -> Chronicle:
        """Give what is recorded so far, kept current by every call below."""

    @property
    def clock(self) -> Clock:
        """Give the clock of this claim."""

    async def contents(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        """Read stored bytes by digest, from memory where this claim has seen them."""

    async def append(
        self,
        *events: EventBody,
        receipts: Sequence[Receipt] = (),
        reservations: Sequence[Reservation] = (),
        contents: Mapping[str, bytes] | None = None,
        revisions: Sequence[Revision] = (),
        spend: Spend | None = None,
    ) -> None:
        """Commit in one transaction at the current version, and take the new events into the chronicle."""

    async def model(
        self,
        key: str,
        request: ModelRequest,
        ask: Callable[[float], Awaitable[Reply]],
        *,
        timeout_s: float,
        most_usd_micros: int = 0,
    ) -> Answered:
        """Reserve `key` for `request`, ask (with the seconds left), and give the answer, not yet committed.

        `most_usd_micros` is set aside of the day's dollars until what it cost is committed; BudgetExhausted when
        that much is not left. A committed key gives its stored reply without asking. tenacity owns the attempts inside; when they
        are used up the outcome is ModelFailed.
        """

    async def keep(self, answered: Answered) -> None:
        """Commit the receipt of `answered` alone (a reply that decides nothing, such as one to be repaired)."""

    async def query(self, key: str, query: Query) -> RecordedReading:
        """Run the reserved query `key`, or give what its receipt holds. Bounded retries are inside.

        A key reserved by a dead owner is taken over, moved to a try, or closed after its third dispatch.
        """


class Signer(Protocol):
    """The installation key, as far as it signs. Ed25519 is deterministic: the same message, the same signature."""

    @property
    def public_key(self) -> str:
        """Give the public key in hex."""

    def sign(self, message: bytes) -> Signature:
        """Sign `message`; the public key comes with it."""
