"""Stored events, and the check that nobody changed them: pure, for the database and for exported bundles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from inquest.domain.event import GENESIS, Event, chain_digest
from inquest.domain.value import Digest, Instant, Value
from inquest.errors import ReplayMismatch
from inquest.store.upcast import read_body


class StoredEvent(Value):
    """A row of `event`. `body` is the canonical bytes that were digested, of `schema_version`."""

    seq: int
    batch_id: str
    generation: int
    attempt: int
    kind: str
    schema_version: int
    body: bytes
    body_digest: Digest
    prev_digest: Digest
    committed_at: Instant


def read_chain(stored: Iterable[StoredEvent], version: int) -> tuple[Event, ...]:
    """Check that `stored` is the whole chain up to `version`, and parse it.

    Raises ReplayMismatch naming the first broken link.
    """
    events = tuple(_linked(stored, 0, GENESIS))
    if len(events) != version:
        raise ReplayMismatch(f"event {len(events) + 1} is missing: the investigation is at version {version}")
    return events


def read_part(stored: Iterable[StoredEvent], after: int) -> tuple[Event, ...]:
    """Check that `stored` is chained, from the event after seq `after` on, and parse it.

    What it is chained to is not looked at. Raises ReplayMismatch naming the first broken link.
    """
    return tuple(_linked(stored, after, GENESIS if after == 0 else None))


def _linked(stored: Iterable[StoredEvent], after: int, prev: str | None) -> Iterator[Event]:
    for seq, row in enumerate(stored, start=after + 1):
        if row.seq != seq:
            raise ReplayMismatch(f"event {seq} is missing: the next one is {row.seq}")
        if prev is not None and row.prev_digest != prev:
            raise ReplayMismatch(f"event {seq} is not chained to the one before it")
        if chain_digest(row.prev_digest, row.body) != row.body_digest:
            raise ReplayMismatch(f"event {seq} does not have its digest")
        yield _parsed(row)
        prev = row.body_digest


def _parsed(row: StoredEvent) -> Event:
    try:
        body = read_body(row.kind, row.schema_version, row.body)
    except ReplayMismatch as error:
        raise ReplayMismatch(f"event {row.seq}: {error}") from error
    return Event(
        seq=row.seq,
        batch_id=row.batch_id,
        generation=row.generation,
        attempt=row.attempt,
        schema_version=row.schema_version,
        body=body,
        body_digest=row.body_digest,
        prev_digest=row.prev_digest,
        committed_at=row.committed_at,
    )
