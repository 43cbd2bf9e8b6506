"""From a rising error ratio to a report that names the cause, and on to its resolved revision; all servers real."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.servers import ALERT, Inquest, Report, needs_servers
from tests.e2e.store import opened
from tests.e2e.world import World, world
from tests.waiting import until

pytestmark = [pytest.mark.e2e, needs_servers]

BASELINE_SAMPLES = 15
"""So long is the shop seen healthy before it breaks."""
PATIENCE_S = 60.0
SEEN = "count_over_time(checkout_db_pool_connections_in_use[5m])"


async def test_an_alert_becomes_a_verified_report_of_its_cause_and_its_end_a_revision(
    tmp_path: Path, say: Callable[[str], None]
) -> None:
    with world(tmp_path) as running:
        await until(lambda: (running.prometheus.value(SEEN) or 0) >= BASELINE_SAMPLES, patience_s=PATIENCE_S)

        running.shop.break_it()
        report = await revision(running, "report", "broken to reported", say)
        names_the_cause(report.content)
        verified(running.inquest, report)

        running.shop.repair_it()
        resolved = await revision(running, "resolved", "repaired to the resolved revision", say)
        follows_from(resolved.content, report.content)
        verified(running.inquest, resolved)
        investigation = report.content["investigation_id"]
        assert [one.kind for one in running.inquest.revisions(investigation)][-2:] == ["report", "resolved"]

        async with opened(running.inquest) as store:
            counts = await store.accounting()
        assert counts.balanced
        assert (counts.accepted, counts.opened, counts.resolved_only) == (2, 1, 1)
        listed_shown_and_replayed(running.inquest, investigation)


async def revision(running: World, kind: str, measured: str, say: Callable[[str], None]) -> Report:
    """Wait for the newest revision to be of `kind`, and say how long it took."""
    began = time.monotonic()
    await until(lambda: running.newest(kind) is not None, patience_s=PATIENCE_S)
    say(f"{measured}: {time.monotonic() - began:.1f} s")
    found = running.newest(kind)
    assert found is not None
    return found


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


def listed_shown_and_replayed(inquest: Inquest, investigation: str) -> None:
    listed = inquest.run("list", "--json")
    shown = inquest.run("show", investigation)
    replayed = inquest.run("replay", investigation, "--json")
    for said in (listed, shown, replayed):
        assert said.returncode == 0, said.stdout + said.stderr
    (row,) = json.loads(listed.stdout)
    assert (row["id"], row["title"]) == (investigation, ALERT)
    assert (row["status"], row["verdict"]) == ("succeeded", "cause_found")
    assert "resource.connection_pool_exhausted" in shown.stdout
    assert json.loads(replayed.stdout)["equal"] is True
