"""From Datadog's post to a report and its resolved revision: real HTTP, a real worker, Postgres, recorded sources."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from inquest.bootstrap.workspace import Workspaces
from inquest.domain.event import PlanCommitted, StageCommitted
from inquest.domain.investigation import FactsExtracted
from inquest.domain.value import epoch_ms
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.server import RecordedBackend, start
from inquest.store.journal import PostgresJournal
from tests.bootstrap.files import OPEN_INTAKE, build, file_of
from tests.bootstrap.test_processes import working
from tests.entrypoints.http.service import Service, serving
from tests.sources.datadog.notifications import RECOVERED, RENOTIFY, TRIGGERED, filled
from tests.store.door import Door
from tests.waiting import until

TOKEN = "datadog-CANARY-7f3a"
HEADER = "X-Inquest-Token"
CHECKOUT = {
    "ALERT_SCOPE": "kube_namespace:shop,service:checkout",
    "TAGS": "env:prod,kube_cluster_name:shop-eu-1,kube_namespace:shop,monitor,service:checkout,team:orders",
}
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def backend() -> Iterator[RecordedBackend]:
    with start(open_scenario("checkout_pool"), now=datetime.now(UTC)) as running:
        yield running


def workspaces(backend: RecordedBackend, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Workspaces:
    """Build one workspace with both intakes, all recorded sources, and a folder for reports."""
    monkeypatch.setenv("DATADOG_TOKEN", TOKEN)
    monkeypatch.setenv("GITLAB_TOKEN", backend.gitlab_token)
    projects = sorted(str(one.project["path_with_namespace"]) for one in backend.scenario.changes.projects)
    token = {"profile": "gitlab-read", "header": "PRIVATE-TOKEN", "token_env": "GITLAB_TOKEN"}
    text = file_of(
        intakes={
            "datadog": {"type": "datadog", "auth": {"header": HEADER, "token_env": "DATADOG_TOKEN"}},
            "am": OPEN_INTAKE,
        },
        integrations={
            "prometheus": {"type": "prometheus", "url": backend.prometheus_url},
            "loki": {"type": "loki", "url": backend.loki_url},
            "gitlab": {"type": "gitlab", "url": backend.gitlab_url, "projects": projects, "credential": token},
        },
        destinations={"reports": {"type": "folder", "path": "reports"}},
    )
    return build(text, folder)


@dataclass(frozen=True)
class House:
    service: Service
    rows: Door
    backend: RecordedBackend
    folder: Path

    async def notify(self, body: bytes, token: str = TOKEN) -> httpx2.Response:
        headers = {HEADER: token, "Content-Type": "application/json"}
        return await self.service.client.post("/v1/alerts/datadog", content=body, headers=headers)

    async def taken(self, values: dict[str, str], *, at: timedelta = timedelta()) -> dict[str, Any]:
        """Post a notification dated `at` after the recorded alert's start, and give what came of it."""
        date = {"DATE": str(epoch_ms(self.backend.scenario.anchor + at))}
        answer = await self.notify(filled({**values, **CHECKOUT, **date}))
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def report(self, investigation: str, kind: str) -> dict[str, Any] | None:
        """Give the newest report of an investigation when it is of `kind`."""
        latest = self.folder / "reports" / investigation / "latest"
        if not latest.exists():
            return None
        told = json.loads((latest.parent / latest.read_text().strip() / "report.json").read_bytes())
        return told["report"] if told["report"]["kind"] == kind else None

    def alert(self) -> dict[str, Any]:
        return self.rows.row(
            "select fingerprint, status, occurrences, starts_at, ends_at, last_seen from alert where intake = 'datadog'"
        )


