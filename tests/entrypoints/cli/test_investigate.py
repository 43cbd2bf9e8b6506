"""investigate: an alert from a file or a pipe to its report, in this process, and what it refuses to take."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from inquest.entrypoints.cli import in_process
from inquest.entrypoints.cli import investigate as module
from inquest.entrypoints.cli.exits import Exit
from inquest.errors import ConfigurationError
from inquest.scenarios.server import RecordedBackend
from tests.entrypoints.cli.running import Cli
from tests.postgres import NewDatabase

STAGES = ["started", "sources", "facts", "plan", "evidence", "gathered", "diagnosis", "report", "ended"]


def post(*alerts: dict[str, Any], **more: object) -> str:
    """Write a post of Alertmanager's."""
    return json.dumps(
        {
            "version": "4", "status": "firing", "receiver": "inquest", "groupKey": "{}", "truncatedAlerts": 0,
            "groupLabels": {}, "commonLabels": {}, "commonAnnotations": {}, "externalURL": "http://am", **more,
            "alerts": list(alerts),
        }
    )  # fmt: skip


def alert(name: str, status: str = "firing") -> dict[str, Any]:
    return {
        "status": status, "labels": {"alertname": name, "severity": "critical", "service": "checkout"},
        "annotations": {}, "startsAt": "2026-03-01T10:00:00Z", "generatorURL": "",
        "endsAt": "0001-01-01T00:00:00Z" if status == "firing" else "2026-03-01T10:05:00Z", "fingerprint": "f" * 16,
    }  # fmt: skip


# ---- to the end


def test_an_alert_becomes_a_report_that_names_the_cause_and_is_delivered(on_call: Cli) -> None:
    ran = on_call.run("investigate", "alert.json")

    assert ran.code == Exit.ANSWERED, ran.err
    assert "**Cause found**" in ran.out
    assert "resource.connection_pool_exhausted" in ran.out
    delivered = ran.out.splitlines()[-1].removeprefix("reports: sent ")
    assert (on_call.folder / "reports" / delivered / "report.md").is_file()
    assert ran.err == ""


def test_with_json_there_is_one_object_with_where_the_report_went(after_it: Cli) -> None:
    ran = after_it.run("investigate", "alert.json", "--json")

    found = ran.json
    assert (ran.code, ran.err) == (Exit.ANSWERED, "")
    assert (found["status"], found["verdict"], found["degraded"]) == ("succeeded", "cause_found", False)
    reference = found["delivered"]["reports"]["reference"]
    assert found["delivered"] == {"reports": {"state": "sent", "reference": reference}}
    assert (after_it.folder / "reports" / reference / "report.md").is_file()


def test_followed_it_prints_a_line_a_stage(after_it: Cli) -> None:
    ran = after_it.run("investigate", "alert.json", "--follow")

    assert ran.words[:3] == ["starting", "database", "accepted"]
    assert [word for word in dict.fromkeys(ran.words) if word in STAGES] == STAGES
    assert ran.code == Exit.ANSWERED


def test_the_first_line_is_there_before_anything_is_started(after_it: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "load_workspaces", never)
    for options, stream in (((), "out"), (("--json",), "err")):
        ran = after_it.run("investigate", "alert.json", "--follow", *options)

        assert getattr(ran, stream).splitlines()[0].endswith("bytes of alert.json")
        assert (ran.code, ran.err.splitlines()[-1]) == (Exit.INTERRUPTED, "stopped")


def test_followed_as_json_every_line_of_stdout_is_json_and_the_last_is_the_result(after_it: Cli) -> None:
    ran = after_it.run("investigate", "alert.json", "--follow", "--json")

    *events, result = ran.lines
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [events[0]["body"]["kind"], events[-1]["body"]["kind"]] == ["run_started", "run_succeeded"]
    assert result["verdict"] == "cause_found"
    assert [line.split()[1] for line in ran.err.splitlines()] == ["starting", "database", "accepted"]


def test_an_alert_may_come_through_a_pipe(
    after_it: Cli, backend: RecordedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(backend.alert)))

    assert after_it.run("investigate", "-", "--json").code == Exit.ANSWERED


def test_the_same_alert_again_is_the_same_investigation(after_it: Cli) -> None:
    first = after_it.id

    assert f"1 duplicate: investigation {first}" in after_it.run("investigate", "alert.json", "--follow").out
    assert [one["id"] for one in after_it.run("list", "--json").json["investigations"]] == [first]


