"""The chain of a journal (checklist 43, 44): a reader names the first broken link."""

from typing import LiteralString

import pytest

from inquest.domain.event import GENESIS, GenerationAdvanced, chain_digest
from inquest.errors import ReplayMismatch
from inquest.store.chain import StoredEvent, read_chain
from tests.store.builders import NOON, Either, Store, nudge, write


async def test_every_event_is_chained_to_the_one_before_it(either: Either) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, nudge(1), nudge(2)))
    await either.taken_over("owner-2")

    prev = GENESIS
    for event in (await either.journal.load("inv-1")).events:
        assert event.prev_digest == prev
        assert event.body_digest == chain_digest(prev, event.body.canonical())
        prev = event.body_digest


async def test_a_chain_digest_is_stored_over_the_canonical_bytes(store: Store) -> None:
    fence = await store.started()
    await store.journal.commit(write(fence, 2, nudge()))

    for row in store.look("select body, prev_digest, body_digest from event"):
        assert row["body_digest"] == chain_digest(row["prev_digest"], row["body"])


@pytest.mark.parametrize(
    "owner", ["worker-1", 'a "quoted" \\ name', "tab\t, newline\n, bell\x07", "Köln/東京/🚨", "\x7f\u2028"]
)
async def test_the_database_writes_the_claims_event_as_python_does(store: Store, owner: str) -> None:
    await store.started()

    fence = await store.taken_over(owner)

    [row] = store.look("select body from event where kind = 'generation_advanced'")
    said = GenerationAdvanced(owner_id=owner, generation=fence.generation, attempt=fence.attempt, why="lease_expired")
    assert row["body"] == said.canonical()


CHANGES: dict[str, tuple[LiteralString, str]] = {
    "a body": ("update event set body = body || ' ' where seq = 3", "event 3 does not have its digest"),
    "a body and its digest": (
        "update event set body = body || ' ', body_digest = chain_digest(prev_digest, body || ' ') where seq = 3",
        "event 4 is not chained",
    ),
    "a removed event": ("delete from event where seq = 3", "event 3 is missing"),
    "a removed last event": ("delete from event where seq = 5", "event 5 is missing"),
    "an event of another kind": ("update event set kind = 'run_failed' where seq = 3", "event 3: the body is loop_steered"),
    "an unknown schema version": ("update event set schema_version = 9 where seq = 3", "event 3: schema version 9"),
    "another version": ("update investigation set version = 7", "event 6 is missing"),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
async def test_a_reader_names_the_first_broken_link(store: Store, what: str) -> None:
    fence = await store.started()
    await store.journal.commit(write(fence, 2, nudge(1), nudge(2), nudge(3)))
    change, says = CHANGES[what]
    with store.connection() as connection:  # an editor of the database, past every trigger
        connection.execute("set session_replication_role = replica")
        connection.execute(change)

    with pytest.raises(ReplayMismatch, match=says):
        await store.journal.load("inv-1")


def test_a_body_without_its_shape_is_refused() -> None:
    raw = b'{"kind":"run_failed"}'
    row = StoredEvent(
        seq=1, batch_id="batch/1", generation=1, attempt=1, kind="run_failed", schema_version=1, body=raw,
        body_digest=chain_digest(GENESIS, raw), prev_digest=GENESIS, committed_at=NOON,
    )  # fmt: skip

    with pytest.raises(ReplayMismatch, match="event 1: the body is no run_failed of schema version 1"):
        read_chain([row], 1)
