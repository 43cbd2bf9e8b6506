"""From alerts of two senders to their reports in a folder, a Slack and a GitLab, and on to their resolved revisions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from inquest.destinations.shared.words import VERDICTS
from inquest.entrypoints.cli.exits import Exit
from tests.e2e.servers import ALERT, Inquest, Report, needs_servers
from tests.e2e.store import Store, opened
from tests.e2e.vendors import Thread, revision_of
from tests.e2e.whole_path import WholePath, whole_path
from tests.fakes.faults import Fault, Limited, Luck
from tests.fakes.gitlab_notes import Note
from tests.fakes.slack_blocks import all_text
from tests.waiting import until

pytestmark = [pytest.mark.e2e, needs_servers]

BASELINE_SAMPLES = 15
"""So long is the shop seen healthy before it breaks."""
PATIENCE_S = 180.0
"""Far beyond what is needed: it bounds a failing test, and is no claim about speed."""
SEEN = "count_over_time(checkout_db_pool_connections_in_use[5m])"
SOON = f'count(ALERTS{{alertname="{ALERT}"}})'
MONITOR = "Checkout error rate"
MESSAGES = ("reports", "slack#thread", "slack#report", "notes")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholePath]:
    with whole_path(tmp_path_factory.mktemp("whole")) as running:
        yield running


async def test_alerts_of_two_senders_become_verified_reports_of_their_cause_and_their_ends_revisions(
    whole: WholePath, say: Callable[[str], None]
) -> None:
    running = whole.world
    await until(lambda: (running.prometheus.value(SEEN) or 0) >= BASELINE_SAMPLES, patience_s=PATIENCE_S)
    async with opened(running.inquest) as store:
        before = await store.accounting()
        running.shop.break_it()
        await until(lambda: running.prometheus.value(SOON), patience_s=PATIENCE_S)
        await the_messages_say_where_it_stands(whole)

        reports = {alert: await revision(whole, "report", alert, say) for alert in (ALERT, MONITOR)}
        names_the_cause(reports[ALERT].content)
        looked_at_the_same_service(reports[MONITOR].content)
        verified(running.inquest, reports[ALERT])
        for report in reports.values():
            await is_told(whole, store, report)

        running.shop.repair_it()
        whole.notify(MONITOR, recovered=True)
        for alert, report in reports.items():
            resolved = await revision(whole, "resolved", alert, say)
            follows_from(resolved.content, report.content)
            verified(running.inquest, resolved)
            await is_told(whole, store, resolved)
            await was_told(whole, store, resolved.investigation, ("received", "progress", "report", "resolved"))

        after = await store.accounting()
    assert after.balanced
    counted = {name: getattr(after, name) - getattr(before, name) for name in ("accepted", "opened", "resolved_only")}
    assert counted == {"accepted": 4, "opened": 2, "resolved_only": 2}
    listed_shown_and_replayed(running.inquest, ALERT, reports[ALERT])
    whole.vendors.limits_held()
    whole.watch.stayed_here()


async def the_messages_say_where_it_stands(whole: WholePath) -> None:
    """Let Datadog's alert wait for its evidence, and Alertmanager's for its turn, until both threads say so."""
    whole.gate.close()
    whole.notify(MONITOR)
    await until(lambda: says(whole, MONITOR, "In progress"), patience_s=PATIENCE_S)
    await until(lambda: says(whole, ALERT, "Received"), patience_s=PATIENCE_S)
    whole.gate.open()


def says(whole: WholePath, alert: str, word: str) -> bool:
    """Say whether the root of the thread of `alert` shows `word` now."""
    known = whole.world.investigation(alert)
    thread = None if known is None else whole.vendors.thread(known)
    return thread is not None and word in str(thread.root.said["text"])


async def revision(whole: WholePath, kind: str, alert: str, say: Callable[[str], None]) -> Report:
    """Wait for the newest revision in the folder to be of `kind`, and say how long it took."""
    began = time.monotonic()
    found = await until(lambda: whole.world.newest(kind, alert=alert), patience_s=PATIENCE_S)
    assert found is not None
    say(f"{alert}: {kind} after {time.monotonic() - began:.1f} s more")
    return found


# ---- the report ------------------------------------------------------------------------------------------


def names_the_cause(report: dict[str, Any]) -> None:
    diagnosis = report["diagnosis"]
    found = (diagnosis["verdict"], diagnosis["root_cause_category"])
    assert found == ("cause_found", "resource.connection_pool_exhausted"), json.dumps(diagnosis, indent=1)
    assert diagnosis["affected_object"] == "service/shop/checkout"
    assert diagnosis["validated_claims"]
    assert diagnosis["non_validated_claims"] == []
    assert (diagnosis["degraded"], report["episode_state"]) == ("", "firing")
    judged = {entry["hypothesis"]["category"]: entry["judgement"] for entry in report["ledger"]["entries"]}
    assert [category for category, judgement in judged.items() if judgement == "supported"] == ["resource"]


def looked_at_the_same_service(report: dict[str, Any]) -> None:
    """Check that Datadog's alert was investigated in Prometheus. Its own query is no PromQL: no close look is due."""
    assert report["episode"]["intake"] == "datadog"
    answered = [row["expression"] for row in report["coverage"] if row["status"] == "answered"]
    assert any(row.startswith("sum(rate(checkout_http_requests_total{") for row in answered), answered
    assert report["diagnosis"]["non_validated_claims"] == []


def follows_from(resolved: dict[str, Any], report: dict[str, Any]) -> None:
    """Check that the resolved revision says what has changed since `report`, and nothing else of it."""
    assert (resolved["episode_state"], report["resolved_at"]) == ("resolved", None)
    assert resolved["resolved_at"] is not None
    assert resolved["revision"] > report["revision"]
    for same in ("investigation_id", "diagnosis", "evidence", "coverage", "terminal_digest", "signature"):
        assert resolved[same] == report[same]


