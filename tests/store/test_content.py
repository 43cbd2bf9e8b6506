"""Bytes by digest, per workspace (checklist 48)."""

import pytest

from inquest.domain.canonical import digest_of
from inquest.errors import InvariantBroken, NotFound
from inquest.store import rules
from tests.store.builders import (
    Either,
    Store,
    contents,
    identity,
    nudge,
    query,
    receipt,
    run_started,
    turn_committed,
    write,
)


async def test_stored_bytes_come_back_in_the_order_asked(either: Either) -> None:
    fence = await either.started()
    kept = contents(b"one", b"\x00\xff binary", b"")
    await either.journal.commit(write(fence, 2, nudge(), contents=kept))

    asked = list(reversed(kept))

    assert list((await either.journal.content(asked)).items()) == [(digest, kept[digest]) for digest in asked]
    assert await either.journal.content([]) == {}


async def test_the_first_missing_digest_is_named(either: Either) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, nudge(), contents=contents(b"here")))
    asked = [digest_of(b"here"), digest_of(b"gone"), digest_of(b"gone too")]

    with pytest.raises(NotFound, match=digest_of(b"gone")):
        await either.journal.content(asked)


async def test_bytes_of_a_refused_write_are_not_kept(either: Either) -> None:
    fence = await either.started()

    with pytest.raises(InvariantBroken):
        await either.journal.commit(write(fence, 2, turn_committed(1, b"gone"), contents=contents(b"here")))

    with pytest.raises(NotFound):
        await either.journal.content([digest_of(b"here")])


async def test_bytes_over_the_cap_are_refused(either: Either, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_CONTENT_BYTES", 4)
    fence = await either.started()

    with pytest.raises(InvariantBroken, match="5 bytes, 4 are allowed"):
        await either.journal.commit(write(fence, 2, nudge(), contents=contents(b"12345")))
    await either.journal.commit(write(fence, 2, nudge(), contents=contents(b"1234")))


async def test_bytes_that_an_event_needs_may_have_been_stored_before(either: Either) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, nudge(), contents=contents(b"reply")))

    assert await either.journal.commit(write(fence, 3, turn_committed(1, b"reply"))) == 4


async def test_every_investigation_refers_to_what_it_needs(store: Store) -> None:
    # Or deleting the investigation that stored it first would take the bytes away from the other.
    fence = await store.started()
    await store.journal.commit(write(fence, 2, nudge(), contents=contents(b"reply", b"{}")))
    await store.opened("inv-2")
    other = (await store.claimed("owner-2")).fence
    await store.journal.commit(write(other, 0, run_started(identity("inv-2")), reservations=(query("seed/1"),)))

    await store.journal.receive(other, receipt(query("seed/1")), {})
    await store.journal.commit(write(other, 1, turn_committed(1, b"reply")))

    found = store.look("select digest from content_ref where investigation_id = 'inv-2'")
    assert {row["digest"] for row in found} == set(contents(b"reply", b"{}"))


async def test_another_workspace_does_not_see_them(store: Store) -> None:
    fence = await store.started()
    await store.journal.commit(write(fence, 2, nudge(), contents=contents(b"ours")))
    rival = Store(store.database.url, store.conninfo, "rival")

    with pytest.raises(NotFound):
        await rival.content.get([digest_of(b"ours")])
    with pytest.raises(NotFound):
        await rival.content.put("inv-1", contents(b"theirs"))
    await rival.database.aclose()


async def test_rendered_bytes_are_stored_beside_the_journal(store: Store) -> None:
    await store.started()

    await store.content.put("inv-1", contents(b"a report"))
    await store.content.put("inv-1", contents(b"a report"))

    assert await store.content.get([digest_of(b"a report")]) == contents(b"a report")
    with pytest.raises(InvariantBroken):
        await store.content.put("inv-1", {digest_of(b"a"): b"b"})
