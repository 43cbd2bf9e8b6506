"""A journal and its contents rebuild what the investigation came to: byte for byte, anywhere, or a named reason."""

from __future__ import annotations

import json

import pytest

from inquest.domain.budget import Spend
from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.domain.event import RunSucceeded, StageCommitted
from inquest.domain.investigation import Delivered, Diagnosed, ReportSection
from inquest.errors import ReplayMismatch
from inquest.models.scripted import in_order
from inquest.ports import Chronicle
from inquest.runtime.replay import contents_wanted, projection, rebuild, replay
from tests.loop_host import Host, call, calls, judged, reply, tool

LINES = [
    calls(call("metrics_query", expression="up"), call("metrics_query", expression="up")),
    calls(*judged("h1"), call("read_evidence", id="E1")),
    reply("It broke."),
]


async def ended(**wrong: str) -> tuple[Chronicle, dict[str, bytes]]:
    """Run to a terminal event; `wrong` replaces fields of it."""
    host = Host([tool("metrics_query")], seeds=("errors",))
    await host.gather(in_order(LINES))
    fence = await host.claim()
    acts = await host.acts(fence)
    diagnosis = Diagnosis(verdict=Verdict.INCONCLUSIVE, root_cause="Not known.")
    await acts.append(StageCommitted(update=Diagnosed(diagnosis=diagnosis)))
    chronicle = acts.chronicle
    rebuilt = rebuild(chronicle, await host.memory.content(contents_wanted(chronicle)))
    digest = projection(rebuilt, chronicle.events).canonical_digest()
    report = b"{}"
    terminal = RunSucceeded(stop_reason="concluded", projection_digest=digest, signature=None, spend=rebuilt.spend).but(
        **wrong
    )
    delivered = StageCommitted(update=Delivered(report=ReportSection(report_digest=digest_of(report))))
    await acts.append(delivered, terminal, contents={digest_of(report): report})
    chronicle = await host.chronicle()
    return chronicle, dict(await host.memory.content(contents_wanted(chronicle)))


async def test_replay_rebuilds_what_the_terminal_event_holds_from_events_and_contents_alone() -> None:
    chronicle, contents = await ended()
    bundle = json.dumps([chronicle.model_dump_json(), {digest: raw.decode() for digest, raw in contents.items()}])

    exported, stored = json.loads(bundle)
    found = replay(Chronicle.parse(exported), {digest: text.encode() for digest, text in stored.items()})

    assert isinstance(chronicle.events[-1].body, RunSucceeded)
    assert found.canonical_digest() == chronicle.events[-1].body.projection_digest
    assert (found.stop_reason, [entry.name for entry in found.evidence]) == ("concluded", ["E1", "E2"])


async def test_a_missing_content_is_named_and_nothing_is_made_up() -> None:
    chronicle, contents = await ended()

    for digest in contents:
        with pytest.raises(ReplayMismatch, match=f"content {digest} is missing: it holds the answer of"):
            replay(chronicle, {other: raw for other, raw in contents.items() if other != digest})


async def test_a_content_that_was_changed_is_named() -> None:
    chronicle, contents = await ended()

    for digest, raw in contents.items():
        with pytest.raises(ReplayMismatch, match=f"content {digest} does not have this digest"):
            replay(chronicle, {**contents, digest: raw + b" "})


async def test_a_terminal_digest_that_is_not_the_projections_is_a_mismatch() -> None:
    chronicle, contents = await ended(projection_digest="sha256:" + "0" * 64)

    with pytest.raises(ReplayMismatch, match="the terminal event says sha256:000"):
        replay(chronicle, contents)


@pytest.mark.parametrize("seq", [1, 4, 9])
async def test_the_first_broken_link_of_the_chain_is_named(seq: int) -> None:
    chronicle, contents = await ended()
    events = list(chronicle.events)
    other = events[seq - 1].body.model_dump(mode="json")
    broken = events[seq - 1].but(body_digest=digest_of(canonical_json(other)))
    removed = events[: seq - 1] + events[seq:]

    with pytest.raises(ReplayMismatch, match=f"event {seq} does not have its digest"):
        replay(chronicle.but(events=(*events[: seq - 1], broken, *events[seq:])), contents)
    with pytest.raises(ReplayMismatch, match=f"event {seq} is missing"):
        replay(chronicle.but(events=tuple(removed)), contents)


async def test_a_journal_without_a_beginning_is_refused() -> None:
    chronicle, contents = await ended()

    with pytest.raises(ReplayMismatch, match="does not begin with run_started"):
        replay(chronicle.but(events=(), version=0), contents)


async def test_an_investigation_that_goes_on_is_rebuilt_too() -> None:
    host = Host([tool("metrics_query")], seeds=("errors",))
    await host.start()

    rebuilt = await host.rebuilt()

    assert rebuilt.loop is not None
    assert (rebuilt.loop.open_batch, rebuilt.terminal, rebuilt.spend) == ("seed", None, Spend())


async def test_the_projection_does_not_say_who_did_the_work_or_when() -> None:
    first, _ = await ended()
    digests = []
    for owners in (1, 3):
        host = Host([tool("metrics_query")], seeds=("errors",))
        fence = await host.start()
        for _ in range(owners - 1):
            fence = await host.claim()
        await host.gather(in_order(LINES), fence)
        digests.append((await host.projected()).but(spend=Spend()).canonical_digest())

    assert digests[0] == digests[1]
    assert first.version > 0