def verified(inquest: Inquest, report: Report) -> None:
    said = inquest.run("verify", str(report.folder), "--json")
    assert said.returncode == 0, said.stdout + said.stderr
    assert json.loads(said.stdout)["problems"] == []


def listed_shown_and_replayed(inquest: Inquest, alert: str, report: Report) -> None:
    listed = inquest.run("list", "--json")
    shown = inquest.run("show", report.investigation)
    replayed = inquest.run("replay", report.investigation, "--json")
    (row,) = [row for row in json.loads(listed.stdout)["investigations"] if row["id"] == report.investigation]
    diagnosis = report.content["diagnosis"]
    assert (row["title"], row["status"], row["verdict"]) == (alert, "succeeded", diagnosis["verdict"])
    assert diagnosis["root_cause_category"] in shown.stdout
    assert json.loads(replayed.stdout)["equal"] is True
    found = Exit.ANSWERED if diagnosis["verdict"] == "cause_found" else Exit.OPEN
    assert [said.returncode for said in (listed, shown, replayed)] == [Exit.ANSWERED, found, Exit.ANSWERED]


# ---- what was told of it ---------------------------------------------------------------------------------


async def is_told(whole: WholePath, store: Store, report: Report) -> None:
    """Wait until every message of the investigation shows the revision of `report`, and look at their words."""

    def shown() -> tuple[Thread, Note] | None:
        thread, note = whole.vendors.thread(report.investigation), whole.vendors.note(report.investigation)
        if thread is None or note is None or len(thread.replies) != 1:
            return None
        newest = {revision_of(one[-1]) for one in (thread.root.markers, thread.replies[0].markers, note.markers)}
        return (thread, note) if newest == {report.content["revision"]} else None

    there = await until(shown, patience_s=PATIENCE_S)
    assert there is not None
    thread, note = there
    verdict = VERDICTS[report.content["diagnosis"]["verdict"]].word
    for text in (all_text(thread.root.said), all_text(thread.replies[0].said), note.body):
        assert verdict in text
        assert ("Resolved" in text) is (report.kind == "resolved"), text
    folder = [row.revision for row in await store.told(report.investigation, "reports") if row.state == "sent"]
    written = [one.content["revision"] for one in whole.world.inquest.revisions(report.investigation)]
    assert written == folder


async def was_told(whole: WholePath, store: Store, investigation: str, kinds: tuple[str, ...]) -> None:
    """Check that each message was begun once and edited, in order, with exactly what the database says it was sent."""
    thread, note = whole.vendors.thread(investigation), whole.vendors.note(investigation)
    assert thread is not None
    assert note is not None
    (reply,) = thread.replies
    markers = {"slack#thread": thread.root.markers, "slack#report": reply.markers, "notes": note.markers}
    for message in MESSAGES:
        rows = await store.told(investigation, message)
        assert tuple(row.kind for row in rows) == kinds
        assert {row.state for row in rows} <= {"sent", "superseded"}
        if message in markers:
            sent = [row.revision for row in rows if row.state == "sent"]
            assert [revision_of(marker) for marker in markers[message]] == sent
            assert sent[-1] == len(kinds)
    assert len(reply.shown) == len(kinds[2:]), "posted with the report, edited for what came after"


# ---- sends that go wrong ---------------------------------------------------------------------------------


LOST, KILLED, BROKEN = "The answer to its report is lost", "Its sender is killed", "Slack breaks"


async def test_whatever_befalls_a_send_there_is_one_root_one_reply_and_one_note(
    whole: WholePath, say: Callable[[str], None]
) -> None:
    slack, began = whole.vendors.slack.fortune, time.monotonic()
    whole.vendors.gitlab.fortune.then("POST", Limited(2), Fault.STORE_THEN_CLOSE, Fault.ERROR)
    await befalls(whole, LOST, "chat.postMessage#report", Fault.STORE_THEN_CLOSE)
    await befalls(whole, KILLED, "chat.postMessage#thread", Limited(2), Fault.STORE_THEN_HANG)
    whole.kill_the_worker()
    await befalls(whole, BROKEN, "chat.postMessage#thread", Fault.ERROR)

    async with opened(whole.world.inquest) as store:
        for alert in (LOST, KILLED, BROKEN):
            investigation = await until(partial(whole.world.investigation, alert), patience_s=PATIENCE_S)
            assert investigation is not None
            await until(partial(is_at_rest, store, investigation), patience_s=PATIENCE_S)
            await was_told(whole, store, investigation, ("received", "progress", "report"))
    say(f"three threads and three notes, each of which met something: {time.monotonic() - began:.1f} s")
    assert not any([*slack.queues.values(), *whole.vendors.gitlab.fortune.queues.values()])
    whole.vendors.limits_held()
    whole.watch.stayed_here()


async def befalls(whole: WholePath, alert: str, send: str, *lucks: Luck) -> None:
    """Let `alert` fire, and wait until its `send` has met all of `lucks`."""
    fortune = whole.vendors.slack.fortune
    fortune.then(send, *lucks)
    whole.notify(alert)
    await until(lambda: not fortune.queues[send], patience_s=PATIENCE_S)


async def is_at_rest(store: Store, investigation: str) -> bool:
    """Say whether there is a report, and nothing of it is on its way to anywhere."""
    rows = [row for message in MESSAGES for row in await store.told(investigation, message)]
    return {"report"} <= {row.kind for row in rows} and {row.state for row in rows} <= {"sent", "superseded"}