@pytest.fixture
async def house(
    rows: Door, backend: RecordedBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    async with serving(rows.database, workspaces(backend, tmp_path, monkeypatch)) as service:
        yield House(service, rows, backend, tmp_path)


async def reported(house: House, investigation: str, kind: str) -> dict[str, Any]:
    await until(lambda: house.report(investigation, kind) is not None, patience_s=PATIENCE_S)
    found = house.report(investigation, kind)
    assert found is not None
    return found


async def test_a_notification_becomes_a_report_of_the_cause_and_its_recovery_a_revision(house: House) -> None:
    async with working(house.service.process):
        opened = await house.taken(TRIGGERED)
        (one,) = opened["investigations"]
        report = await reported(house, one["investigation_id"], "report")

        assert report["diagnosis"]["verdict"] == "cause_found", json.dumps(report["diagnosis"], indent=1)
        assert house.backend.scenario.header.truth.accepts(report["diagnosis"]["root_cause_category"])
        assert report["diagnosis"]["non_validated_claims"] == []
        assert (report["episode_state"], report["severity"], report["service"]) == ("firing", "critical", "checkout")
        await the_facts_are_those_of_the_notification(house, one["investigation_id"])

        over = await house.taken(RECOVERED, at=timedelta(minutes=8))
        resolved = await reported(house, one["investigation_id"], "resolved")

    assert (opened["counts"], over["counts"]) == ({"opened": 1}, {"resolved_only": 1})
    assert resolved["episode_state"] == "resolved"
    assert resolved["diagnosis"] == report["diagnosis"]
    assert house.rows.accounts("default") == {"accepted": 2, "opened": 1, "resolved_only": 1}


async def the_facts_are_those_of_the_notification(house: House, investigation: str) -> None:
    """Check the facts, and that nothing asks for the monitor's query as if it were PromQL."""
    journal = PostgresJournal(house.rows.database, "default")
    bodies = [event.body for event in (await journal.load(investigation)).events]
    updates = [body.update for body in bodies if isinstance(body, StageCommitted)]
    (facts,) = [update.facts for update in updates if isinstance(update, FactsExtracted)]
    (plan,) = [body.plan for body in bodies if isinstance(body, PlanCommitted)]

    assert (facts.alert_source, facts.service, facts.namespace) == ("datadog", "checkout", "shop")
    assert (facts.expression, facts.links) == ("", (TRIGGERED["LINK"],))
    assert facts.error_message.splitlines() == [
        f"status: {TRIGGERED['ALERT_STATUS']}", f"query: {TRIGGERED['ALERT_QUERY']}",
        f"metric: {TRIGGERED['ALERT_METRIC']}", *TRIGGERED["TEXT_ONLY_MSG"].splitlines(),
    ]  # fmt: skip
    assert [seed.query.tool for seed in plan.seeds] == [
        "prometheus_alerts", "gitlab_deployments", "gitlab_merge_requests", "loki_query", "loki_query",
    ]  # fmt: skip


async def test_a_renotification_counts_as_an_occurrence_and_so_does_the_same_body_again(house: House) -> None:
    opened = await house.taken(TRIGGERED)
    first = house.alert()
    again = await house.taken(RENOTIFY, at=timedelta(hours=1))
    repeated = await house.taken(RENOTIFY, at=timedelta(hours=1))

    last = house.alert()
    assert [one["counts"] for one in (opened, again, repeated)] == [{"opened": 1}, {"duplicate": 1}, {"duplicate": 1}]
    assert again["investigations"] == repeated["investigations"] == opened["investigations"]
    assert (first["occurrences"], last["occurrences"]) == (1, 3)
    assert last["last_seen"] > first["last_seen"]
    assert (last["fingerprint"], last["starts_at"]) == (TRIGGERED["ALERT_CYCLE_KEY"], house.backend.scenario.anchor)
    # No delivery id: a receipt is known by its body, whose bytes are kept once.
    assert house.rows.column("select distinct keyed_by from intake_receipt") == ["body"]
    assert len(house.rows.column("select digest from receipt_body")) == 2


async def test_a_recovery_quiets_the_episode_and_plans_its_resolved_revision(house: House) -> None:
    await house.taken(TRIGGERED)
    await house.taken(RECOVERED, at=timedelta(minutes=8))

    row = house.alert()
    assert (row["status"], row["ends_at"]) == ("resolved", house.backend.scenario.anchor + timedelta(minutes=8))
    assert house.rows.row("select quiet_since is not null as quiet, ended_at from episode") == {
        "quiet": True, "ended_at": None,
    }  # fmt: skip
    assert house.rows.column("select kind from delivery order by revision")[-1] == "resolved"


async def test_the_next_cycle_of_a_monitor_is_another_alert_of_the_same_episode_while_it_lives(house: House) -> None:
    opened = await house.taken(TRIGGERED)
    await house.taken(RECOVERED, at=timedelta(minutes=8))
    again = await house.taken({**TRIGGERED, "ALERT_CYCLE_KEY": "7716548234099990000"}, at=timedelta(minutes=10))

    assert again["counts"] == {"joined": 1}
    assert [one["episode_id"] for one in again["investigations"]] == [opened["investigations"][0]["episode_id"]]


async def test_an_alertmanager_beside_it_is_another_group(house: House) -> None:
    datadog = await house.taken(TRIGGERED)
    answer = await house.service.client.post("/v1/alerts/am", content=house.backend.alert)

    assert (answer.status_code, answer.json()["counts"]) == (202, {"opened": 1})
    (one,), (other,) = datadog["investigations"], answer.json()["investigations"]
    assert one["episode_id"] != other["episode_id"]
    assert sorted(house.rows.column("select source from episode")) == ["alertmanager", "datadog"]


# ---- the door


@pytest.mark.parametrize("token", ["", "datadog-CANARY-7f3b", f"Bearer {TOKEN}", "$INQUEST_TOKEN"])
async def test_a_wrong_secret_is_401_and_leaves_nothing(house: House, token: str) -> None:
    answer = await house.notify(filled(TRIGGERED), token)

    assert answer.status_code == 401
    assert TOKEN not in answer.text
    assert house.rows.rows("select 1 from intake_receipt") == []


async def test_a_secret_in_another_header_or_the_address_is_401(house: House) -> None:
    client, body = house.service.client, filled(TRIGGERED)
    for headers, query in (
        ({"Authorization": f"Bearer {TOKEN}"}, ""),
        ({"X-Token": TOKEN}, ""),
        ({}, f"?{HEADER}={TOKEN}"),
    ):
        answer = await client.post(f"/v1/alerts/datadog{query}", content=body, headers=headers)
        assert answer.status_code == 401
    assert house.rows.rows("select 1 from intake_receipt") == []


async def test_bl_017_text_that_breaks_the_payload_is_quarantined_with_its_byte_and_asks_no_model(house: House) -> None:
    body = filled({**TRIGGERED, "TEXT_ONLY_MSG": 'disk "full" on db1\nline 2'}, escaped=False)

    answer = await house.notify(body)

    assert (answer.status_code, answer.json()["state"]) == (202, "quarantined")
    receipt = house.rows.row("select state, reason, body_digest from intake_receipt")
    assert receipt["reason"] == f"invalid_json at byte {body.index(b'full')}"
    kept = house.rows.column("select body from receipt_body where digest = %s", receipt["body_digest"])
    assert [bytes(one) for one in kept] == [body]
    assert house.rows.rows("select 1 from investigation") == []
    assert house.service.metric("inquest_intake_members_total", intake="datadog", word="quarantined") == 1


async def test_a_form_is_quarantined_with_the_way_out(house: House) -> None:
    answer = await house.notify(b"payload=%7B%22alert_id%22%3A%221%22%7D")

    assert (answer.status_code, answer.json()["state"]) == (202, "quarantined")
    (reason,) = house.rows.column("select reason from intake_receipt")
    assert reason == "form_encoded: switch 'Encode as form' off in the webhook, only JSON is read"


async def test_bl_018_bodies_whose_variables_are_unset_are_read_and_stay_apart(house: House) -> None:
    rows = (Path(__file__).parents[2] / "data/bugs/intake.jsonl").read_text("utf-8").splitlines()
    case = next(row for row in map(json.loads, rows) if row["id"] == "BL-018")
    fields = json.loads(case["input"])

    answers = [await house.notify(json.dumps({**fields, "body": text}).encode()) for text in ("disk full", "cpu high")]

    assert [(one.status_code, one.json()["counts"]) for one in answers] == [(202, {"opened": 1}), (202, {"joined": 1})]
    alerts = house.rows.rows("select fingerprint, starts_at, labels from alert")
    assert len({one["fingerprint"] for one in alerts}) == 2
    assert {one["starts_at"] for one in alerts} == {datetime(2026, 1, 1, tzinfo=UTC)}
    for one in alerts:
        assert one["labels"] == {"env": "prod", "service": "checkout"}