def test_an_embedded_database_is_started_for_it_and_stopped_after_it(cli: Cli, backend: RecordedBackend) -> None:
    cli.configure(backend.prometheus_url)
    (cli.folder / "alert.json").write_bytes(backend.alert)

    ran = cli.run("investigate", "alert.json", "--json")

    assert (ran.code, ran.err) == (Exit.ANSWERED, "")
    assert list((cli.folder / "home").rglob("postmaster.pid")) == []
    assert cli.id == ran.json["id"]


def test_noise_ends_at_once_and_well(on_call: Cli) -> None:
    on_call.write("noise.json", post(alert("InquestTest")))

    ran = on_call.run("investigate", "noise.json")

    assert ran.code == Exit.ANSWERED
    assert "ended as noise, without a report" in ran.out


def test_a_source_that_does_not_answer_leaves_it_inconclusive_and_a_full_disk_costs_no_verdict(
    on_call: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_process, "DELIVERY_PATIENCE_S", 0.5)
    on_call.configure("http://127.0.0.1:9")
    on_call.write("reports", "a file, where the folder should be")

    ran = on_call.run("investigate", "alert.json")

    assert ran.code == Exit.OPEN
    assert ran.out.splitlines()[-1] in {"reports: planned", "reports: failed"}


def test_what_is_wrong_with_the_worker_is_said_before_the_alert_is_taken_in(
    on_call: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_: object) -> None:
        raise ConfigurationError("model.price: nobody knows it")

    monkeypatch.setattr(in_process, "build_worker", refuses)

    ran = on_call.run("investigate", "alert.json")

    assert (ran.code, ran.err) == (Exit.USAGE, "model.price: nobody knows it\n")
    assert on_call.run("list", "--json").json["investigations"] == []


# ---- what is not taken


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("", "body.json: not understood as a post of alertmanager: "),
        ("not JSON", "body.json: not understood as a post of alertmanager: "),
        ('{"hello": "world"}', "body.json: not understood as a post of alertmanager: "),
        ("[" * 100_000, "body.json: not understood as a post of alertmanager: "),
        (post(), "body.json: not understood as a post of alertmanager: no_alerts"),
        (post(alert("Watchdog")), "body.json: opens no investigation: 1 heartbeat"),
        (post(alert("High", "resolved")), "body.json: opens no investigation: 1 resolved_only"),
    ],
    ids=["empty", "no JSON", "another JSON", "too deep", "no alert", "a heartbeat", "resolved"],
)
def test_a_body_that_opens_nothing_says_why(after_it: Cli, body: str, told: str) -> None:
    after_it.write("body.json", body)

    ran = after_it.run("investigate", "body.json")

    assert ran.code == Exit.USAGE
    assert ran.err.startswith(told)
    assert len(ran.err.splitlines()) == 1
    assert ran.out == ""


def test_what_is_not_understood_starts_nothing(cli: Cli) -> None:
    cli.configure("http://127.0.0.1:9")
    cli.write("body.json", "not JSON")

    assert cli.run("investigate", "body.json").code == Exit.USAGE
    assert not (cli.folder / "home" / "postgres").exists()


def test_a_body_over_the_cap_is_refused_by_name(cli: Cli) -> None:
    (cli.folder / "large.json").write_bytes(b" " * (16 * 1024 * 1024 + 1))

    ran = cli.run("investigate", "large.json")

    assert (ran.code, ran.err) == (Exit.USAGE, "large.json: larger than 16777216 bytes\n")


def test_among_several_intakes_one_is_named(after_it: Cli) -> None:
    open_intake = {"type": "alertmanager", "insecure_without_auth": True}
    after_it.configure("http://127.0.0.1:9", intakes={"one": open_intake, "am": open_intake})

    unnamed = after_it.run("investigate", "alert.json")
    unknown = after_it.run("investigate", "alert.json", "--intake", "three")
    named = after_it.run("investigate", "alert.json", "--intake", "am", "--json")

    assert (unnamed.code, unnamed.err) == (Exit.USAGE, "--intake: name one of am, one\n")
    assert unknown.err == unnamed.err
    assert named.json["origin"]["intake"] == "am"


def test_a_database_without_a_schema_says_what_to_run(
    cli: Cli, database: NewDatabase, backend: RecordedBackend
) -> None:
    made = database()
    cli.use(made)
    cli.configure(backend.prometheus_url)
    (cli.folder / "alert.json").write_bytes(backend.alert)
    cli.set(DATABASE_URL=made.url.replace(made.name, "template1"))

    ran = cli.run("investigate", "alert.json")

    assert ran.code == Exit.USAGE
    assert ran.err.startswith("INQUEST_DATABASE_URL: its schema is missing")
    assert ran.err.endswith("run: inquest migrate\n")
