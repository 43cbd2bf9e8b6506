"""The seams: what stages and the runtime need from the outside, as Protocols.

Each has a real adapter (store, connectors, models, destinations) and an in-memory or scripted one that
keeps the same promises. Failures: a vendor's is a value in the outcome; a lost fence, a moved version, an
exhausted budget are exceptions of `errors`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, Protocol

from pydantic import SkipValidation

from inquest.domain.budget import Spend
from inquest.domain.delivery import (
    Address,
    DeliveryClaimed,
    DeliveryFailed,
    DeliveryFence,
    Ending,
    RevisionKind,
    Sent,
)
from inquest.domain.effect import EffectRow, ModelFailed, Receipt, Reservation
from inquest.domain.event import Event, EventBody
from inquest.domain.evidence import Asked, EvidenceItem, Excluded
from inquest.domain.fence import Fence
from inquest.domain.hypothesis import Ledger
from inquest.domain.intake import Accepted, Arrival, Keyed
from inquest.domain.investigation import Identity, Investigation
from inquest.domain.observation import Context, Outcome, Query
from inquest.domain.report import Report, Signature
from inquest.domain.signals import SignalContent
from inquest.domain.tool import ToolSpec
from inquest.domain.transcript import Message, ModelRequest, Reply
from inquest.domain.value import Value

# ---- time, chance --------------------------------------------------------------------------------------


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """Give this moment in UTC. In the worker it is the database's clock plus monotonic progress."""

    def monotonic(self) -> float:
        """Give seconds of a clock that never jumps, for durations."""


class Ids(Protocol):
    """The only source of chance."""

    def new(self) -> str:
        """Give a fresh id: 32 hex digits, time-ordered (UUIDv7 without dashes)."""


# ---- evidence ------------------------------------------------------------------------------------------


class Reading(Value):
    """What one call of a tool gave: the outcome, and the full content bytes of each observation by digest."""

    outcome: Outcome
    contents: dict[str, bytes]
    exchanges: int = 1
    """Requests sent to the vendor, retries included; 0 when refused before dispatch."""


class Tool(Protocol):
    """One read operation of one connector."""

    @property
    def spec(self) -> ToolSpec:
        """Describe it for a model and for selection."""

    def prepare(self, arguments: Mapping[str, object], query: Query) -> Query:
        """Check arguments beyond the schema and fill their defaults, without I/O.

        `query` carries tool, service, time range, budget and cursor already. Raises `InvalidQuery`
        with a hint of ours.
        """

    async def read(self, context: Context, query: Query) -> Reading:
        """Read one page. Never raises for a vendor's failure; CancelledError passes."""


class InvalidQuery(Exception):  # the failure code's own word
    """A query that cannot be run: becomes a tool result with invalid_query, nothing is sent."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


class Connector(Protocol):
    """A configured, credentialed connection to one vendor; read only."""

    @property
    def name(self) -> str:
        """Give the integration's name from configuration."""

    @property
    def type(self) -> str:
        """Give the vendor, such as "prometheus"."""

    @property
    def context(self) -> Context:
        """Give the pinned context under which it reads."""

    @property
    def tools(self) -> Sequence[Tool]:
        """Give its tools, in a fixed order."""

    def link(self, query: Query) -> str:
        """Give the page of the source that shows `query`, "" where there is none. No credentials in it."""

    async def health(self) -> Literal["ok", "failing"]:
        """Ask the cheapest authenticated question, within 3 s. Never raises."""

    async def aclose(self) -> None:
        """Close its connections."""


# ---- models and investigators --------------------------------------------------------------------------


class ModelFailure(StrEnum):
    """Kinds of `errors.ModelError`: what may be done about it differs."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    CONTEXT_OVERFLOW = "context_overflow"
    AUTHENTICATION = "authentication"
    QUOTA = "quota"
    REFUSED = "refused"
    MALFORMED = "malformed"
    BAD_REQUEST = "bad_request"


class Model(Protocol):
    """A language model provider."""

    async def complete(self, request: ModelRequest, *, timeout_s: float) -> Reply:
        """Ask once, over the ordered models of `request`. Raises ModelError; CancelledError passes."""

    def count_tokens(self, request: ModelRequest) -> int:
        """Count or over-estimate the input tokens of `request` (a tokenizer's count plus 15 %)."""

    def window_tokens(self) -> int:
        """Give the smallest input window of the configured models."""

    def most_usd_micros(self, input_tokens: int, output_tokens: int) -> int:
        """Give the most that a request of so many tokens may cost, in millionths of a dollar; 0 where it is free."""


class Exchange(Value):
    """One answered call as the investigator may see it."""

    batch: str
    ordinal: int
    call_id: str
    name: str
    arguments: str
    how: Literal["receipt", "replay", "refusal", "internal", "interrupt"]
    key: str
    shown: str
    """What is shown of the answer: the rendered, bounded text, or the one line left after eviction."""
    evidence: tuple[str, ...] = ()
    failed: bool = False


class LoopView(Value):
    """Everything an investigator may look at for its next turn; a pure function of the journal."""

    investigation: Investigation
    turn: int
    last: bool
    """True when tools are withdrawn: conclude now."""
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    """The conversation so far, fitted to the window: for an investigator that reads text."""
    exchanges: tuple[Exchange, ...]
    evidence: tuple[EvidenceItem, ...]
    excluded: tuple[Excluded, ...]
    asked: tuple[Asked, ...]
    contents: SkipValidation[Mapping[str, SignalContent]]
    """Full content by digest, parsed when it is looked at: for an investigator that reads values.

    Holds the first MAX_HELD_CONTENT_BYTES of evidence in order of admission; for one that is not in it,
    the observation's own (truncated) content is all there is.
    """
    ledger: Ledger
    spend: Spend
    guarded_tokens: int = 0
    """Tokens used by the loop, with our own upper estimate where the provider gave no usage."""
    dearest_turn_usd_micros: int = 0
    max_output_tokens: int = 4_096
    """What the request may ask for, so that request and answer fit the window."""


class Investigator(Protocol):
    """Who decides the next turn: a model, or the analyst."""

    @property
    def models(self) -> tuple[str, ...]:
        """Give the ordered model list; ("analyst",) for the analyst."""

    def request(self, view: LoopView) -> ModelRequest:
        """Write the request for the next turn: deterministic, so that a resumed worker asks the same."""

    async def answer(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:
        """Answer it. Raises ModelError when it cannot be answered."""

    def diagnose_request(self, view: LoopView) -> ModelRequest:
        """Write the request for the structured diagnosis: no tools, a closed schema."""

    async def diagnose(self, request: ModelRequest, view: LoopView, *, timeout_s: float) -> Reply:
        """Answer it with JSON text of `domain.diagnosis.Proposal`'s wire form. Raises ModelError."""


# ---- the durable journal -------------------------------------------------------------------------------


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
    """The key held another request, uncommitted: it was abandoned and `key` (a try) is reserved instead."""

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
        self, key: str, request: ModelRequest, ask: Callable[[float], Awaitable[Reply]], *, timeout_s: float
    ) -> Answered:
        """Reserve `key` for `request`, ask (with the seconds left), and give the answer, not yet committed.

        A committed key gives its stored reply without asking. tenacity owns the attempts inside; when they
        are used up the outcome is ModelFailed.
        """

    async def keep(self, answered: Answered) -> None:
        """Commit the receipt of `answered` alone (a reply that decides nothing, such as one to be repaired)."""

    async def query(self, key: str, query: Query) -> RecordedReading:
        """Run the reserved query `key`, or give what its receipt holds. Bounded retries are inside.

        A key reserved by a dead owner is taken over, moved to a try, or closed after its third dispatch.
        """


# ---- signing -------------------------------------------------------------------------------------------


class Signer(Protocol):
    """The installation key, as far as it signs. Ed25519 is deterministic: the same message, the same signature."""

    @property
    def public_key(self) -> str:
        """Give the public key in hex."""

    def sign(self, message: bytes) -> Signature:
        """Sign `message`; the public key comes with it."""


# ---- deliveries ----------------------------------------------------------------------------------------


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


# ---- intake --------------------------------------------------------------------------------------------


class Intake(Protocol):
    """Where posts are taken in."""

    async def accept(self, receipt_id: str, arrival: Arrival, members: Sequence[Keyed]) -> Accepted:
        """Take one post in, in one transaction. A second call under one receipt id gives the first answer.

        Raises StoreUnavailable; then it may or may not have been taken in.
        """


# ---- the engine ----------------------------------------------------------------------------------------


class Engine(Protocol):
    """What hears the bells of one queue and calls for each. The store's functions ring them, in their own transactions."""

    async def serve(
        self, queue: Literal["investigations", "deliveries"], on_ring: Callable[[str], Awaitable[None]], *, slots: int
    ) -> None:
        """Call `on_ring` with the id of each ring, at most `slots` at once, until cancelled.

        When cancelled it takes no more rings, gives the calls that run a moment, and cancels them: work that
        is to outlast its bell runs in a task of its own. Any other return, and any exception, means that the
        engine broke: serve again.
        """


# ---- claims and leases ---------------------------------------------------------------------------------


class Claimed(Protocol):
    """The right to act on one investigation (its value is `store.lease.Claimed`, which says the fields)."""

    @property
    def fence(self) -> Fence:
        """Give the fence of this claim."""

    @property
    def identity(self) -> Identity:
        """Give the investigation's identity."""

    @property
    def version(self) -> int:
        """Give the aggregate's version; 0 when nothing is recorded yet."""

    @property
    def exhausted(self) -> bool:
        """Say that the attempts are used up: end it `failed` with the evidence so far, and do nothing else."""

    @property
    def started_at(self) -> datetime:
        """Give the moment of the first claim of all, by the database's clock."""

    @property
    def now(self) -> datetime:
        """Give the moment of this claim, by the database's clock."""


class Claims(Protocol):
    """Who may act, decided by the store. Every method may raise StoreUnavailable."""

    async def claim(self, owner_id: str, *, lease: timedelta, take_expired: bool) -> Claimed | None:
        """Take what may run next, whichever id a bell named; None changes nothing.

        `take_expired=False` leaves expired leases to their owners.
        """

    async def release(self, fence: Fence) -> None:
        """Let go without a charge, and ring. Raises FenceLost, NotFound."""

    async def release_unanswered(self, fence: Fence) -> None:
        """Let go because the database did not answer: free at first, without progress charged in the end.

        Raises FenceLost, NotFound.
        """

    async def fail_attempt(self, fence: Fence) -> datetime:
        """End the attempt by a stage error; gives when the next may begin. Raises FenceLost, NotFound."""


class Renewal(StrEnum):
    """What became of one lease in a renewal."""

    RENEWED = "renewed"
    LOCKED = "locked"
    """Somebody holds its row: nothing was changed, it is to be asked for again."""
    LOST = "lost"
    """The fence is another's, or nobody's any more."""


class LeaseLine(Protocol):
    """A connection of the lease thread's own. It blocks, and belongs to one thread, but for `abort`."""

    def renew(self, fences: Sequence[Fence], lease: timedelta) -> Mapping[Fence, Renewal]:
        """Lengthen these leases and give the answer for each; waits for no row.

        Raises StoreUnavailable.
        """

    def moved(self, timeout_s: float) -> frozenset[str]:
        """Wait at most `timeout_s` for investigations whose fence was moved by a write from no owner.

        Gives their ids, as hints: a renewal tells the truth. Raises StoreUnavailable.
        """

    def abort(self) -> None:
        """Break the connection, from another thread: who waits there gets StoreUnavailable. Never raises."""

    def close(self) -> None:
        """Close the connection. Never raises."""


# ---- upkeep --------------------------------------------------------------------------------------------


class Standing(Value):
    """How many investigations of one workspace are running and queued, and how long the oldest has waited."""

    workspace: str
    running: int
    queued: int
    oldest_queued_s: float


class Sweep(Protocol):
    """What time alone changes. Each method does a bounded amount in one statement and gives how many rows.

    Every worker may call each at any time: what another holds is skipped. All may raise StoreUnavailable.
    """

    async def ring_investigations(self, *, take_expired: bool) -> int:
        """Ring for queued ones that have room, and for expired leases."""

    async def set_aside_broken(self, *, take_expired: bool) -> int:
        """End, failed, those that no worker can go on with, so that they keep nothing from running."""

    async def expire_deferred(self) -> int:
        """Cancel deferred ones whose episode ended over an hour ago."""

    async def admit_deferred(self) -> int:
        """Queue deferred ones that are due."""

    async def expire_interrupts(self) -> int:
        """Go on without an answer where nobody answered in time."""

    async def settle_episodes(self) -> int:
        """End quiet episodes, and count silent members as gone."""

    async def ring_deliveries(self) -> int:
        """Ring for targets with something due."""

    async def delete_dead_jobs(self) -> int:
        """Delete the engine's rows whose worker is gone."""

    async def purge_deleted(self) -> int:
        """Take away what is left of deleted investigations."""

    async def silent_watchdogs(self, silence: timedelta) -> Mapping[str, bool]:
        """Say for each intake that ever sent a Watchdog whether none came for `silence`."""
